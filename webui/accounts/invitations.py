"""One-time links with which people set their own passwords.

The link contains 32 random bytes. The table keeps their SHA-256 hash, so a copy of the database
contains no usable links. A link ends when the person has used it, when the person gets a newer
link, or after 72 hours.
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ledger.kernel.transactions import execute, fetch_value, log_action
from ledger.kernel.unscoped_rows import read_one

VALID_HOURS: Final = 72
TOKEN_BYTES: Final = 32
_LONGEST_TOKEN: Final = 100


@dataclass(frozen=True, slots=True)
class Invitation:
    """A new link; its token is stored only as a hash and shown once."""

    name: str
    token: str
    expires_at: datetime

    @property
    def path(self) -> str:
        """Return the path of the page on which the person sets a password."""
        return f"/invitation/{self.token}/"


@dataclass(frozen=True, slots=True)
class OpenInvitation:
    """A stored link that is still valid, and the person whose password it sets."""

    id: int
    person_id: int
    name: str


def new_invitation(person_id: int, name: str, actor: str) -> Invitation:
    """Write and return an invitation, and end the person's earlier ones.

    Call this inside a transaction.
    """
    end_invitations(person_id)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    expires_at: datetime = fetch_value(
        "INSERT INTO app.invitation (person_id, token_sha256, created_by, expires_at)"
        " VALUES (%s, %s, %s, clock_timestamp() + make_interval(hours => %s)) RETURNING expires_at",
        person_id,
        _hash(token),
        actor,
        VALID_HOURS,
    )
    log_action(actor=actor, action="invite_person", subject=name, detail={"expires_at": expires_at})
    return Invitation(name, token, expires_at)


def end_invitations(person_id: int) -> None:
    """End the open invitations of a person."""
    execute(
        "UPDATE app.invitation SET expires_at = clock_timestamp()"
        " WHERE person_id = %s AND used_at IS NULL AND expires_at > clock_timestamp()",
        person_id,
    )


def open_invitation(token: str) -> OpenInvitation | None:
    """Return the invitation of this token if it is still valid, else None."""
    if len(token) > _LONGEST_TOKEN:
        return None
    return read_one(
        OpenInvitation,
        "SELECT i.id, i.person_id, u.username AS name FROM app.invitation i"
        " JOIN app.auth_user u ON u.id = i.person_id AND u.is_active"
        " WHERE i.token_sha256 = %s AND i.used_at IS NULL AND i.expires_at > clock_timestamp()",
        _hash(token),
    )


def use_invitation(invitation_id: int) -> bool:
    """Mark an invitation as used; return False if it was used or ended meanwhile."""
    used = execute(
        "UPDATE app.invitation SET used_at = clock_timestamp()"
        " WHERE id = %s AND used_at IS NULL AND expires_at > clock_timestamp()",
        invitation_id,
    )
    return used == 1


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
