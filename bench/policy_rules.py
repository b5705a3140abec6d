"""The policies that `inventory bench policy` compares, as columns of `item_location`.

Levels are the reorder point and the order-up-to level. A planner calculates *typed* levels once,
from a guess of the demand. The guess is up to 30 % wrong, and the planner never corrects the
levels. *Computed* levels start from the same guess. Then the rules adapt them to the sales.
"""

from collections.abc import Callable
from typing import Any, Final

from bench.policy_demand import INTERMITTENT, SLOW, Item
from inventory.model.arithmetic import ceil_div
from inventory.replenishment.families import (
    COVER,
    FIXED_LOT,
    MIN_MAX,
    OFF,
    PAR,
    PERIODIC,
    PERIODIC_MIN_MAX,
    Family,
)
from inventory.replenishment.lot_size import economic_order_units

Columns = dict[str, Any]

SERVICE_95: Final = 1_644_854
MONDAY: Final = 1
CYCLE_DAYS: Final = 14
REVIEW_DAYS: Final = 7
SPARE_DAYS: Final = 3
ORDER_COST_MINOR: Final = 250
HOLDING_PERMILLE: Final = 200  # yearly cost of keeping a unit, in thousandths of its purchase cost


def span(item: Item, days: int) -> int:
    """Return the units sold in `days` days if the planner's guess is right, rounded up."""
    return ceil_div(item.guess_micro * days, 1_000_000)


def common(item: Item) -> Columns:
    """Return the columns that all policies share: the facts of item and supplier."""
    return {
        "status": "active",
        "clock_mode": "live",
        "trading_windows": 72,
        "trading_from_window": 48,
        "initial_rate_micro": item.guess_micro,
        "lead_time_centidays": 100 * item.lead_days,
        "lead_time_sd_centidays": item.lead_sd_centidays,
        "cost_minor": item.cost_minor,
        "pack_units": item.pack_units,
        "supplier": "ACME",
    }


def _off(_item: Item) -> Columns:
    return {"replenish_family": OFF.code}


def _typed(item: Item) -> Columns:
    point = span(item, item.lead_days + SPARE_DAYS)
    return {
        "replenish_family": MIN_MAX.code,
        "reorder_point_units": point,
        "order_up_to_units": point + max(1, span(item, CYCLE_DAYS)),
    }


def _par(item: Item) -> Columns:
    return {
        "replenish_family": PAR.code,
        "order_up_to_units": max(1, span(item, item.lead_days + REVIEW_DAYS)),
    }


def _learned(item: Item, family: Family, **columns: object) -> Columns:
    """Return policy columns for computed levels, as domain.md 5.1 advises for the item's class."""
    is_rare = item.kind in (SLOW, INTERMITTENT)
    return {
        "replenish_family": family.code,
        "levels": "computed",
        "demand_method": "tsb" if is_rare else "ewma",
        "safety_method": "days" if is_rare else "service",
        "safety_centidays": 100 * SPARE_DAYS,
        "service_z_micro": SERVICE_95,
        "cycle_centidays": 100 * CYCLE_DAYS,
        **columns,
    }


def _lots(item: Item) -> Columns:
    lot = economic_order_units(
        demand_a_year_units=max(1, span(item, 365)),
        order_cost_minor=ORDER_COST_MINOR,
        holding_minor=max(1, ceil_div(item.cost_minor * HOLDING_PERMILLE, 1000)),
    )
    return _learned(item, FIXED_LOT, order_quantity_units=lot)


def _min_max(item: Item) -> Columns:
    return _learned(item, MIN_MAX)


def _normal_for_all(item: Item) -> Columns:
    return _learned(item, MIN_MAX, safety_method="service", demand_method="ewma")


def _periodic(item: Item) -> Columns:
    return _learned(item, PERIODIC, order_days_mask=MONDAY, review_centidays=100 * REVIEW_DAYS)


def _periodic_min_max(item: Item) -> Columns:
    return _learned(
        item, PERIODIC_MIN_MAX, order_days_mask=MONDAY, review_centidays=100 * REVIEW_DAYS
    )


def _cover(item: Item) -> Columns:
    least = 100 * (item.lead_days + SPARE_DAYS)
    return _learned(
        item, COVER, min_cover_centidays=least, max_cover_centidays=least + 100 * CYCLE_DAYS
    )


RULES: Final[dict[str, Callable[[Item], Columns]]] = {
    "none": _off,
    "typed min/max": _typed,
    "par, typed": _par,
    FIXED_LOT.code: _lots,
    MIN_MAX.code: _min_max,
    "sS, normal formula": _normal_for_all,
    "RS weekly": _periodic,
    "RsS weekly": _periodic_min_max,
    COVER.code: _cover,
}
