"""Second factor: one-time codes of an authenticator app (RFC 6238), and recovery codes.

Time is counted in steps of 30 seconds, and each step has one code. A code is accepted in its own
step, the step before and the step after, because the clocks of phones differ. The server accepts
the code of each step once. Secrets are stored encrypted (`webui.accounts.encryption`).
"""

import secrets
import time
from dataclasses import dataclass
from typing import Final

import pyotp
import segno
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User

from ledger.kernel.transactions import execute, fetch_value
from ledger.kernel.unscoped_rows import read_all, read_one
from webui.accounts.attempts import hashed
from webui.accounts.encryption import SecretUnreadable, decrypted, encrypted, is_encrypted
from webui.accounts.roles import roles_of

ISSUER: Final = "Retail inventory"
STEP_S: Final = 30
_DRIFT_STEPS: Final = (0, -1, 1)
_RECOVERY_CODES: Final = 10
_ALL: Final = "SELECT user_id, secret FROM app.second_factor"


@dataclass(frozen=True, slots=True)
class _Stored:
    """A person's secret in the table: encrypted, or in plain text from an earlier release."""

    user_id: int
    secret: str


def is_required(user: User | AnonymousUser) -> bool:
    """Return True for a superuser, and for a person with a role that needs a second factor."""
    if not user.is_authenticated:
        return False
    return user.is_superuser or bool(roles_of(user) & frozenset(settings.SECOND_FACTOR_ROLES))


def is_enrolled(user: User) -> bool:
    """Return True if the person has confirmed an authenticator."""
    statement = "SELECT EXISTS (SELECT FROM app.second_factor WHERE user_id = %s)"
    return bool(fetch_value(statement, user.pk))


def new_secret() -> str:
    """Return a random secret for an authenticator, in base32."""
    return str(pyotp.random_base32())


def address_of(user: User, secret: str) -> str:
    """Return the `otpauth://` URI that authenticator apps scan."""
    totp = pyotp.TOTP(secret)
    return str(totp.provisioning_uri(name=user.get_username(), issuer_name=ISSUER))


def picture_of(address: str) -> str:
    """Return `address` as a QR code: a data URI of an SVG picture."""
    return str(segno.make(address, error="m").svg_data_uri(scale=5, border=3))


def step_of(secret: str, code: str) -> int | None:
    """Return the step whose code is `code`: the seconds since 1970 UTC, divided by 30.

    Return None if it is not the code of the present, the previous or the next step.
    """
    now, totp = int(time.time()), pyotp.TOTP(secret)
    for drift in _DRIFT_STEPS:
        at = now + drift * STEP_S
        if secrets.compare_digest(totp.at(at), code):
            return at // STEP_S
    return None


def enrol(user: User, secret: str, step: int) -> list[str]:
    """Store an authenticator in place of an earlier one; return ten new recovery codes.

    `step` is the step of the code with which the person has confirmed the secret. This code can't
    be used again. Recovery codes are shown once: only their hashes are stored.
    """
    codes = ["-".join(secrets.token_hex(2) for _ in range(4)) for _ in range(_RECOVERY_CODES)]
    execute(
        "INSERT INTO app.second_factor (user_id, secret, last_step, recovery)"
        " VALUES (%s, %s, %s, %s) ON CONFLICT (user_id) DO UPDATE SET secret = excluded.secret,"
        " last_step = excluded.last_step, recovery = excluded.recovery,"
        " confirmed_at = clock_timestamp()",
        user.pk,
        encrypted(user.pk, secret),
        step,
        [_hash(user.pk, code) for code in codes],
    )
    return codes


def reset(user_id: int) -> bool:
    """Remove the person's authenticator. Return True if there was one."""
    return execute("DELETE FROM app.second_factor WHERE user_id = %s", user_id) == 1


def accept(user: User, text: str) -> str | None:
    """Accept a code, and mark it as used; return its kind, "authenticator" or "recovery code".

    Return None if the code is wrong or was used before.

    Raises:
        SecretUnreadable: the server's key has changed since the authenticator was set up.
    """
    code = text.strip().replace(" ", "").lower()
    secret = _stored_secret(user.pk)
    if secret is None or not code:
        return None
    if _is_recovery_code(user.pk, code):
        return "recovery code"
    step = step_of(decrypted(user.pk, secret), code) if code.isascii() else None
    return "authenticator" if step is not None and _used(user.pk, step) else None


def state_of(user_id: int) -> str:
    """Return the state of an authenticator: "none", "set" or "unreadable".

    A secret is unreadable if the server's key has changed. The person then needs a reset.
    """
    secret = _stored_secret(user_id)
    if secret is None:
        return "none"
    try:
        decrypted(user_id, secret)
    except SecretUnreadable:
        return "unreadable"
    return "set"


def encrypt_stored() -> int:
    """Encrypt the secrets that earlier releases stored in plain text; return their number."""
    found = [stored for stored in read_all(_Stored, _ALL) if not is_encrypted(stored.secret)]
    for stored in found:
        _store_encrypted(stored.user_id, stored.secret)
    return len(found)


def _store_encrypted(user_id: int, secret: str) -> str:
    """Return `secret` encrypted; also store it, unless the stored secret was replaced meanwhile."""
    text = encrypted(user_id, secret)
    statement = "UPDATE app.second_factor SET secret = %s WHERE user_id = %s AND secret = %s"
    execute(statement, text, user_id, secret)
    return text


def _is_recovery_code(user_id: int, code: str) -> bool:
    """Delete the recovery code and return True. Return False if the person has no such code."""
    statement = (
        "UPDATE app.second_factor SET recovery = array_remove(recovery, %s)"
        " WHERE user_id = %s AND %s = ANY(recovery)"
    )
    mark = _hash(user_id, code)
    return execute(statement, mark, user_id, mark) == 1


def _used(user_id: int, step: int) -> bool:
    """Mark the step as used; return False if this step or a later one was used before."""
    statement = "UPDATE app.second_factor SET last_step = %s WHERE user_id = %s AND last_step < %s"
    return execute(statement, step, user_id, step) == 1


def _stored_secret(user_id: int) -> str | None:
    """Return the person's encrypted secret, or None. Encrypt a stored plain text first."""
    stored = read_one(_Stored, f"{_ALL} WHERE user_id = %s", user_id)
    if stored is None:
        return None
    if is_encrypted(stored.secret):
        return stored.secret
    return _store_encrypted(user_id, stored.secret)


def _hash(user_id: int, code: str) -> str:
    return hashed("recovery", str(user_id), code)
