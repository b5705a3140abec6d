"""Records of refused requests and logins: account, URL, source and reason.

`Refusals` records each response with status 400, 403 or 429. `webui.accounts.audit` records refused
logins, and `webui.api.access` records refused tokens of the API.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import structlog
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from ledger.kernel.transactions import execute, fetch_value
from ledger.kernel.unscoped_rows import read_all
from webui.accounts.sources import source_of

log = structlog.get_logger(__name__)
KINDS: Final = {400: "malformed", 403: "forbidden", 429: "too many"}
# Attribute of a request: the reason of its refusal. `webui.config.errors` and `webui.api.problems`
# set it.
REASON: Final = "refused_because"
NO_ACCOUNT: Final = "not logged in"
UNKNOWN: Final = "unknown account"
# In one hour, the first 100 different refusals of an account and source have rows of their own.
# Further refusals of the same kind share a row. So a person who requests random URLs can't fill the
# table.
MOST_ADDRESSES: Final = 100
FURTHER: Final = "further addresses"
_LONGEST: Final = 200
# Routes whose URLs contain a secret. A record has the route instead of the URL.
_SECRET: Final = frozenset({"invitation"})
_HOUR: Final = "date_trunc('hour', clock_timestamp(), 'UTC')"
_AGAIN: Final = (
    "UPDATE app.refusal SET times = times + 1, last_at = clock_timestamp()"  # noqa: S608 -- a constant of this module
    f" WHERE hour = {_HOUR} AND mark = %s"
)
_NEW: Final = (
    "INSERT INTO app.refusal AS known (hour, mark, kind, account, source, address, reason)"  # noqa: S608 -- a constant of this module
    f" VALUES ({_HOUR}, %s, %s, %s, %s, %s, %s)"
    " ON CONFLICT (hour, mark) DO UPDATE SET times = known.times + 1, last_at = clock_timestamp()"
)
_COUNTED: Final = (
    "SELECT count(*) FROM app.refusal"  # noqa: S608 -- a constant of this module
    f" WHERE hour = {_HOUR} AND account = %s AND source = %s"
)
_LISTED: Final = """
SELECT kind, account, source, address, reason, times, first_at, last_at FROM app.refusal
WHERE last_at > clock_timestamp() - make_interval(hours => %s) AND (%s = '' OR account = %s)
ORDER BY last_at DESC, id DESC LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Equal refusals in the same hour: their number `times`, and when the first and last were."""

    kind: str
    account: str
    source: str
    address: str
    reason: str
    times: int
    first_at: datetime
    last_at: datetime


def refusals(*, hours: int, account: str = "", most: int = 200) -> list[Refusal]:
    """Return up to `most` refusals of the last `hours` hours, the newest first."""
    return read_all(Refusal, _LISTED, hours, account, account, most)


def record(kind: str, *, account: str, source: str, address: str, reason: str) -> None:
    """Count one refusal. Log a database error and continue: the request is refused anyway."""
    seen = [kind, account, source, _clean(address), _clean(reason)]
    try:
        with transaction.atomic():
            _count(seen)
    except DatabaseError as failure:
        log.warning("refusal not recorded", kind=kind, error=type(failure).__name__)


def _count(seen: list[str]) -> None:
    if execute(_AGAIN, _mark(seen)):
        return
    kind, account, source, *_ = seen
    if fetch_value(_COUNTED, account, source) >= MOST_ADDRESSES:
        seen = [kind, account, source, FURTHER, ""]
        if execute(_AGAIN, _mark(seen)):
            return
    execute(_NEW, _mark(seen), *seen)


def _mark(seen: list[str]) -> bytes:
    return hashlib.sha256("\x1f".join(seen).encode()).digest()


def _clean(text: str) -> str:
    """Return the first 200 characters of `text`, with `?` for control characters."""
    return "".join(c if c.isprintable() else "?" for c in text[:_LONGEST])


class Refusals(MiddlewareMixin):
    """Middleware that records refused requests of pages, exports, streams and commands."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Record a refusal, and return the response."""
        kind = KINDS.get(response.status_code)
        if kind is not None:
            record(
                kind,
                account=_account(request),
                source=source_of(request),
                address=f"{request.method} {_address(request)}",
                reason=_reason(request, response),
            )
        return response


def _account(request: HttpRequest) -> str:
    user: Any = request.user
    if user.is_authenticated:
        return str(user.get_username())
    # Record a login's name only if an account has it: people type passwords into this field.
    name = getattr(request, "_post", {}).get("username", "")[:150]
    is_known = bool(name) and "\x00" not in name and User.objects.filter(username=name).exists()
    return str(name) if is_known else NO_ACCOUNT


def _address(request: HttpRequest) -> str:
    match = request.resolver_match
    return f"/{match.route}" if match and match.url_name in _SECRET else request.path


def _reason(request: HttpRequest, response: HttpResponseBase) -> str:
    given = getattr(request, REASON, "")
    if given or not isinstance(response, HttpResponse):
        return str(given)
    is_text = response.headers.get("Content-Type", "").startswith("text/plain")
    return response.content.decode(errors="replace") if is_text else ""
