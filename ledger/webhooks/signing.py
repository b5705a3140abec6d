"""Secrets and signatures of webhooks, by the conventions of Standard Webhooks 1.0.

A secret is `whsec_` and 32 random bytes in base64. The signature is HMAC-SHA256 with these bytes
over `id.timestamp.body`. While two secrets are valid, the header has a signature by each.
"""

import base64
import hmac
import secrets
from collections.abc import Sequence
from typing import Final

from ledger.kernel.encryption import Undecipherable, decrypt, encrypt

PREFIX: Final = "whsec_"
SECRET_BYTES: Final = 32
_PURPOSE: Final = "ledger.webhooks.secret"


def new_secret() -> str:
    """Return a new random secret in the form that the module describes."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def sealed(person_id: int, secret: str) -> str:
    """Return a secret encrypted for the webhooks of one account."""
    return encrypt(f"{_PURPOSE}:{person_id}", secret)


def opened(person_id: int, text: str) -> str:
    """Decrypt `text`; raise `Undecipherable` if it was encrypted for another account or key."""
    return decrypt(f"{_PURPOSE}:{person_id}", text)


def can_open(person_id: int, text: str) -> bool:
    """Return True if `opened` can decrypt the secret in `text`."""
    try:
        opened(person_id, text)
    except Undecipherable:
        return False
    return True


def headers_of(
    message_id: str, timestamp_s: int, body: bytes, keys: Sequence[str]
) -> dict[str, str]:
    """Return the headers of a message: its id, its time and a signature by each secret."""
    content = b".".join((message_id.encode(), str(timestamp_s).encode(), body))
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": " ".join(_signature(secret, content) for secret in keys),
    }


def _signature(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return "v1," + base64.b64encode(hmac.digest(key, content, "sha256")).decode()
