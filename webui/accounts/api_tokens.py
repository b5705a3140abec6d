"""Tokens with which programs use the API as a person or a service account.

A token has 32 random bytes. The table keeps their SHA-256 hash, so a copy of the database contains
no usable tokens. A token has scopes and an expiry. A token never has more rights than its owner:
each operation needs a scope of the token and also a right of the owner. A request with the token
reads only the owner's stores (`webui.api.access`).
"""

import hashlib
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from django.contrib.auth.models import User

from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.transactions import execute, fetch_value, ledger_transaction, log_action
from ledger.kernel.unscoped_rows import read_all, read_one
from ledger.messages import Message, gettext_noop

PREFIX: Final = "inv_"  # secret scanners find a committed token by this prefix
TOKEN_BYTES: Final = 32
LONGEST_NAME: Final = 60
LONGEST_DAYS: Final = 365
MOST_TOKENS: Final = 20
_LONGEST_TOKEN: Final = 100

STOCK_READ: Final = "stock:read"
NEEDS_READ: Final = "needs:read"
NEEDS_DECIDE: Final = "needs:decide"
ORDERS_READ: Final = "orders:read"
ORDERS_WRITE: Final = "orders:write"
PRICES_READ: Final = "prices:read"
PRICES_WRITE: Final = "prices:write"
PRICES_STOP: Final = "prices:stop"
DECISIONS_READ: Final = "decisions:read"
COUNTS_WRITE: Final = "counts:write"
COUNTS_APPROVE: Final = "counts:approve"
RECEIPTS_READ: Final = "receipts:read"
RECEIPTS_WRITE: Final = "receipts:write"
TRANSFERS_READ: Final = "transfers:read"
TRANSFERS_WRITE: Final = "transfers:write"
WEBHOOKS_MANAGE: Final = "webhooks:manage"
SCOPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        STOCK_READ: gettext_noop("read stock"),
        NEEDS_READ: gettext_noop("read reorder needs"),
        NEEDS_DECIDE: gettext_noop("approve, reject and snooze needs"),
        ORDERS_READ: gettext_noop("read purchase orders"),
        ORDERS_WRITE: gettext_noop("send orders and change their lines"),
        PRICES_READ: gettext_noop("read prices and proposed prices"),
        PRICES_WRITE: gettext_noop("set prices and decide proposed ones"),
        PRICES_STOP: gettext_noop("stop all rule-made prices, and allow them again"),
        DECISIONS_READ: gettext_noop("follow the events of decisions"),
        COUNTS_WRITE: gettext_noop("record counts"),
        COUNTS_APPROVE: gettext_noop("read waiting counts, approve and refuse them"),
        RECEIPTS_READ: gettext_noop("read expected deliveries and receipts"),
        RECEIPTS_WRITE: gettext_noop("receive deliveries and correct receipts"),
        TRANSFERS_READ: gettext_noop("read transfers"),
        TRANSFERS_WRITE: gettext_noop("plan, ship, receive and cancel transfers"),
        WEBHOOKS_MANAGE: gettext_noop("register addresses that receive the events of decisions"),
    }
)


@dataclass(frozen=True, slots=True)
class NewToken:
    """A new token; its text is stored only as a hash and shown once."""

    id: int
    name: str
    token: str
    scopes: tuple[str, ...]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A stored token without its text. `is_valid` is false once the token has ended or expired."""

    id: int
    name: str
    scopes: list[str]
    created_at: datetime
    created_by: str
    expires_at: datetime
    ended_at: datetime | None
    used_at: datetime | None
    is_valid: bool


@dataclass(frozen=True, slots=True)
class TokenUse:
    """A request with the valid token `id`, which belongs to the person `person_id`.

    `requests` counts the token's requests of this minute, this one included. The next minute begins
    in `wait_s` seconds.
    """

    id: int
    person_id: int
    scopes: list[str]
    requests: int
    wait_s: int


@dataclass(frozen=True, slots=True)
class _Written:
    """The id and the expiry of a new token."""

    id: int
    expires_at: datetime


_NEW: Final = """
INSERT INTO app.api_token (person_id, name, token_sha256, scopes, created_by, expires_at)
VALUES (%s, %s, %s, %s, %s, clock_timestamp() + make_interval(days => %s)) RETURNING id, expires_at
"""
_LISTED: Final = """
SELECT id, name, scopes, created_at, created_by, expires_at, ended_at, used_at,
       ended_at IS NULL AND expires_at > clock_timestamp() AS is_valid
FROM app.api_token WHERE person_id = %s ORDER BY id DESC LIMIT 100
"""
# The counter of requests is in the token's row, so all web processes share the limit per minute.
_USED: Final = """
UPDATE app.api_token t SET used_at = clock_timestamp(),
    requests = CASE WHEN t.minute = now.minute THEN t.requests + 1 ELSE 1 END, minute = now.minute
FROM (SELECT date_trunc('minute', clock_timestamp(), 'UTC') AS minute) now
WHERE t.token_sha256 = %s AND t.ended_at IS NULL AND t.expires_at > clock_timestamp()
RETURNING t.id, t.person_id, t.scopes, t.requests,
    ceil(60 - extract(second FROM clock_timestamp()))::int AS wait_s
"""
_VALID: Final = """
SELECT EXISTS (SELECT FROM app.api_token
               WHERE id = %s AND ended_at IS NULL AND expires_at > clock_timestamp())
"""


def create_token(
    *, person: User, name: str, scopes: Collection[str], days: int, actor: str
) -> NewToken:
    """Write a token for a person, valid for `days` days; return it with its text.

    The text is not stored, so only this call returns it.

    Raises:
        ServiceError: name, scopes or days are not valid.
        Conflict: the person has 20 valid tokens.
    """
    named = checks.text("name", name.strip(), longest=LONGEST_NAME)
    if not named.isprintable():
        refuse("name", name, gettext_noop("printable characters"))
    checks.integer("days", days, 1, LONGEST_DAYS)
    if not scopes:
        refuse("scopes", "", Message("at least one of %(scopes)s", scopes=", ".join(SCOPES)))
    for scope in scopes:
        checks.one_of("scopes", scope, SCOPES)
    token = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    given = [scope for scope in SCOPES if scope in scopes]
    with ledger_transaction():
        _refuse_too_many(person)
        values = (person.pk, named, _hash(token), given, actor, days)
        found = read_one(_Written, _NEW, *values)
        assert found is not None  # noqa: S101 -- RETURNING
        detail = {"token": found.id, "name": named, "scopes": given, "until": found.expires_at}
        subject = person.get_username()
        log_action(actor=actor, action="create_api_token", subject=subject, detail=detail)
    return NewToken(found.id, named, token, tuple(given), found.expires_at)


def _refuse_too_many(person: User) -> None:
    # Without this lock, two parallel requests could both count 19 tokens and each add one.
    execute("SELECT FROM app.auth_user WHERE id = %s FOR UPDATE", person.pk)
    held = fetch_value(
        "SELECT count(*) FROM app.api_token"
        " WHERE person_id = %s AND ended_at IS NULL AND expires_at > clock_timestamp()",
        person.pk,
    )
    if held >= MOST_TOKENS:
        message = Message(
            "%(get_username)s has %(most)s tokens, which is the limit: end one first",
            get_username=person.get_username(),
            most=held,
        )
        raise Conflict(message)


def tokens_of(person_id: int) -> list[ApiToken]:
    """Return the newest 100 tokens of a person, ended ones too, the newest first."""
    return read_all(ApiToken, _LISTED, person_id)


def end_token(*, person: User, number: int, actor: str) -> bool:
    """End a person's token; return False if the person has no token `number` or it has ended."""
    with ledger_transaction():
        ended = _end("AND id = %s", person.pk, actor, number)
        if ended:
            detail = {"token": number}
            name = person.get_username()
            log_action(actor=actor, action="end_api_token", subject=name, detail=detail)
    return ended == 1


def end_tokens(person_id: int, actor: str) -> int:
    """End all tokens of a person in the caller's transaction; return how many this call ended."""
    return _end("", person_id, actor)


def end_tokens_of_person(user: User, actor: str) -> int:
    """End a person's tokens, for example after a new password. Return the number of ended tokens.

    The tokens of a service account stay valid. A service account is an account without a password.
    So call this before you set a new password, in the same transaction. Afterwards, the account
    would have a password, and its tokens would end.
    """
    return end_tokens(user.pk, actor) if user.has_usable_password() else 0


def _end(which: str, person_id: int, actor: str, *number: int) -> int:
    statement = (
        "UPDATE app.api_token SET ended_at = clock_timestamp(), ended_by = %s"  # noqa: S608 -- constants of this module
        f" WHERE person_id = %s AND ended_at IS NULL {which}"
    )
    return execute(statement, actor, person_id, *number)


def use_token(token: str) -> TokenUse | None:
    """Count a request with this token, and return its owner, scopes and count (`TokenUse`).

    Return None, and count nothing, if the token isn't valid.
    """
    if not token.startswith(PREFIX) or len(token) > _LONGEST_TOKEN or not token.isascii():
        return None
    return read_one(TokenUse, _USED, _hash(token))


def is_valid(number: int) -> bool:
    """Return True if the token with this number is neither ended nor expired."""
    return bool(fetch_value(_VALID, number))


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
