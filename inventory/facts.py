"""One value per captured table: a row image, checked and typed (columns: domain.md 2.6).

Times are epoch microseconds (`_us`). `business_at_us` is min(occurred, recorded), floored to the
second (domain.md 2.1): a function of the image alone, so that a retraction lands where the
original landed.
"""

from inventory.model.ids import InvKey
from inventory.model.value import value


@value
class ItemLocation:
    """An item ranged at a location: every policy that a decision about the key needs."""

    id: int
    inv_key: InvKey
    # stock
    status: str = "active"
    clock_mode: str = "live"
    allocated_units: int = 0
    reviewed_at_us: int | None = None
    trading_windows: int = 144
    trading_from_window: int = 0
    # demand
    demand_method: str = "ewma"
    demand_alpha_permille: int = 125
    initial_rate_micro: int | None = None
    # replenishment
    replenish_family: str = "off"
    levels: str = "fixed"
    reorder_point_units: int = 0
    order_up_to_units: int = 0
    order_quantity_units: int = 0
    lead_time_centidays: int = 0
    lead_time_sd_centidays: int = 0
    review_centidays: int = 0
    cycle_centidays: int = 0
    min_cover_centidays: int = 0
    max_cover_centidays: int = 0
    safety_method: str = "fixed"
    safety_stock_units: int = 0
    safety_centidays: int = 0
    service_z_micro: int = 0
    order_days_mask: int = 127
    hysteresis_units: int | None = None
    # quantity
    supplier: str | None = None
    cost_minor: int = 0
    pack_units: int = 1
    pack_rounding: str = "up"
    round_up_permille: int = 500
    pallet_packs: int = 0
    pallet_permille: int = 0
    moq_units: int = 0
    max_order_units: int | None = None
    capacity_units: int | None = None
    guard_days: int = 90
    auto_max_minor: int = 0
    # price
    price_mode: str = "off"
    regular_minor: int | None = None
    margin_permille: int = 0
    tax_bp: int = 0
    ladder_permille: tuple[int, ...] = (100, 200, 300, 500)
    raise_permille: tuple[int, ...] = (50, 100)
    endings: tuple[int, ...] = ()
    max_step_permille: int = 200
    max_off_permille: int = 500
    cap_permille: int = 100
    lead_minutes: int = 30
    cooldown_hours: int = 168
    no_touch_from_us: int | None = None
    no_touch_until_us: int | None = None
    prior_rule: str = "plain"
    scarce_enabled: bool = False
    scarce_days: int = 3
    overstock_days: int = 56
    idle_days: int = 21
    restore_days: int = 28
    auto_permille: int = 0
    phantom_lambda_micro: int = 4_605_170


@value
class SaleLine:
    """One line of a till receipt; a negative quantity is a return."""

    id: int
    quantity_units: int
    amount_minor: int
    condition: str
    business_at_us: int


@value
class PurchaseOrderLine:
    """Units ordered from a supplier; carries `reorder_id` when it answers a need."""

    id: int
    reorder_id: str | None
    ordered_units: int
    confirmed_units: int | None
    cancelled_units: int


@value
class ShipmentLine:
    """One leg of a movement of goods; `None` times have not happened yet."""

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
    """What somebody counted; only status `approved` re-bases stock."""

    id: int
    units: int
    kind: str
    status: str
    business_at_us: int


@value
class StockAdjustment:
    """A booked correction; the reason decides which bucket moves and in which direction."""

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
    """A person's (or an automatic rule's) word on a reorder."""

    id: int
    reorder_id: str
    action: str
    until_at_us: int | None
    reason: str | None


@value
class PriceDecision:
    """A person's (or an automatic rule's) word on a price proposal."""

    id: int
    proposal_id: str
    action: str
    until_at_us: int | None
    reason: str | None


@value
class Heartbeat:
    """Moves as-of of its partition and nothing else."""

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
