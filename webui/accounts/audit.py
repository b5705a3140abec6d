"""Entries of logins in the action log.

An unknown name is not written down: people type passwords into the wrong field.
"""

from typing import Final

from django.contrib.auth.models import User

from webui.ledger.services.transactions import ledger_transaction, log_action

UNKNOWN: Final = "unknown account"


def note(action: str, user: User | None, *, source: str, **detail: object) -> None:
    """Append one event of a login: `user` is None where the name is no account's."""
    name = None if user is None else user.get_username()
    with ledger_transaction():
        log_action(
            actor=name,
            action=action,
            subject=name or UNKNOWN,
            detail={"source": source, **detail},
        )


def account_of(name: str) -> User | None:
    """Return the account of this name, if there is one."""
    return User.objects.filter(username=name).first()
