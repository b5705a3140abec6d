"""The columns of docs/domain.md 2.6 with their defaults, and the limits of single columns."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.oracle.arithmetic import EDGE, SECOND, YEAR_2000

Row = dict[str, Any]
MILLION = 1_000_000


class Limit(Exception):
    """A column violates a limit; the argument names the column."""


class Column(NamedTuple):
    """Values that one column accepts. `low` and `high` are inclusive; None means no limit."""

    kind: str
    default: Any = None
    required: bool = False
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()


def text(*choices: str, default: str | None = None, required: bool = True) -> Column:
    return Column("text", default, required and default is None, choices=choices)


def number(
    low: int | None = None,
    high: int | None = None,
    default: int | None = None,
    *,
    null: bool = False,
) -> Column:
    return Column("int", default, default is None and not null, low, high)


def units(default: int | None = None, *, null: bool = False, low: int = 0) -> Column:
    return number(low, MILLION, default, null=null)


def at_least_0(default: int | None = None, *, null: bool = False) -> Column:
    return number(0, None, default, null=null)


NULL_TEXT = text(required=False)
NULL_TIME = number(null=True)
TIME = number()

FAMILIES = (
    "off",
    "sQ",
    "sS",
    "RS",
    "RsS",
    "par",
    "cover",
)
# Families by the limit of their typed levels (11.8), and families that wait for order days (5.1).
LOTS = ("sQ",)
TWO_LEVELS = ("sS", "RsS", "cover")
BASE_STOCK = ("RS", "par")
ALWAYS_TYPED = ("par",)
PERIODIC = ("RS", "RsS")
DEMAND = {
    "demand_method": text("ewma", "tsb", default="ewma"),
    "demand_alpha_permille": number(0, 1000, 125),
    "initial_rate_micro": at_least_0(null=True),
}
REPLENISHMENT = {
    "replenish_family": text(*FAMILIES, default="off"),
    "levels": text("fixed", "computed", default="fixed"),
    "reorder_point_units": units(0),
    "order_up_to_units": units(0),
    "order_quantity_units": units(0),
    "lead_time_centidays": at_least_0(0),
    "lead_time_sd_centidays": at_least_0(0),
    "review_centidays": at_least_0(0),
    "cycle_centidays": at_least_0(0),
    "min_cover_centidays": at_least_0(0),
    "max_cover_centidays": at_least_0(0),
    "safety_method": text("fixed", "days", "service", default="fixed"),
    "safety_stock_units": units(0),
    "safety_centidays": at_least_0(0),
    "service_z_micro": at_least_0(0),
    "order_days_mask": number(0, 127, 127),
    "hysteresis_units": units(null=True),
}
QUANTITY = {
    "supplier": NULL_TEXT,
    "cost_minor": number(0, 10**9, 0),
    "pack_units": units(1, low=1),
    "pack_rounding": text("up", "down", "threshold", default="up"),
    "round_up_permille": at_least_0(500),
    "pallet_packs": at_least_0(0),
    "pallet_permille": at_least_0(0),
    "moq_units": units(0),
    "max_order_units": units(null=True),
    "capacity_units": units(null=True),
    "guard_days": at_least_0(90),
    "auto_max_minor": at_least_0(0),
}
PRICE = {
    "price_mode": text("off", "advise", "auto", default="off"),
    "regular_minor": number(1, 10**9, null=True),
    "margin_permille": number(0, 999, 0),
    "tax_bp": at_least_0(0),
    "ladder_permille": Column("list", [100, 200, 300, 500], low=0),
    "raise_permille": Column("list", [50, 100], low=0),
    "endings": Column("list", []),
    "max_step_permille": at_least_0(200),
    "max_off_permille": at_least_0(500),
    "cap_permille": at_least_0(100),
    "lead_minutes": at_least_0(30),
    "cooldown_hours": at_least_0(168),
    "no_touch_from": NULL_TIME,
    "no_touch_until": NULL_TIME,
    "prior_rule": text("plain", "progressive", default="plain"),
    "scarce_enabled": Column("bool", default=False),
    "scarce_days": at_least_0(3),
    "overstock_days": at_least_0(56),
    "idle_days": at_least_0(21),
    "restore_days": at_least_0(28),
    "auto_permille": at_least_0(0),
    "phantom_lambda_micro": at_least_0(4_605_170),
}
POLICY = {
    "status": text("active", "exit", "inactive"),
    "clock_mode": text("live", "replayed", default="live"),
    "allocated_units": units(0),
    "reviewed_at": NULL_TIME,
    "trading_windows": number(1, 144, 144),
    "trading_from_window": number(0, 143, 0),
    **DEMAND,
    **REPLENISHMENT,
    **QUANTITY,
    **PRICE,
}
REASONS_DOWN = ("theft", "loss", "waste", "own_use", "correction_down", "vendor_return", "damage")
REASONS_UP = ("found", "correction_up", "repair")
REASONS_NONE = ("dispose", "vendor_return_damaged")

TABLES: dict[str, dict[str, Column]] = {
    "sale_line": {
        "source": text(),
        "source_ref": text(),
        "quantity_units": number(-MILLION, MILLION),
        "amount_minor": number(-(10**11), 10**11),
        "condition": text("resaleable", "damaged", "discarded", default="resaleable"),
        "occurred_at": TIME,
    },
    "purchase_order_line": {
        "order_ref": text(),
        "reorder_id": NULL_TEXT,
        "supplier": text(),
        "status": text("draft", "sent", "confirmed", "closed"),
        "ordered_units": units(),
        "confirmed_units": units(null=True),
        "cancelled_units": units(0),
        "ordered_at": TIME,
    },
    "shipment_line": {
        "leg": text("supplier_in", "transfer_out", "transfer_in"),
        "status": text("planned", "shipped", "received"),
        "purchase_order_line_id": number(null=True),
        "transfer_ref": NULL_TEXT,
        "reorder_id": NULL_TEXT,
        "planned_units": units(0),
        "shipped_units": units(0),
        "received_units": units(0),
        "damaged_units": units(0),
        "order_units": units(0),
        "shipped_at": NULL_TIME,
        "received_at": NULL_TIME,
        "discrepancy_reason": NULL_TEXT,
    },
    "stock_count": {
        "units": units(),
        "kind": text("opening", "cycle", "recount"),
        "status": text("draft", "approved", "void"),
        "occurred_at": TIME,
    },
    "stock_adjustment": {
        "reason": text(*REASONS_DOWN, *REASONS_UP, *REASONS_NONE),
        "quantity_units": units(low=1),
        "occurred_at": TIME,
    },
    "price_change": {
        "effective_from": number(-EDGE, EDGE),
        "price_minor": number(1, 10**9),
        "step": number(-(2**31), 2**31 - 1, default=0),  # the only `int`, others are `bigint`
        "kind": text("initial", "rule", "manual", "emergency", "rollback"),
        "proposal_id": NULL_TEXT,
        "floor_minor": at_least_0(),
    },
    "reorder_decision": {
        "reorder_id": text(),
        "action": text("approve", "reject", "snooze", "resume"),
        "until_at": NULL_TIME,
        "reason": NULL_TEXT,
        "need_revision": number(null=True),
    },
    "price_decision": {
        "proposal_id": text(),
        "action": text("approve", "reject", "snooze"),
        "until_at": NULL_TIME,
        "reason": NULL_TEXT,
        "price_revision": number(null=True),
    },
    "pipeline_heartbeat": {
        "beat": number(-EDGE, EDGE, null=True),
        "occurred_at": NULL_TIME,
    },
    "item_location": POLICY,
}
# `recorded_at` is required only where a business time is computed from it (11.8).
COMMON = {"recorded_at": NULL_TIME, "recorded_by": NULL_TEXT}


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _right_type(column: Column, value: object) -> bool:
    if column.kind == "text":
        return isinstance(value, str) and "\0" not in value
    if column.kind == "bool":
        return isinstance(value, bool)
    if column.kind == "list":
        return isinstance(value, list) and all(_is_int(item) for item in value)
    return _is_int(value)


def _in_range(column: Column, value: int) -> bool:
    if column.low is not None and value < column.low:
        return False
    return column.high is None or value <= column.high


def read_column(name: str, column: Column, raw: Mapping[str, Any]) -> Any:
    """Return the column's value, its default if absent or null. Raise Limit if it isn't allowed."""
    value = raw.get(name)
    if value is None:
        if column.required:
            raise Limit(name)
        return column.default
    if not _right_type(column, value):
        raise Limit(name)
    if column.choices and value not in column.choices:
        message = f"{name}: {value!r} is none of {', '.join(column.choices)}"
        raise Limit(message)
    numbers = value if column.kind == "list" else [value] if column.kind == "int" else []
    if not all(_in_range(column, item) for item in numbers):
        raise Limit(name)
    return value


def read_row(table: str, raw: Mapping[str, Any]) -> Row:
    """Return a complete image with its defaults, without columns that the rules don't know."""
    columns = {**COMMON, **TABLES[table]}
    row = {name: read_column(name, column, raw) for name, column in columns.items()}
    row["id"] = raw["id"]
    return row


def business_times(table: str, row: Row) -> list[int]:
    """Return the business times of an image (2.1, 11.3): full seconds, at most `recorded_at`."""
    names = {
        "sale_line": ("occurred_at",),
        "stock_count": ("occurred_at",),
        "stock_adjustment": ("occurred_at",),
        "shipment_line": ("shipped_at", "received_at"),
    }.get(table, ())
    return [business_time(row, name) for name in names if row[name] is not None]


def business_time(row: Row, name: str) -> int:
    if row["recorded_at"] is None:
        raise Limit(name)
    earlier: int = min(row[name], row["recorded_at"])
    return earlier - earlier % SECOND


def is_after_2000(times: list[int]) -> bool:
    return all(t >= YEAR_2000 for t in times)
