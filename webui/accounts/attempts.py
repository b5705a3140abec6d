"""Limits on guessing passwords and codes, with counters that all web processes share.

A source is a network address. After five wrong passwords for an account from one source, the
account is blocked for that source only. The person can still log in from other sources, and with a
browser that has logged in to the account before. Each attempt is counted before the password is
compared, so parallel requests can't exceed a limit.

The method is described in OWASP's "Slow Down Online Guessing Attacks with Device Cookies".
"""

from dataclasses import dataclass
from typing import Final

from django.utils.crypto import salted_hmac

from ledger.kernel.transactions import execute
from ledger.kernel.unscoped_rows import read_one

_FORGET_AFTER_S: Final = 86_400
_COUNT: Final = """
INSERT INTO app.login_count AS known (key, failures, since)
VALUES (%s, 1, clock_timestamp())
ON CONFLICT (key) DO UPDATE SET
    failures = CASE WHEN known.since < clock_timestamp() - make_interval(secs => %s)
                    THEN 1 ELSE known.failures + 1 END,
    since = CASE WHEN known.since < clock_timestamp() - make_interval(secs => %s)
                 THEN clock_timestamp() ELSE known.since END
RETURNING failures,
          ceil(extract(epoch FROM since + make_interval(secs => %s) - clock_timestamp()))::int
          AS wait_s
"""
_GIVE_BACK: Final = (
    "UPDATE app.login_count SET failures = greatest(failures - 1, 0) WHERE key = ANY(%s)"
)
_FORGET: Final = (
    "DELETE FROM app.login_count WHERE since < clock_timestamp() - make_interval(secs => %s)"
)


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` failures in `span_s` seconds for each key, for example for each account."""

    kind: str
    most: int
    span_s: int


PAIR: Final = Limit("account and source", 5, 300)
SOURCE: Final = Limit("source", 30, 60)
# Limits browsers that have never logged in to the account. NIST SP 800-63B allows 100 failures.
ACCOUNT: Final = Limit("account", 100, 3600)
DEVICE: Final = Limit("account and device", 5, 300)
CODE: Final = Limit("code", 5, 300)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One counted attempt. `keys` are the keys of the counters that it has raised.

    `blocked_for_s` is 0 if the attempt is allowed; otherwise `limit` is the kind of the exceeded
    limit. `is_first_block` is true only for the first attempt beyond the limit. So the audit log
    gets one entry per block, not one per guess.
    """

    keys: tuple[str, ...]
    blocked_for_s: int = 0
    is_first_block: bool = False
    limit: str = ""


@dataclass(frozen=True, slots=True)
class _Counter:
    """Failures in a counter after an attempt, and the seconds until the counter is reset."""

    failures: int
    wait_s: int


def hashed(*parts: str) -> str:
    """Return the keyed SHA-256 of `parts` in hexadecimal digits; `A` and `a` give the same hash.

    Tables and cookies hold this hash instead of the text.
    """
    text = "\x1f".join(part.lower() for part in parts)
    return salted_hmac("webui.accounts.attempts", text, algorithm="sha256").hexdigest()


def begin(account: str, *, source: str, device: str | None) -> Attempt:
    """Count an attempt to log in to `account`, and return it.

    If the password is right, call `succeeded`. `source` is a network address. `device` is the id of
    a browser that has logged in to this account before, or None.
    """
    if device is not None:
        return _counted([(DEVICE, hashed(DEVICE.kind, account, device))])
    return _counted(
        [
            (PAIR, hashed(PAIR.kind, account, source)),
            (SOURCE, hashed(SOURCE.kind, source)),
            (ACCOUNT, hashed(ACCOUNT.kind, account)),
        ]
    )


def begin_code(user_id: int) -> Attempt:
    """Count and return an attempt of a person who has given the right password before.

    They try a code to finish a login, or a password or code on a page about their own account.
    """
    return _counted([(CODE, hashed(CODE.kind, str(user_id)))])


def _counted(limits: list[tuple[Limit, str]]) -> Attempt:
    """Count an attempt in the counter of each key in turn, and return the attempt.

    Stop at the first counter that exceeds its limit: the counters of later keys aren't raised.
    """
    counted: list[str] = []
    for limit, key in limits:
        counter = read_one(_Counter, _COUNT, key, limit.span_s, limit.span_s, limit.span_s)
        assert counter is not None  # noqa: S101 -- an upsert returns its row
        counted.append(key)
        if counter.failures > limit.most:
            first = counter.failures == limit.most + 1
            return Attempt(tuple(counted), max(1, counter.wait_s), first, limit.kind)
    return Attempt(tuple(counted))


def succeeded(attempt: Attempt) -> None:
    """Remove an attempt with the right password from the counters.

    The attempt's first counter starts again at 0. It counts failures of a pair (account and source,
    or account and device) or of codes. The counters of the source alone and of the account alone
    fall by one.
    """
    execute("DELETE FROM app.login_count WHERE key = %s", attempt.keys[0])
    execute(_GIVE_BACK, list(attempt.keys[1:]))
    execute(_FORGET, _FORGET_AFTER_S)
