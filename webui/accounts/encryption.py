"""Encryption of authenticators' secrets: a copy of the database can't produce one-time codes.

Each person has a separate key (`ledger.kernel.encryption`), so a secret copied into the row of
another person can't be decrypted.
"""

from typing import Final

from ledger.kernel.encryption import Undecipherable, decrypt, encrypt

# Part of every key. Another text would make stored secrets unreadable, so it keeps this old name.
_LABEL: Final = "webui.accounts.sealing"
# Version and year of a Fernet token. No secret in base32 has a lower-case letter.
_PREFIX: Final = "gAAAA"


class SecretUnreadable(Exception):
    """A stored secret was not encrypted for this person with the present secret key."""


def encrypted(user_id: int, secret: str) -> str:
    """Return `secret` encrypted for one person."""
    return encrypt(f"{_LABEL}:{user_id}", secret)


def decrypted(user_id: int, text: str) -> str:
    """Return the decrypted secret of one person's `text`; raise SecretUnreadable if that fails."""
    try:
        return decrypt(f"{_LABEL}:{user_id}", text)
    except Undecipherable as failure:
        message = (
            f"the present secret key can't decrypt the authenticator secret of person {user_id}"
        )
        raise SecretUnreadable(message) from failure


def is_encrypted(text: str) -> bool:
    """Return True if `text` is encrypted; earlier releases stored secrets in plain text."""
    return text.startswith(_PREFIX)
