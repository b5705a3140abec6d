"""Checks of input against the limits of docs/domain.md 0 and 2.6.

A check raises `ServiceError` with field, value and rule. The tables have the same limits in CHECK
constraints. This module repeats them, so that a person reads a sentence instead of a constraint's
name. If a limit is missing here, Postgres still refuses the row and nothing is written.
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
from ledger.messages import Message, gettext_noop

EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
LOCATION_FORM: Final = re.compile(r"[A-Z0-9-]{1,24}\Z")
LONGEST_SKU: Final = 32
LONGEST_REASON: Final = 200  # characters of a person's reason; forms have the same limit
# A fact older than 48 h can't be corrected: the fold retains only three days (docs/domain.md 2.4),
# and people have already acted on the fact (docs/domain.md 7).
CORRECTABLE_FOR: Final = timedelta(hours=48)
# A clock that is ahead by more than this is wrong (docs/domain.md 2.1, 8).
CLOCKS_DIFFER_BY: Final = timedelta(seconds=300)
_REJECTION: Final = re.compile(r"(?P<column>\w+) must be (?P<rule>.*), got ", re.DOTALL)


def location_problem(location: str) -> str | None:
    """Return the reason why `location` is no location code, or None if it is one."""
    if LOCATION_FORM.match(location):
        return None
    return gettext_noop("a location is 1 to 24 characters of A-Z, 0-9 and -")


def sku_problem(sku: str) -> str | None:
    """Return the reason why `sku` is no valid SKU, or None if it is one."""
    if not 1 <= len(sku) <= LONGEST_SKU:
        return Message("an SKU has 1 to %(longest_sku)s characters", longest_sku=LONGEST_SKU)
    if not sku.isprintable() or "|" in sku:
        return gettext_noop("an SKU has printable characters only, and no |")
    if sku != sku.strip(" "):
        return gettext_noop("an SKU has no space at its start or end")
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
        refuse(
            field,
            value,
            Message("a whole number from %(low)s to %(high)s", low=f"{low:,}", high=f"{high:,}"),
        )
    return value


def sale_quantity(value: object, field: str = "quantity_units") -> int:
    """Return a sold (above 0) or returned (below 0) quantity; raise `ServiceError` for 0."""
    units = integer(field, value, -QUANTITY_MAX, QUANTITY_MAX)
    if units == 0:
        refuse(field, value, "a sale has at least 1 unit, a return at most -1")
    return units


def one_of(field: str, value: str, allowed: Collection[str]) -> str:
    """Return `value` if it is in `allowed`; raise `ServiceError` otherwise."""
    if value not in allowed:
        # Pages show codes with spaces: `own use` for `own_use`.
        refuse(
            field,
            value,
            Message("one of %(replace)s", replace=", ".join(sorted(allowed)).replace("_", " ")),
        )
    return value


def check_business_time(field: str, value: datetime | None) -> datetime | None:
    """Return the business time `value`; accept None, which means the present time.

    Raise `ServiceError` for a time without zone or before 2000-01-01 UTC.
    """
    if value is None:
        return None
    if value.tzinfo is None or value < EARLIEST:
        refuse(field, value, "a time with a zone, from 2000-01-01 UTC on")
    return value


def refuse_future(field: str, value: datetime | None, now: datetime) -> None:
    """Raise `ServiceError` for a time more than 300 s after `now`; accept None.

    The 300 s allow for differences between clocks. Sales of tills don't use this check: the fold
    lowers their future times to the time of the write. A person who enters a future time has
    mistyped it, and wouldn't notice that the booking got another time.
    """
    if value is not None and value > now + CLOCKS_DIFFER_BY:
        refuse(field, value, Message("must not be later than now, %(now)s", now=moment_text(now)))


def day_of(at: datetime) -> date:
    """Return the UTC day of a time."""
    return at.astimezone(UTC).date()


def is_past(day: date | None, now: datetime) -> bool:
    """Return True if a day is over at `now`; False for None."""
    return day is not None and day < day_of(now)


def not_past(field: str, value: date | None, now: datetime) -> None:
    """Raise `ServiceError` for a day that is over at `now`; accept None."""
    if is_past(value, now):
        refuse(field, value, Message("not before %(now)s", now=day_of(now)))


def text(field: str, value: str | None, *, longest: int | None = None) -> str:
    """Return `value`; raise `ServiceError` if it is None, blank or longer than `longest`."""
    if value is None or not value.strip():
        refuse(field, value, "must not be empty")
    if longest is not None and len(value) > longest:
        refuse(field, value, Message("at most %(longest)s characters", longest=longest))
    return value


@contextmanager
def named_policies(rows: Sequence[Mapping[str, object]]) -> Iterator[None]:
    """Replace a `ServiceError` of the `with` block by one that names column, value and rule.

    The block writes the policies `rows`. If Postgres refuses them, its error names only a
    constraint. So this function validates `rows` as the workers do, and raises an error for the
    first value that breaks a rule. If no value breaks a rule, it raises the error of the block.
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
    """Return a `ServiceError` for the first value that workers would reject, or None."""
    # Times have no policy limit, and the validation expects them in microseconds.
    plain = {name: None if isinstance(value, datetime) else value for name, value in row.items()}
    for name, value in plain.items():
        if isinstance(value, int) and value > MAX_STORED:
            return ServiceError(
                name,
                value,
                Message("a whole number of at most %(max_stored)s", max_stored=MAX_STORED),
            )
    try:
        item_location(InvKey(""), plain | {"id": 0})
    except Rejected as refusal:
        found = _REJECTION.match(refusal.detail)
        if found is None:
            raise
        column = found["column"]
        return ServiceError(column, row.get(column), found["rule"])
    return None


def is_correctable(happened_at: datetime, now: datetime) -> bool:
    """Return True if a count or receipt may be corrected: at `now`, it is at most 48 h old."""
    return now - happened_at <= CORRECTABLE_FOR
