"""One class per captured table: a row image, checked and typed (columns: domain.md 2.6).

Times are epoch microseconds (`_us`). `business_at_us` is min(occurred, recorded), floored to the
second (domain.md 2.1). It depends on the image alone, so a retraction has the same time as the
original.
"""

from inventory.model.policy import ItemLocation
from inventory.model.value import value

__all__ = [
    "Fact",
    "Heartbeat",
    "ItemLocation",
    "PriceChange",
    "PriceDecision",
    "PurchaseOrderLine",
    "ReorderDecision",
    "SaleLine",
    "ShipmentLine",
    "StockAdjustment",
    "StockCount",
]


@value
class SaleLine:
    """One line of a till receipt. A negative quantity is a return."""

    id: int
    quantity_units: int
    amount_minor: int
    condition: str
    business_at_us: int


@value
class PurchaseOrderLine:
    """Units ordered from a supplier. `reorder_id` is set if the line answers a need."""

    id: int
    reorder_id: str | None
    ordered_units: int
    confirmed_units: int | None
    cancelled_units: int


@value
class ShipmentLine:
    """One leg of a movement of goods. A time is None until it has happened."""

    id: int
    leg: str
    status: str
    reorder_id: str | None
    planned_units: int
    shipped_units: int
    received_units: int
    damaged_units: int
    order_units: int
    shipped_business_at_us: int | None
    received_business_at_us: int | None


@value
class StockCount:
    """A stock count. Only status `approved` sets on-hand."""

    id: int
    units: int
    kind: str
    status: str
    business_at_us: int


@value
class StockAdjustment:
    """A booked correction. Its reason decides which bucket moves, and in which direction."""

    id: int
    reason: str
    quantity_units: int
    business_at_us: int


@value
class PriceChange:
    """One row of the price timeline."""

    id: int
    effective_from_us: int
    price_minor: int
    step: int
    kind: str
    proposal_id: str | None
    floor_minor: int


@value
class ReorderDecision:
    """A decision on a reorder, by a person or by an automatic rule."""

    id: int
    reorder_id: str
    action: str
    until_at_us: int | None
    reason: str | None


@value
class PriceDecision:
    """A decision on a price proposal, by a person or by an automatic rule."""

    id: int
    proposal_id: str
    action: str
    until_at_us: int | None
    reason: str | None


@value
class Heartbeat:
    """A heartbeat row. It moves the as-of time of its partition and nothing else."""

    id: int
    beat: int


Fact = (
    ItemLocation
    | SaleLine
    | PurchaseOrderLine
    | ShipmentLine
    | StockCount
    | StockAdjustment
    | PriceChange
    | ReorderDecision
    | PriceDecision
    | Heartbeat
)
