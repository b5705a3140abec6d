"""The needs that a buyer should check before ordering, and how urgent each is.

Each reason for a check has a code, such as `no_supplier`. A need without codes is routine. Pages
show needs with codes first, by urgency and then by money.
"""

from collections.abc import Mapping
from typing import Final

from inventory.model.value import value

NO_SUPPLIER, SUPPLIER_INACTIVE = "no_supplier", "supplier_inactive"
BELOW_ZERO, MAYBE_MISSING = "below_zero", "maybe_missing"
ODD_UNITS, ABOVE_LIMIT = "odd_units", "above_limit"

# Texts for shop staff, by reason code or by flag of an order quantity.
SENTENCES: Final[Mapping[str, str]] = {
    NO_SUPPLIER: "has no supplier",
    SUPPLIER_INACTIVE: "its supplier is not active",
    BELOW_ZERO: "is below zero: count it first",
    MAYBE_MISSING: "may be missing from the shelf",
    ODD_UNITS: "is not a whole number of packs",
    ABOVE_LIMIT: "costs more than the item's limit",
    "cover_over_guard": "would last too long",
    "no_demand_history": "has no sales to judge by",
}

SOLD_OUT, RUNS_OUT, LOW = 0, 1, 2
URGENCIES: Final[Mapping[int, str]] = {
    SOLD_OUT: "sold out",
    RUNS_OUT: "runs out before a delivery",
    LOW: "at its reorder point",
}


@value
class NeedFacts:
    """The values of a need that decide whether a buyer should look at it.

    `on_hand_units` is None if the stock is unknown. `cost_minor` is the cost of one unit.
    `auto_max_minor` is the largest cost of an automatic order of the item. If it is 0, no order is
    automatic, and no need gets the code `above_limit`.
    """

    supplier: str | None
    is_supplier_active: bool
    on_hand_units: int | None
    is_phantom_suspect: bool
    quantity_units: int
    pack_units: int
    cost_minor: int
    auto_max_minor: int
    flags: tuple[str, ...] = ()


def attention(need: NeedFacts) -> tuple[str, ...]:
    """Return the codes of all reasons to check the need, in fixed order, or () if it is routine."""
    found = (
        (NO_SUPPLIER, not need.supplier),
        (SUPPLIER_INACTIVE, not need.is_supplier_active),
        (BELOW_ZERO, need.on_hand_units is not None and need.on_hand_units < 0),
        (MAYBE_MISSING, need.is_phantom_suspect),
        (ODD_UNITS, need.quantity_units % need.pack_units != 0),
        (ABOVE_LIMIT, 0 < need.auto_max_minor < need.quantity_units * need.cost_minor),
    )
    return (*(code for code, applies in found if applies), *need.flags)


def urgency(*, available_units: int, cover_centidays: int | None, lead_time_centidays: int) -> int:
    """Return the urgency: `SOLD_OUT`, `RUNS_OUT` or `LOW`.

    `SOLD_OUT`: nothing is left to sell. `RUNS_OUT`: the supply lasts for less than the lead time.
    `LOW`: all others. An item without demand (`cover_centidays` None) is always `LOW`, even with
    nothing left to sell.
    """
    if cover_centidays is None:
        return LOW
    if available_units <= 0:
        return SOLD_OUT
    return RUNS_OUT if cover_centidays < lead_time_centidays else LOW
