"""Encryption of authenticators' secrets: a copy of the database can't produce one-time codes.

Each person has a separate key, derived from Django's secret key with HKDF (RFC 5869). So a secret
copied into the row of another person can't be decrypted. Fernet encrypts with AES-128 and
authenticates with HMAC-SHA-256.
"""

import base64
from typing import Final

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

# Part of every key, so it keeps the former name of this module.
_LABEL: Final = "webui.accounts.sealing"
_KEY_BYTES: Final = 32
# Version and year of a Fernet token. No secret in base32 has a lower-case letter.
_PREFIX: Final = "gAAAA"


class SecretUnreadable(Exception):
    """A stored secret was not encrypted for this person with the present secret key."""


def encrypted(user_id: int, secret: str) -> str:
    """Return `secret` encrypted for one person."""
    return _cipher(user_id).encrypt(secret.encode()).decode()


def decrypted(user_id: int, text: str) -> str:
    """Return the decrypted secret of one person's `text`; raise SecretUnreadable if that fails."""
    try:
        return _cipher(user_id).decrypt(text.encode()).decode()
    except InvalidToken as failure:
        message = f"the authenticator of person {user_id} was stored with another key"
        raise SecretUnreadable(message) from failure


def is_encrypted(text: str) -> bool:
    """Return True if `text` is encrypted; earlier sources stored secrets in plain text."""
    return text.startswith(_PREFIX)


def _cipher(user_id: int) -> Fernet:
    derived = HKDF(SHA256(), _KEY_BYTES, salt=None, info=f"{_LABEL}:{user_id}".encode())
    return Fernet(base64.urlsafe_b64encode(derived.derive(settings.SECRET_KEY.encode())))
