"""Entries about logins in the audit log.

A name that no account has is not recorded, because people sometimes type their password into the
field for the name.
"""

from typing import Final

from django.contrib.auth.models import User

from ledger.kernel.transactions import ledger_transaction, log_action
from webui.accounts import refusals

# Reasons of refused logins, which are also counted with the refused requests.
_REFUSED: Final = {
    "login_failed": "wrong name or password",
    "second_factor_failed": "wrong code",
    "second_factor_unreadable": "authenticator secret encrypted with another secret key",
    "password_wrong": "wrong current password",
}


def note(action: str, user: User | None, *, source: str, **detail: object) -> None:
    """Log a login event of `user`. If `_REFUSED` has `action`, also count the event as a refusal.

    `user` is None if no account has the typed name. Then the event is counted, but not logged: the
    log keeps every entry permanently, and a person who guesses names could fill it.
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
