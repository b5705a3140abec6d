"""`item_location`: the policy of a key. Each column has limits, and most have a default.

The class of the fact is `inventory.model.policy.ItemLocation`, because a state contains it.
"""

from dataclasses import fields
from typing import Any, Final

from inventory.model.ids import InvKey
from inventory.model.policy import ItemLocation
from inventory.parameters.chosen import OVERLAY
from inventory.parameters.overlay import Overlay, applied
from inventory.replenishment.families import (
    BASE_STOCK,
    FAMILIES,
    LOTS,
    OFF,
    TWO_LEVELS,
    family_of,
    has_typed_levels,
)
from inventory.tables.captured import (
    BIGINT,
    BIGINTS,
    BOOLEAN,
    TEXT,
    TIME,
    CapturedTable,
    Columns,
)
from inventory.tables.columns import (
    Row,
    at_least,
    check_origin,
    choice,
    integer,
    integers,
    optional_integer,
    optional_price,
    optional_text,
    optional_units,
    refuse,
    truth,
    units,
    within,
)

STATUSES = ("active", "exit", "inactive")
_FAMILY_CODES: Final = tuple(FAMILIES)
COST_MAX: Final = 10**9
ALPHA_MAX: Final = 1000  # permille; above 1000 the rate would overshoot the observed demand

DEMAND_COLUMNS: Final = ("demand_method", "demand_alpha_permille", "initial_rate_micro")
REPLENISHMENT_COLUMNS: Final = (
    "replenish_family",
    "levels",
    "reorder_point_units",
    "order_up_to_units",
    "order_quantity_units",
    "lead_time_centidays",
    "lead_time_sd_centidays",
    "review_centidays",
    "cycle_centidays",
    "min_cover_centidays",
    "max_cover_centidays",
    "safety_method",
    "safety_stock_units",
    "safety_centidays",
    "service_z_micro",
    "order_days_mask",
    "hysteresis_units",
)
QUANTITY_COLUMNS: Final = (
    "supplier",
    "cost_minor",
    "pack_units",
    "pack_rounding",
    "round_up_permille",
    "pallet_packs",
    "pallet_permille",
    "moq_units",
    "max_order_units",
    "capacity_units",
    "guard_days",
    "auto_max_minor",
)
PRICE_COLUMNS: Final = (
    "price_mode",
    "regular_minor",
    "margin_permille",
    "tax_bp",
    "ladder_permille",
    "raise_permille",
    "endings",
    "max_step_permille",
    "max_off_permille",
    "cap_permille",
    "lead_minutes",
    "cooldown_hours",
    "no_touch_from_us",
    "no_touch_until_us",
    "prior_rule",
    "scarce_enabled",
    "scarce_days",
    "overstock_days",
    "idle_days",
    "restore_days",
    "auto_permille",
    "phantom_lambda_micro",
)


def parse(key: str, row: Row) -> ItemLocation:
    """Return the policy of `key`, with the columns that `OVERLAY` sets, or raise `Rejected`.

    `OVERLAY` has the parameters that this logic revision sets instead of the row's values. The
    limits of a replenishment family are checked only for rows of that family (domain.md 11.8).
    """
    return parse_overlaid(key, row, OVERLAY)


def parse_overlaid(key: str, row: Row, overlay: Overlay) -> ItemLocation:
    """Return the policy of `key`, with the columns that `overlay` sets, or raise `Rejected`."""
    return parse_policy(key, applied(row, overlay))


def parse_policy(key: str, row: Row) -> ItemLocation:
    """Return the policy of `key` as its row states it, or raise `Rejected`."""
    check_origin(row)
    policy = ItemLocation(
        id=integer(row, "id"),
        inv_key=InvKey(key),
        status=choice(row, "status", STATUSES),
        clock_mode=choice(row, "clock_mode", ("live", "replayed"), "live"),
        allocated_units=units(row, "allocated_units", 0),
        reviewed_at_us=optional_integer(row, "reviewed_at"),
        trading_windows=within(row, "trading_windows", 1, 144, 144),
        trading_from_window=within(row, "trading_from_window", 0, 143, 0),
        demand_method=choice(row, "demand_method", ("ewma", "tsb"), "ewma"),
        demand_alpha_permille=within(row, "demand_alpha_permille", 0, ALPHA_MAX, 125),
        initial_rate_micro=_optional_at_least(row, "initial_rate_micro", 0),
        replenish_family=choice(row, "replenish_family", _FAMILY_CODES, OFF.code),
        levels=choice(row, "levels", ("fixed", "computed"), "fixed"),
        reorder_point_units=units(row, "reorder_point_units", 0),
        order_up_to_units=units(row, "order_up_to_units", 0),
        order_quantity_units=units(row, "order_quantity_units", 0),
        lead_time_centidays=at_least(row, "lead_time_centidays", 0, 0),
        lead_time_sd_centidays=at_least(row, "lead_time_sd_centidays", 0, 0),
        review_centidays=at_least(row, "review_centidays", 0, 0),
        cycle_centidays=at_least(row, "cycle_centidays", 0, 0),
        min_cover_centidays=at_least(row, "min_cover_centidays", 0, 0),
        max_cover_centidays=at_least(row, "max_cover_centidays", 0, 0),
        safety_method=choice(row, "safety_method", ("fixed", "days", "service"), "fixed"),
        safety_stock_units=units(row, "safety_stock_units", 0),
        safety_centidays=at_least(row, "safety_centidays", 0, 0),
        service_z_micro=at_least(row, "service_z_micro", 0, 0),
        order_days_mask=within(row, "order_days_mask", 0, 127, 127),
        hysteresis_units=optional_units(row, "hysteresis_units"),
        **_quantity_columns(row),
        **_price_columns(row),
    )
    _check_family(policy)
    return policy


def _quantity_columns(row: Row) -> dict[str, Any]:
    return {
        "supplier": optional_text(row, "supplier"),
        "cost_minor": within(row, "cost_minor", 0, COST_MAX, 0),
        "pack_units": within(row, "pack_units", 1, 1_000_000, 1),
        "pack_rounding": choice(row, "pack_rounding", ("up", "down", "threshold"), "up"),
        "round_up_permille": at_least(row, "round_up_permille", 0, 500),
        "pallet_packs": at_least(row, "pallet_packs", 0, 0),
        "pallet_permille": at_least(row, "pallet_permille", 0, 0),
        "moq_units": units(row, "moq_units", 0),
        "max_order_units": optional_units(row, "max_order_units"),
        "capacity_units": optional_units(row, "capacity_units"),
        "guard_days": at_least(row, "guard_days", 0, 90),
        "auto_max_minor": at_least(row, "auto_max_minor", 0, 0),
    }


def _price_columns(row: Row) -> dict[str, Any]:
    return {
        "price_mode": choice(row, "price_mode", ("off", "advise", "auto"), "off"),
        "regular_minor": optional_price(row, "regular_minor"),
        "margin_permille": within(row, "margin_permille", 0, 999, 0),
        "tax_bp": at_least(row, "tax_bp", 0, 0),
        "ladder_permille": integers(row, "ladder_permille", (100, 200, 300, 500), 0),
        "raise_permille": integers(row, "raise_permille", (50, 100), 0),
        "endings": integers(row, "endings", (), None),
        "max_step_permille": at_least(row, "max_step_permille", 0, 200),
        "max_off_permille": at_least(row, "max_off_permille", 0, 500),
        "cap_permille": at_least(row, "cap_permille", 0, 100),
        "lead_minutes": at_least(row, "lead_minutes", 0, 30),
        "cooldown_hours": at_least(row, "cooldown_hours", 0, 168),
        "no_touch_from_us": optional_integer(row, "no_touch_from"),
        "no_touch_until_us": optional_integer(row, "no_touch_until"),
        "prior_rule": choice(row, "prior_rule", ("plain", "progressive"), "plain"),
        "scarce_enabled": truth(row, "scarce_enabled", default=False),
        "scarce_days": at_least(row, "scarce_days", 0, 3),
        "overstock_days": at_least(row, "overstock_days", 0, 56),
        "idle_days": at_least(row, "idle_days", 0, 21),
        "restore_days": at_least(row, "restore_days", 0, 28),
        "auto_permille": at_least(row, "auto_permille", 0, 0),
        "phantom_lambda_micro": at_least(row, "phantom_lambda_micro", 0, 4_605_170),
    }


def _optional_at_least(row: Row, column: str, low: int) -> int | None:
    return None if row.get(column) is None else at_least(row, column, low)


def _check_family(policy: ItemLocation) -> None:
    family, is_typed = family_of(policy), has_typed_levels(policy)
    up_to, lot = policy.order_up_to_units, policy.order_quantity_units
    if family.shape == LOTS and lot < 1:
        refuse("order_quantity_units", f"at least 1 for {family.code}", lot)
    if family.shape == TWO_LEVELS and is_typed and up_to <= policy.reorder_point_units:
        refuse("order_up_to_units", "above reorder_point_units", up_to)
    if family.shape == BASE_STOCK and is_typed and up_to < 1:
        refuse("order_up_to_units", f"at least 1 for {family.code}", up_to)


_TEXTS: Final = (
    *("status", "clock_mode", "demand_method", "replenish_family", "levels", "safety_method"),
    *("supplier", "pack_rounding", "price_mode", "prior_rule"),
)
_TIMES: Final = ("reviewed_at", "no_touch_from", "no_touch_until")
_LISTS: Final = ("ladder_permille", "raise_permille", "endings")


def _columns() -> Columns:
    """Return the columns in SQL with their types.

    They are the fields of `ItemLocation` in their order, without `id` and `inv_key`. The name of a
    time has no suffix `_us` in SQL.
    """
    kinds = {
        **dict.fromkeys(_TEXTS, TEXT),
        **dict.fromkeys(_TIMES, TIME),
        **dict.fromkeys(_LISTS, BIGINTS),
        "scarce_enabled": BOOLEAN,
    }
    names = [field.name for field in fields(ItemLocation) if field.name not in ("id", "inv_key")]
    columns = [name.removesuffix("_us") for name in names]
    return tuple((name, kinds.get(name, BIGINT)) for name in columns)


TABLE: Final = CapturedTable(name="item_location", columns=_columns(), parse=parse)
