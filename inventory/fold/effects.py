"""The contribution of one row image to its key: one image, one effect (domain.md 2.3).

A change is the effect of its after-image minus that of its before-image. Both are signed parts,
which the folds of stock and windows add up.
"""

from typing import Final

from inventory.model.state import Count
from inventory.model.value import value
from inventory.model.windows import complete_before_us
from inventory.tables.facts import (
    Fact,
    PurchaseOrderLine,
    SaleLine,
    ShipmentLine,
    StockAdjustment,
    StockCount,
)

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


# A tuple, because isinstance with a union would build the union for every record.
_DATED = (SaleLine, StockCount, StockAdjustment)


@value
class Effect:
    """The contribution of one row image, added (`sign` 1) or retracted (`sign` -1), signs applied.

    A movement of on-hand and a sale or return line lie at the second `at_us`. `line_units` is the
    quantity of a line as in its row, 0 for an image that is no line. Only the line's own numbers
    are unsigned, because the sign of its quantity separates sales from returns.
    """

    sign: int
    at_us: int = 0
    moved_units: int = 0
    unavailable_units: int = 0
    on_order_units: int = 0
    in_transit_units: int = 0
    line_units: int = 0
    line_minor: int = 0


Effects = tuple[Effect, ...]


def effects_of(before: Fact | None, after: Fact | None) -> Effects:
    """Return the contribution of `after` minus that of `before`: at most one effect per image."""
    old = None if before is None else _signed(before, -1)
    new = None if after is None else _signed(after, 1)
    if old is None:
        return () if new is None else (new,)
    return (old,) if new is None else (old, new)


def touches_complete_days(effects: Effects, stream_time_us: int) -> bool:
    """Return True if a movement or line lies before the first incomplete day."""
    for effect in effects:
        at_us = effect.at_us
        if (effect.moved_units or effect.line_units) and at_us < complete_before_us(stream_time_us):
            return True
    return False


def approved(fact: Fact | None) -> Count | None:
    """Return the count that an image asserts. Other facts, drafts and voids give None."""
    if isinstance(fact, StockCount) and fact.status == "approved":
        return Count(fact.business_at_us, fact.id, fact.units, fact.kind)
    return None


def business_times(fact: Fact | None) -> tuple[int, ...]:
    """Return the business times that an image shows, whatever its status (domain.md 11.3)."""
    if isinstance(fact, _DATED):
        return (fact.business_at_us,)
    if isinstance(fact, ShipmentLine):
        times = (fact.shipped_business_at_us, fact.received_business_at_us)
        return tuple(at_us for at_us in times if at_us is not None)
    return ()


def _signed(fact: Fact, sign: int) -> Effect | None:
    match fact:
        case SaleLine():
            return _sale(fact, sign)
        case ShipmentLine():
            return _shipment(fact, sign)
        case PurchaseOrderLine():
            ordered = fact.ordered_units if fact.confirmed_units is None else fact.confirmed_units
            return Effect(sign, on_order_units=sign * (ordered - fact.cancelled_units))
        case StockAdjustment():
            on_hand, unavailable = ADJUSTMENT_SIGNS[fact.reason]
            moved = sign * fact.quantity_units
            return Effect(sign, fact.business_at_us, on_hand * moved, unavailable * moved)
        case _:
            return None


def _sale(sale: SaleLine, sign: int) -> Effect:
    quantity, amount = sale.quantity_units, sale.amount_minor
    moved = unavailable = 0
    if quantity > 0 or sale.condition == "resaleable":
        moved = -sign * quantity
    elif sale.condition == "damaged":
        unavailable = -sign * quantity
    # Positional arguments: each sale builds an effect, and keywords cost a third more.
    return Effect(sign, sale.business_at_us, moved, unavailable, 0, 0, quantity, amount)


def _shipment(line: ShipmentLine, sign: int) -> Effect | None:
    if line.leg == "transfer_out":
        if line.status == "planned" or line.shipped_business_at_us is None:
            return None
        return Effect(sign, line.shipped_business_at_us, -sign * line.shipped_units)
    if line.status == "received":
        return _receipt(line, sign)
    is_transfer = line.leg == "transfer_in"
    if line.status == "planned":
        return Effect(sign, on_order_units=sign * line.planned_units) if is_transfer else None
    shipped = sign * line.shipped_units
    on_order = shipped if is_transfer else 0
    return Effect(sign, on_order_units=on_order, in_transit_units=shipped)


def _receipt(line: ShipmentLine, sign: int) -> Effect:
    """Return the effect of a receipt.

    One record moves every bucket, so no decision sees half of it.
    """
    settled = line.order_units if line.leg == "supplier_in" else 0
    return Effect(
        sign,
        line.received_business_at_us or 0,
        sign * line.received_units,
        sign * line.damaged_units,
        -sign * settled,
    )
