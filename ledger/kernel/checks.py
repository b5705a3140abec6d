"""The limits of docs/domain.md 0 and 2.6 as errors that name field, value and rule.

SQL holds the same limits as CHECKs. They are repeated here so that a person reads a sentence
instead of the name of a constraint. Where the two differ, SQL refuses and nothing is written.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Final

from inventory.errors import Rejected
from inventory.model.arithmetic import MAX_STORED
from inventory.model.ids import InvKey
from inventory.tables.columns import QUANTITY_MAX
from inventory.tables.item_location import parse as item_location
from ledger.kernel.errors import ServiceError, refuse
from ledger.kernel.refusal_text import moment_text

EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
LOCATION_FORM: Final = re.compile(r"[A-Z0-9-]{1,24}\Z")
LONGEST_SKU: Final = 32
LONGEST_REASON: Final = 200  # characters of a person's reason; forms have the same limit
# Later, the days of a fact may be folded, and people have acted on it (docs/domain.md 2.4, 7).
CORRECTABLE_FOR: Final = timedelta(hours=48)
# Above this difference a source's clock is wrong (docs/domain.md 2.1, 8).
CLOCKS_DIFFER_BY: Final = timedelta(seconds=300)
_SAID: Final = re.compile(r"(?P<column>\w+) must be (?P<rule>.*), got ", re.DOTALL)


def location_problem(location: str) -> str | None:
    """Return the reason why `location` is no location code, or None."""
    if LOCATION_FORM.match(location):
        return None
    return "a location is 1 to 24 characters of A-Z, 0-9 and -"


def sku_problem(sku: str) -> str | None:
    """Return the reason why `sku` is no SKU, or None."""
    if not 1 <= len(sku) <= LONGEST_SKU:
        return f"an SKU has 1 to {LONGEST_SKU} characters"
    if not sku.isprintable() or "|" in sku:
        return "an SKU is printable and has no |"
    if sku != sku.strip(" "):
        return "an SKU has no space at either end"
    return None


def key(location: str, sku: str) -> str:
    """Return the `inv_key` of a location and SKU; raise `ServiceError` if one is invalid."""
    problem = location_problem(location)
    if problem:
        refuse("location", location, problem)
    problem = sku_problem(sku)
    if problem:
        refuse("sku", sku, problem)
    return f"{location}|{sku}"


def integer(field: str, value: object, low: int = 0, high: int = QUANTITY_MAX) -> int:
    """Return `value` if it is an integer within [low, high]; raise `ServiceError` otherwise."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        refuse(field, value, f"a whole number from {low:,} to {high:,}")
    return value


def sale_quantity(value: object, field: str = "quantity_units") -> int:
    """Return a sold or returned quantity; raise `ServiceError` for 0."""
    units = integer(field, value, -QUANTITY_MAX, QUANTITY_MAX)
    if units == 0:
        refuse(field, value, "a sale of 0 units is no sale")
    return units


def one_of(field: str, value: str, allowed: Collection[str]) -> str:
    """Return `value` if it is in the list; raise `ServiceError` otherwise."""
    if value not in allowed:
        # Pages write codes with blanks: `own use` for `own_use`.
        refuse(field, value, f"one of {', '.join(sorted(allowed)).replace('_', ' ')}")
    return value


def check_business_time(field: str, value: datetime | None) -> datetime | None:
    """Return a business time with a zone, from 2000 on; None stays None and means now."""
    if value is None:
        return None
    if value.tzinfo is None or value < EARLIEST:
        refuse(field, value, "a time with a zone, from 2000-01-01 UTC on")
    return value


def refuse_future(field: str, value: datetime | None, now: datetime) -> None:
    """Refuse a time after `now`, with a tolerance of 300 s for clock differences; None means now.

    Times of tills are accepted, and the fold clamps them. A person who enters a future day has
    mistyped it, and would not notice that the booking was clamped to now.
    """
    if value is not None and value > now + CLOCKS_DIFFER_BY:
        refuse(field, value, f"a time in the past; now it is {moment_text(now)}")


def day_of(at: datetime) -> date:
    """Return the UTC day of a time."""
    return at.astimezone(UTC).date()


def is_past(day: date | None, now: datetime) -> bool:
    """Return True if a day is over at `now`; False for None."""
    return day is not None and day < day_of(now)


def not_past(field: str, value: date | None, now: datetime) -> None:
    """Refuse a day that is over at `now`; accept None."""
    if is_past(value, now):
        refuse(field, value, f"not before {day_of(now)}")


def text(field: str, value: str | None, *, longest: int | None = None) -> str:
    """Return a non-blank text of at most `longest` characters; raise `ServiceError` otherwise."""
    if value is None or not value.strip():
        refuse(field, value, "must not be empty")
    if longest is not None and len(value) > longest:
        refuse(field, value, f"at most {longest} characters")
    return value


@contextmanager
def named_policies(rows: Sequence[Mapping[str, object]]) -> Iterator[None]:
    """Let SQL check policy rows; translate its refusal into column, value and rule.

    SQL names a constraint at best. The validation of the fold names the column, and it runs only
    after a refusal.
    """
    try:
        yield
    except ServiceError as refusal:
        for row in rows:
            problem = policy_problem(row)
            if problem is not None:
                raise problem from refusal
        raise


def policy_problem(row: Mapping[str, object]) -> ServiceError | None:
    """Return the `ServiceError` of the fold's validation for an `item_location` row, or None."""
    # Times have no policy limit, and the validation expects them in microseconds.
    plain = {name: None if isinstance(value, datetime) else value for name, value in row.items()}
    for name, value in plain.items():
        if isinstance(value, int) and value > MAX_STORED:
            return ServiceError(name, value, f"a whole number of at most {MAX_STORED}")
    try:
        item_location(InvKey(""), plain | {"id": 0})
    except Rejected as refusal:
        said = _SAID.match(refusal.detail)
        if said is None:
            raise
        column = said["column"]
        return ServiceError(column, row.get(column), said["rule"])
    return None


def is_correctable(happened_at: datetime, now: datetime) -> bool:
    """Return True up to and including 48 h after a count or receipt: it may still be corrected."""
    return now - happened_at <= CORRECTABLE_FOR
