"""The policy of a key: its `item_location` row, the only row that a state holds completely.

The class is in the model because `KeyState` contains it. `inventory.tables.item_location` parses
it.
"""

from inventory.model.fact import WithoutEffect, WithoutTimes
from inventory.model.ids import InvKey
from inventory.model.value import Referable, value


@value
class ItemLocation(Referable, WithoutEffect, WithoutTimes):
    """The policy of one item at one location: its row in `item_location` (domain.md 2.6)."""

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
