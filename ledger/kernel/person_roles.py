"""The roles of a person by user name, for services that are also called without a request."""

from collections.abc import Collection
from typing import Final

from ledger.kernel.errors import refuse
from ledger.kernel.transactions import fetch_column
from ledger.messages import Message

_ROLES: Final = """
SELECT g.name FROM app.auth_user u
JOIN app.auth_user_groups m ON m.user_id = u.id JOIN app.auth_group g ON g.id = m.group_id
WHERE u.username = %s AND u.is_active
"""


def roles_of(actor: str) -> set[str]:
    """Return the role codes of a person; an empty set for an unknown or inactive person."""
    return set(fetch_column(_ROLES, actor))


def require_role(actor: str, roles: Collection[str]) -> None:
    """Raise `ServiceError` unless the person is active and has one of the roles."""
    if not roles_of(actor) & set(roles):
        names = ", ".join(sorted(roles))
        refuse(
            "actor",
            actor,
            Message("only active people with one of the roles %(names)s may do this", names=names),
        )
