"""Limits of docs/domain.md 0, 2.6 and 11.8 as data: a column with its lowest and highest value."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from inventory.replenishment.families import BASE_STOCK, FAMILIES, LOTS, TWO_LEVELS, Family
from tests.ledger.rows import NOON
from tests.ledger.test_constraints import ACCEPTED, REFUSED

MILLION = 1_000_000
BILLION = 1_000_000_000
HUNDRED_BILLION = 100_000_000_000
MOST = 9_007_199_254_740_991
Y2K = datetime(2000, 1, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)


class Limit(NamedTuple):
    """Column with the last valid value on each side, and the other columns that the row needs."""

    table: str
    column: str
    low: Any
    high: Any
    also: dict[str, Any] = {}  # noqa: RUF012 -- never changed


def units(table: str, column: str, **also: Any) -> Limit:
    return Limit(table, column, 0, MILLION, also)


def free(column: str) -> Limit:
    """Return the limit of a column of `item_location` that may have any value from 0 on."""
    return Limit("item_location", column, 0, MOST)


def of_family(family: Family) -> Iterator[Limit]:
    """Yield the limits of a family, for typed and for computed levels."""
    chosen = {"replenish_family": family.code}
    computed = chosen | {"levels": "computed"}
    always = () if family.computed else (computed,)
    if family.shape == LOTS:
        for also in (chosen, computed):
            yield Limit("item_location", "order_quantity_units", 1, MILLION, also)
    if family.shape == TWO_LEVELS:
        for also in (chosen, *always):
            yield Limit(
                "item_location", "order_up_to_units", 6, MILLION, also | {"reorder_point_units": 5}
            )
    if family.shape == BASE_STOCK:
        for also in (chosen, *always):
            yield Limit("item_location", "order_up_to_units", 1, MILLION, also)
    if family.computed and family.shape != LOTS:
        yield Limit("item_location", "order_up_to_units", 0, MILLION, computed)


RECEIVED = {"received_units": 0, "order_units": 0}
LIMITS = [
    Limit("sale_line", "quantity_units", -MILLION, MILLION, {"condition": "damaged"}),
    Limit("sale_line", "amount_minor", -HUNDRED_BILLION, HUNDRED_BILLION),
    units("purchase_order_line", "ordered_units"),
    units("purchase_order_line", "confirmed_units"),
    units("purchase_order_line", "cancelled_units", ordered_units=MILLION),
    Limit("purchase_order_line", "cancelled_units", 0, 10),
    Limit("purchase_order_line", "cancelled_units", 0, 4, {"confirmed_units": 4}),
    units("shipment_line", "planned_units"),
    units("shipment_line", "shipped_units"),
    units("shipment_line", "received_units", order_units=0),
    units("shipment_line", "damaged_units"),
    units("shipment_line", "order_units", received_units=MILLION),
    Limit("shipment_line", "order_units", 0, 7, {"received_units": 5, "damaged_units": 2}),
    Limit("shipment_line", "shipped_units", 0, 0, {"status": "planned"} | RECEIVED),
    Limit(
        "shipment_line",
        "received_units",
        0,
        0,
        {"leg": "transfer_in", "status": "shipped", "shipped_at": NOON, "order_units": 0},
    ),
    Limit("shipment_line", "damaged_units", 0, 0, {"status": "planned"} | RECEIVED),
    units("stock_count", "units"),
    Limit("stock_adjustment", "quantity_units", 1, MILLION),
    Limit("price_change", "price_minor", 1, BILLION, {"floor_minor": 0}),
    Limit("price_change", "price_minor", 750, BILLION),
    units("item_location", "allocated_units"),
    Limit("item_location", "trading_windows", 1, 144),
    Limit("item_location", "trading_from_window", 0, 143),
    Limit("item_location", "demand_alpha_permille", 0, 1000),
    free("initial_rate_micro"),
    units("item_location", "reorder_point_units"),
    units("item_location", "order_up_to_units"),
    units("item_location", "order_quantity_units"),
    *(limit for family in FAMILIES.values() for limit in of_family(family)),
    free("lead_time_centidays"),
    free("lead_time_sd_centidays"),
    free("review_centidays"),
    free("cycle_centidays"),
    free("min_cover_centidays"),
    free("max_cover_centidays"),
    units("item_location", "safety_stock_units"),
    free("safety_centidays"),
    free("service_z_micro"),
    Limit("item_location", "order_days_mask", 0, 127),
    units("item_location", "hysteresis_units"),
    Limit("item_location", "cost_minor", 0, BILLION),
    Limit("item_location", "pack_units", 1, MILLION),
    free("round_up_permille"),
    free("pallet_packs"),
    free("pallet_permille"),
    units("item_location", "moq_units"),
    units("item_location", "max_order_units"),
    units("item_location", "capacity_units"),
    free("guard_days"),
    free("auto_max_minor"),
    Limit("item_location", "regular_minor", 1, BILLION),
    Limit("item_location", "margin_permille", 0, 999),
    free("tax_bp"),
    free("max_step_permille"),
    free("max_off_permille"),
    free("cap_permille"),
    free("lead_minutes"),
    free("cooldown_hours"),
    free("scarce_days"),
    free("overstock_days"),
    free("idle_days"),
    free("restore_days"),
    free("auto_permille"),
    free("phantom_lambda_micro"),
]

CHOICES = {
    ("sale_line", "condition"): ("resaleable", "damaged", "discarded"),
    ("purchase_order_line", "status"): ("draft", "sent", "confirmed", "closed"),
    ("shipment_line", "leg"): ("supplier_in", "transfer_in"),
    ("stock_count", "kind"): ("opening", "cycle", "recount"),
    ("stock_count", "status"): ("draft", "approved", "void"),
    ("stock_adjustment", "reason"): (
        *("theft", "loss", "waste", "own_use", "correction_down", "vendor_return", "damage"),
        *("found", "correction_up", "repair", "dispose", "vendor_return_damaged"),
    ),
    ("price_change", "kind"): ("initial", "rule", "manual", "emergency", "rollback"),
    ("reorder_decision", "action"): ("approve", "reject", "snooze", "resume"),
    ("price_decision", "action"): ("approve", "reject", "snooze"),
    ("item_location", "status"): ("active", "exit", "inactive"),
    ("item_location", "clock_mode"): ("live", "replayed"),
    ("item_location", "demand_method"): ("ewma", "tsb"),
    ("item_location", "replenish_family"): ("off",),  # limits of other families: `of_family`
    ("item_location", "levels"): ("fixed", "computed"),
    ("item_location", "safety_method"): ("fixed", "days", "service"),
    ("item_location", "pack_rounding"): ("up", "down", "threshold"),
    ("item_location", "price_mode"): ("off", "advise", "auto"),
    ("item_location", "prior_rule"): ("plain", "progressive"),
}

TIMES = [
    ("sale_line", "occurred_at"),
    ("stock_count", "occurred_at"),
    ("stock_adjustment", "occurred_at"),
    ("shipment_line", "shipped_at"),
    ("shipment_line", "received_at"),
]

REQUIRED = [
    *(("sale_line", c) for c in ("source", "source_ref", "quantity_units", "amount_minor")),
    ("sale_line", "occurred_at"),
    *(("purchase_order_line", c) for c in ("order_ref", "supplier", "status", "ordered_units")),
    ("purchase_order_line", "ordered_at"),
    *(("shipment_line", c) for c in ("leg", "status")),
    *(("stock_count", c) for c in ("units", "kind", "status", "occurred_at")),
    *(("stock_adjustment", c) for c in ("reason", "quantity_units", "occurred_at")),
    *(("price_change", c) for c in ("effective_from", "price_minor", "kind", "floor_minor")),
    *(("reorder_decision", c) for c in ("reorder_id", "action")),
    *(("price_decision", c) for c in ("proposal_id", "action")),
    ("item_location", "status"),
]


class Case(NamedTuple):
    """One value of one column, with True if it is within the limit."""

    table: str
    changes: dict[str, Any]
    is_good: bool


def cases() -> list[Case]:
    found: list[Case] = []
    for limit in LIMITS:
        values = ((limit.low, True), (limit.high, True), (limit.low - 1, False))
        for value, is_good in (*values, (limit.high + 1, False)):
            found.append(Case(limit.table, {**limit.also, limit.column: value}, is_good))
    for (table, column), allowed in CHOICES.items():
        found += [Case(table, {column: choice}, is_good=True) for choice in allowed]
        found += [Case(table, {column: wrong}, is_good=False) for wrong in ("nonsense", "")]
    for table, column in TIMES:
        found += [Case(table, {column: Y2K}, is_good=True)]
        found += [Case(table, {column: Y2K - TICK}, is_good=False)]
    found += [Case(table, changes, is_good=True) for table, changes in ACCEPTED]
    found += [Case(table, changes, is_good=False) for table, changes in REFUSED]
    found += [Case("sale_line", {"quantity_units": 0}, is_good=False)]
    return found


CASES = cases()
# Values that SQL refuses and the fold accepts, because no rule reads them.
STRICTER = [
    ("sale_line", {"occurred_at": "infinity"}),
    ("item_location", {"endings": [100]}),
    ("pipeline_heartbeat", {"location": "L"}),
]
