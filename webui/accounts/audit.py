"""Entries about logins in the action log.

Unknown names are not recorded: people type passwords into the wrong field.
"""

from typing import Final

from django.contrib.auth.models import User

from ledger.kernel.transactions import ledger_transaction, log_action
from webui.accounts import refusals

# Refused logins are counted with refused requests too.
_REFUSED: Final = {
    "login_failed": "wrong name or password",
    "second_factor_failed": "wrong code",
    "second_factor_unreadable": "authenticator secret encrypted with another secret key",
    "password_wrong": "wrong current password",
}


def note(action: str, user: User | None, *, source: str, **detail: object) -> None:
    """Add an event of a login to the action log, and count it as a refusal if it is one.

    Without `user` the account is unknown. Then a refusal is only counted, because a person who
    guesses names could fill the log, which keeps every entry permanently.
    """
    name = None if user is None else user.get_username()
    if action in _REFUSED:
        refusals.record(
            "login",
            account=name or refusals.UNKNOWN,
            source=source,
            address=action.replace("_", " "),
            reason=_REFUSED[action],
        )
    if name is None:
        return
    with ledger_transaction():
        log_action(actor=name, action=action, subject=name, detail={"source": source, **detail})


def account_of(name: str) -> User | None:
    """Return the account of this name, or None."""
    return User.objects.filter(username=name).first()
