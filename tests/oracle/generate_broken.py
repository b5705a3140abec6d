"""Records that a partition refuses or skips. Each kind has one function."""

from random import Random
from typing import Any

from tests.oracle.arithmetic import YEAR_2000

Row = dict[str, Any]
Record = dict[str, Any]
LIMITS: dict[str, dict[str, tuple[Any, ...]]] = {
    "sale_line": {
        "quantity_units": (0, 1_000_001, -1_000_001, "3", 1.0, True, None),
        "amount_minor": (10**11 + 1, -(10**11) - 1, None),
        "condition": ("broken", 1),
        "occurred_at": (None, YEAR_2000 - 1, "2026-01-01"),
        "recorded_at": (None, YEAR_2000 - 1),
        "source": (None, 5),
        "source_ref": (None,),
    },
    "stock_count": {
        "units": (-1, 1_000_001, None),
        "kind": ("odd", None),
        "status": ("odd", None),
        "occurred_at": (None, YEAR_2000 - 1),
    },
    "stock_adjustment": {
        "quantity_units": (0, -1, 1_000_001),
        "reason": ("magic", None),
        "occurred_at": (None,),
    },
    "purchase_order_line": {
        "ordered_units": (-1, 1_000_001, None),
        "cancelled_units": (1_000_000, -1),
        "confirmed_units": (-1,),
        "status": ("gone", None),
        "supplier": (None,),
        "order_ref": (None,),
        "ordered_at": (None,),
        "reorder_id": (7,),
    },
    "shipment_line": {
        "status": ("gone", None),
        "leg": ("sideways", None),
        "shipped_units": (-1, 1_000_001),
        "received_units": (-1, 1_000_001),
        "order_units": (1_000_000, -1),
        "planned_units": (-1,),
        "damaged_units": (-1,),
    },
    "price_change": {
        "price_minor": (0, 10**9 + 1, None),
        "floor_minor": (2 * 10**9, -1, None),
        "kind": ("odd", None),
        "effective_from": (None, 2**53, -(2**53), 2**60),
        "step": ("1",),
    },
    "reorder_decision": {"action": ("shout", None), "reorder_id": (None, 3), "until_at": ("x",)},
    "price_decision": {"action": ("resume", None), "proposal_id": (None,)},
    "item_location": {
        "status": ("asleep", None),
        "clock_mode": ("fast",),
        "allocated_units": (-1, 1_000_001),
        "trading_windows": (0, 145),
        "trading_from_window": (-1, 144),
        "pack_units": (0,),
        "margin_permille": (-1, 1000),
        "order_days_mask": (-1, 128),
        "cost_minor": (-1, 10**9 + 1),
        "regular_minor": (0, 10**9 + 1),
        "ladder_permille": ([-1], "x", [1, "2"]),
        "scarce_enabled": (1, "yes"),
        "lead_minutes": (-1,),
        "cooldown_hours": (-1,),
        "lead_time_centidays": (-1,),
        "initial_rate_micro": (-1,),
        "guard_days": (-1,),
        "hysteresis_units": (-1,),
        "moq_units": (-1,),
        "max_order_units": (-1,),
        "tax_bp": (-1,),
        "demand_alpha_permille": (-1, 1001, 2500),
        "auto_max_minor": (-1,),
        "phantom_lambda_micro": (-1,),
        "service_z_micro": (-1,),
        "pallet_packs": (-1,),
        "replenish_family": ("guess",),
        "pack_rounding": ("sideways",),
        "prior_rule": ("odd",),
        "demand_method": ("arima",),
        "reviewed_at": ("now",),
        "order_up_to_units": (-1, 1_000_001),
    },
}


def break_limit(rng: Random, table: str, row: Row) -> Row:
    """Return the row with one column, or a combination, that violates a limit."""
    columns = LIMITS[table]
    name = rng.choice(sorted(columns))
    return {**row, name: rng.choice(columns[name])}


def break_shipment(rng: Random, row: Row) -> Row:
    combinations: tuple[Row, ...] = (
        {"leg": "transfer_out", "status": "received"},
        {"status": "planned", "shipped_units": 3},
        {"status": "shipped", "shipped_at": None},
        {"status": "received", "received_at": None},
        {"status": "shipped", "received_units": 2},
        {"status": "planned", "damaged_units": 1},
    )
    return {**row, **rng.choice(combinations)}


def break_policy(rng: Random, row: Row) -> Row:
    combinations: tuple[Row, ...] = (
        {"replenish_family": "sQ", "order_quantity_units": 0},
        {"replenish_family": "sS", "levels": "fixed", "order_up_to_units": 0},
        {"replenish_family": "par", "levels": "computed", "order_up_to_units": 0},
        {"replenish_family": "RS", "levels": "fixed", "order_up_to_units": 0},
        {
            "replenish_family": "cover",
            "levels": "fixed",
            "order_up_to_units": 9,
            "reorder_point_units": 9,
        },
    )
    return {**row, **rng.choice(combinations)}


def overflow_policy(rng: Random, row: Row) -> Row:
    """Return a valid policy that brings a computed number to or beyond the end of its range."""
    big = rng.choice((2**53 - 1, 2**53, 2**60, 10**14))
    computed = {"replenish_family": "RS", "levels": "computed", "safety_method": "service"}
    combinations: tuple[Row, ...] = (
        {"initial_rate_micro": big},
        {"lead_time_centidays": big},
        {**computed, "initial_rate_micro": 10**9, "review_centidays": 10**14},
        {
            **computed,
            "initial_rate_micro": 10**9,
            "service_z_micro": 10**15,
            "lead_time_centidays": 9,
        },
        {"cooldown_hours": big},
        {"lead_minutes": big},
        {"reviewed_at": max(big, 2**53)},
        {"ladder_permille": [big]},
        {"cost_minor": 10**9, "margin_permille": 999, "tax_bp": big},
        {"regular_minor": 10**9, "raise_permille": [big], "cap_permille": big},
    )
    return {**row, **rng.choice(combinations)}


def break_record(rng: Random, record: Record, other_key: str) -> Record:
    """Return the record with one change of its form, which the partition refuses in most cases."""
    image = "after" if record["after"] is not None else "before"
    row = record[image]
    other = "before" if image == "after" else "after"
    bare = {n: v for n, v in row.items() if n not in ("inv_key", "location", "sku")}
    bad_keys = ("l|S", "L|", "LS", "L| S", "L|S|S", "|S", "L|" + "S" * 33, "L|a\u0007")
    changes: tuple[Record, ...] = (
        {"table": rng.choice(("supplier", "stock_counts", "debezium_signal"))},
        {"op": rng.choice(("m", "x", "C"))},
        {"op": "t", "before": None, "after": None},
        {rng.choice(("before", "after")): None},
        {"key": other_key, image: {**row, "inv_key": "NOWHERE|X"}},
        {image: {**row, rng.choice(("location", "sku", "inv_key")): "ELSE"}},
        {image: {**row, "id": rng.choice(("1", None, True, 1.0))}},
        {"key": rng.choice(bad_keys), image: bare},
        # An image that the operation doesn't use is ignored.
        {other: {**row, "sku": rng.choice(("ELSE", row.get("sku")))}},
        {"op": "u", "before": row, "after": {**row, "id": -1}},
    )
    return record | rng.choice(changes)
