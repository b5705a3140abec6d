"""Functions that read and check one column of a row image (domain.md 0, 2.6, 11.8).

A value of the wrong type or range raises `Rejected` with reason `limit`. Null counts as absent. A
row maps column names to decoded values: integer, text, bool, list or None.
"""

from collections.abc import Mapping
from typing import Final, NoReturn

from inventory.errors import LIMIT, Rejected, short_text
from inventory.model.arithmetic import PRICE_MAX, PRICE_MIN, SECOND_US

Row = Mapping[str, object]

UNITS_MAX: Final = 1_000_000
QUANTITY_MAX: Final = 1_000_000
AMOUNT_MAX: Final = 10**11
FIRST_BUSINESS_US: Final = 946_684_800_000_000  # 2000-01-01


def refuse(column: str, rule: str, seen: object) -> NoReturn:
    """Raise `Rejected` with reason `limit`, because a column's value `seen` breaks a rule.

    `rule` is a text that completes the sentence "`column` must be …", for example
    `an integer ≥ 0`.
    """
    detail = f"{column} must be {rule}, got {short_text(seen)}"
    raise Rejected(LIMIT, detail)


def units(row: Row, column: str, default: int | None = None) -> int:
    """Return a quantity from 0 to 10^6. The column is required if there is no `default`."""
    found = row.get(column)
    if found is None:
        found = default
    if type(found) is not int or not 0 <= found <= UNITS_MAX:
        refuse(column, "an integer 0…1000000", found)
    return found


def optional_units(row: Row, column: str) -> int | None:
    """Return a quantity from 0 to 10^6, or None."""
    return None if row.get(column) is None else units(row, column)


def at_least(row: Row, column: str, low: int, default: int | None = None) -> int:
    """Return an integer ≥ `low`. The column is required if there is no `default`."""
    found = row.get(column)
    if found is None:
        found = default
    if type(found) is not int or found < low:
        refuse(column, f"an integer ≥ {low}", found)
    return found


def within(row: Row, column: str, low: int, high: int, default: int | None = None) -> int:
    """Return an integer from `low` to `high`. The column is required if there is no `default`."""
    found = row.get(column)
    if found is None:
        found = default
    if type(found) is not int or not low <= found <= high:
        refuse(column, f"an integer {low}…{high}", found)
    return found


def price_minor(row: Row, column: str) -> int:
    """Return a required price from 1 to 10^9 minor units."""
    return within(row, column, PRICE_MIN, PRICE_MAX)


def optional_price(row: Row, column: str) -> int | None:
    """Return a price from 1 to 10^9 minor units, or None."""
    return None if row.get(column) is None else price_minor(row, column)


def integer(row: Row, column: str) -> int:
    """Return a required integer of any size."""
    found = row.get(column)
    if type(found) is not int:
        refuse(column, "an integer", found)
    return found


def optional_integer(row: Row, column: str) -> int | None:
    """Return an integer of any size, or None."""
    return None if row.get(column) is None else integer(row, column)


def text(row: Row, column: str) -> str:
    """Return a required text. Refuse a text with NUL, a character that Postgres can't store."""
    found = row.get(column)
    if type(found) is not str or "\0" in found:
        refuse(column, "a text without NUL", found)
    return found


def optional_text(row: Row, column: str) -> str | None:
    """Return a text, or None."""
    return None if row.get(column) is None else text(row, column)


def choice(row: Row, column: str, allowed: tuple[str, ...], default: str | None = None) -> str:
    """Return the column's text, which must be one of `allowed`.

    The result is the string object in `allowed`, so that all states share it and need less memory.
    The column is required if there is no `default`.
    """
    found = row.get(column)
    if found is None:
        found = default
    if type(found) is str:
        for text in allowed:
            if text == found:
                return text
    refuse(column, "one of " + ", ".join(allowed), found)


def truth(row: Row, column: str, *, default: bool) -> bool:
    """Return a bool, or `default` if the column is absent."""
    found = row.get(column)
    if found is None:
        return default
    if type(found) is not bool:
        refuse(column, "true or false", found)
    return found


def integers(row: Row, column: str, default: tuple[int, ...], low: int | None) -> tuple[int, ...]:
    """Return a list of integers as a tuple, or `default`. Each is ≥ `low` unless `low` is None."""
    found = row.get(column)
    if found is None:
        return default
    if type(found) is not list and type(found) is not tuple:
        refuse(column, "a list of integers", found)
    for item in found:
        if type(item) is not int or (low is not None and item < low):
            refuse(column, f"a list of integers ≥ {low}", found)
    return tuple(found)


def business_us(row: Row, column: str) -> int:
    """Return min(`column`, `recorded_at`) floored to the second, in µs (domain.md 2.1).

    A result before 2000-01-01 is rejected (domain.md 0).
    """
    stated, recorded = row.get(column), row.get("recorded_at")
    if type(stated) is not int:
        refuse(column, "a time in microseconds", stated)
    if type(recorded) is not int:
        refuse("recorded_at", "a time in microseconds", recorded)
    at_us = min(stated, recorded) // SECOND_US * SECOND_US
    if at_us < FIRST_BUSINESS_US:
        refuse(column, "2000-01-01 or later", at_us)
    return at_us


def optional_business_us(row: Row, column: str) -> int | None:
    """Return the business time of `column`, or None if the column is null."""
    return None if row.get(column) is None else business_us(row, column)


def check_origin(row: Row) -> None:
    """Check the types of `recorded_at` and `recorded_by`, for a table where no rule reads them."""
    optional_integer(row, "recorded_at")
    optional_text(row, "recorded_by")
