"""What one row image adds to its key: one image, one effect (domain.md 2.3).

A change is the effect of its after-image minus that of its before-image. Both are listed as signed
parts, and the folds of stock and windows add the parts up.
"""

from typing import Final

from inventory.facts import (
    Fact,
    PurchaseOrderLine,
    SaleLine,
    ShipmentLine,
    StockAdjustment,
    StockCount,
)
from inventory.model.state import Count
from inventory.model.value import value

# (sign of the on-hand movement, sign of the change of unavailable) by reason.
ADJUSTMENT_SIGNS: Final = {
    "theft": (-1, 0),
    "loss": (-1, 0),
    "waste": (-1, 0),
    "own_use": (-1, 0),
    "correction_down": (-1, 0),
    "vendor_return": (-1, 0),
    "damage": (-1, 1),
    "found": (1, 0),
    "correction_up": (1, 0),
    "repair": (1, -1),
    "dispose": (0, -1),
    "vendor_return_damaged": (0, -1),
}


# A tuple, because a union in isinstance is built anew for every record.
_DATED = (SaleLine, StockCount, StockAdjustment)


@value
class Line:
    """A sale or return line as its window counts it, before (sign -1) or after (+1)."""

    sign: int
    at_us: int
    quantity_units: int
    amount_minor: int


@value
class Effect:
    """What a record adds to a key, both images together.

    `moves` are (second in epoch microseconds, on-hand movement), at most one per image.
    """

    moves: tuple[tuple[int, int], ...] = ()
    unavailable_units: int = 0
    on_order_units: int = 0
    in_transit_units: int = 0
    lines: tuple[Line, ...] = ()


NOTHING = Effect()


def effect_of(before: Fact | None, after: Fact | None) -> Effect:
    """The contribution of `after` minus that of `before`."""
    if before is None:
        return NOTHING if after is None else _signed(after, 1)
    if after is None:
        return _signed(before, -1)
    old, new = _signed(before, -1), _signed(after, 1)
    return Effect(
        (*old.moves, *new.moves),
        old.unavailable_units + new.unavailable_units,
        old.on_order_units + new.on_order_units,
        old.in_transit_units + new.in_transit_units,
        (*old.lines, *new.lines),
    )


def approved(fact: Fact | None) -> Count | None:
    """The count that an image asserts; None for everything else, drafts and voids included."""
    if isinstance(fact, StockCount) and fact.status == "approved":
        return Count(fact.business_at_us, fact.id, fact.units, fact.kind)
    return None


def business_times(fact: Fact | None) -> tuple[int, ...]:
    """The business times that an image shows, whatever its status (domain.md 11.3)."""
    if isinstance(fact, _DATED):
        return (fact.business_at_us,)
    if isinstance(fact, ShipmentLine):
        times = (fact.shipped_business_at_us, fact.received_business_at_us)
        return tuple(at_us for at_us in times if at_us is not None)
    return ()


def _signed(fact: Fact, sign: int) -> Effect:
    match fact:
        case SaleLine():
            return _sale(fact, sign)
        case ShipmentLine():
            return _shipment(fact, sign)
        case PurchaseOrderLine():
            ordered = fact.ordered_units if fact.confirmed_units is None else fact.confirmed_units
            return Effect(on_order_units=sign * (ordered - fact.cancelled_units))
        case StockAdjustment():
            on_hand, unavailable = ADJUSTMENT_SIGNS[fact.reason]
            moved = sign * fact.quantity_units
            moves = ((fact.business_at_us, on_hand * moved),) if on_hand else ()
            return Effect(moves, unavailable * moved)
        case _:
            return NOTHING


def _sale(sale: SaleLine, sign: int) -> Effect:
    at_us, quantity = sale.business_at_us, sale.quantity_units
    lines = (Line(sign, at_us, quantity, sale.amount_minor),)
    if quantity > 0 or sale.condition == "resaleable":
        return Effect(((at_us, -sign * quantity),), lines=lines)
    unavailable = -sign * quantity if sale.condition == "damaged" else 0
    return Effect((), unavailable, lines=lines)


def _shipment(line: ShipmentLine, sign: int) -> Effect:
    if line.leg == "transfer_out":
        if line.status == "planned" or line.shipped_business_at_us is None:
            return NOTHING
        return Effect(((line.shipped_business_at_us, -sign * line.shipped_units),))
    if line.status == "received":
        return _receipt(line, sign)
    is_transfer = line.leg == "transfer_in"
    if line.status == "planned":
        return Effect(on_order_units=sign * line.planned_units) if is_transfer else NOTHING
    shipped = sign * line.shipped_units
    return Effect((), 0, shipped if is_transfer else 0, shipped)


def _receipt(line: ShipmentLine, sign: int) -> Effect:
    """A receipt moves every bucket in one record, so no decision sees half of it."""
    at_us = line.received_business_at_us
    moves = () if at_us is None else ((at_us, sign * line.received_units),)
    settled = line.order_units if line.leg == "supplier_in" else 0
    return Effect(moves, sign * line.damaged_units, -sign * settled)
