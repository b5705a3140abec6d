"""Encrypt secrets that processes must read again, so a database copy doesn't reveal them.

Each purpose, for example the webhooks of one account, has a separate key. HKDF (RFC 5869) derives
these keys from Django's secret key. So an encrypted secret that was copied into the row of
another account can't be decrypted there. Fernet encrypts with AES-128 and authenticates with
HMAC-SHA-256.
"""

import base64
from typing import Final

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

_KEY_BYTES: Final = 32


class Undecipherable(Exception):
    """A stored secret was not encrypted for this purpose with the present secret key."""


def encrypt(purpose: str, secret: str) -> str:
    """Return `secret`, encrypted for a purpose such as `ledger.webhooks.secret:7`."""
    return _cipher(purpose).encrypt(secret.encode()).decode()


def decrypt(purpose: str, text: str) -> str:
    """Return the secret in `text`; raise `Undecipherable` for another purpose or another key."""
    try:
        return _cipher(purpose).decrypt(text.encode()).decode()
    except InvalidToken as failure:
        message = f"the secret of {purpose} can't be decrypted with the present secret key"
        raise Undecipherable(message) from failure


def _cipher(purpose: str) -> Fernet:
    derived = HKDF(SHA256(), _KEY_BYTES, salt=None, info=purpose.encode())
    return Fernet(base64.urlsafe_b64encode(derived.derive(settings.SECRET_KEY.encode())))
