"""`price_change`: a key's price and the time of its start. Rows are inserted and never changed."""

from typing import Final

from inventory.model.arithmetic import MAX_STORED
from inventory.model.fact import WithoutEffect, WithoutTimes
from inventory.model.value import value
from inventory.tables.captured import BIGINT, INTEGER, TEXT, TIME, CapturedTable
from inventory.tables.columns import (
    Row,
    at_least,
    check_origin,
    choice,
    integer,
    optional_text,
    price_minor,
    refuse,
    within,
)

KINDS: Final = ("initial", "rule", "manual", "emergency", "rollback")
STEP_MIN: Final = -(2**31)  # `step` is the only number column of type `integer`, not `bigint`
STEP_MAX: Final = 2**31 - 1


@value
class PriceChange(WithoutEffect, WithoutTimes):
    """A price that is in force from `effective_from_us` until the key's next price (domain.md 6.1).

    `proposal_id` names the price proposal that this row accepts, or is None. Prices are in minor
    units.
    """

    id: int
    effective_from_us: int
    price_minor: int
    step: int
    kind: str
    proposal_id: str | None
    floor_minor: int


def parse(_: str, row: Row) -> PriceChange:
    """Return the price in `row`, or raise `Rejected`, for example for a price below its floor."""
    check_origin(row)
    price = price_minor(row, "price_minor")
    floor = at_least(row, "floor_minor", 0)
    if price < floor:
        refuse("price_minor", f"at least the floor {floor}", price)
    return PriceChange(
        id=integer(row, "id"),
        effective_from_us=within(row, "effective_from", -MAX_STORED, MAX_STORED),
        price_minor=price,
        step=within(row, "step", STEP_MIN, STEP_MAX, 0),
        kind=choice(row, "kind", KINDS),
        proposal_id=optional_text(row, "proposal_id"),
        floor_minor=floor,
    )


TABLE: Final = CapturedTable(
    name="price_change",
    columns=(
        ("effective_from", TIME),
        ("price_minor", BIGINT),
        ("step", INTEGER),
        ("kind", TEXT),
        ("proposal_id", TEXT),
        ("floor_minor", BIGINT),
    ),
    parse=parse,
)
