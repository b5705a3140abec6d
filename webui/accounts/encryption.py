"""Encryption of authenticator secrets, so that a copy of the database yields no one-time codes.

Each person has a separate key (`ledger.kernel.encryption`), so a secret copied into the row of
another person can't be decrypted.
"""

from typing import Final

from ledger.kernel.encryption import Undecipherable, decrypt, encrypt

# Part of every encryption key. The text keeps an old name, because another text would make stored
# secrets unreadable.
_LABEL: Final = "webui.accounts.sealing"
# Beginning of every Fernet token. A secret in base32 begins differently: it has no lower-case
# letters.
_PREFIX: Final = "gAAAA"


class SecretUnreadable(Exception):
    """A stored secret was not encrypted for this person with the present secret key."""


def encrypted(user_id: int, secret: str) -> str:
    """Return `secret` encrypted for one person."""
    return encrypt(f"{_LABEL}:{user_id}", secret)


def decrypted(user_id: int, text: str) -> str:
    """Decrypt the secret of one person; raise SecretUnreadable if `text` can't be decrypted."""
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
