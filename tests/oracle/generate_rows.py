"""Random rows of every captured table: mostly ordinary values, often at an edge."""

from random import Random
from typing import Any

from tests.oracle.arithmetic import DAY, EDGE, HOUR, SECOND, W
from tests.oracle.columns import DEMAND, FAMILIES, PRICE, QUANTITY, REPLENISHMENT

Row = dict[str, Any]
REASONS = (
    "theft",
    "loss",
    "waste",
    "own_use",
    "correction_down",
    "vendor_return",
    "damage",
    "found",
    "correction_up",
    "repair",
    "dispose",
    "vendor_return_damaged",
)


def small(rng: Random) -> int:
    return rng.choice((1, 1, 2, 3, 5, 8, 12, 20, rng.randint(1, 60)))


def maybe(rng: Random, value: Any, chance: float = 0.5) -> Any:
    return value if rng.random() < chance else None


def sale_row(rng: Random, t: int) -> Row:
    units = small(rng) * (-1 if rng.random() < 0.2 else 1)
    row: Row = {
        "source": rng.choice(("till-1", "till-2", "web")),
        "source_ref": str(rng.randrange(10**9)),
        "quantity_units": units,
        "amount_minor": units * rng.choice((0, 99, 999)) * rng.choice((1, 1, 1, -1)),
        "occurred_at": t,
    }
    if rng.random() < 0.8:
        row["condition"] = rng.choice(("resaleable", "resaleable", "damaged", "discarded"))
    return row


def huge_facts(rng: Random, t: int) -> tuple[str, Row]:
    """Return a fact with a value at the end of a column's range."""
    million, far = 1_000_000, rng.choice((-EDGE, EDGE))
    sale = {**sale_row(rng, t), "quantity_units": rng.choice((million, -million, million - 1))}
    sale["amount_minor"] = rng.choice((10**11, -(10**11)))
    facts: tuple[tuple[str, Row], ...] = (
        ("sale_line", sale),
        ("sale_line", sale),
        ("stock_count", {**count_row(rng, t), "units": million}),
        ("stock_adjustment", {**adjustment_row(rng, t), "quantity_units": million}),
        ("purchase_order_line", {**order_row(rng, t, None), "ordered_units": million}),
        ("price_change", {**price_row(rng, t, None, None), "price_minor": 10**9}),
        ("price_change", {**price_row(rng, t, None, None), "effective_from": far}),
    )
    return rng.choice(facts)


def count_row(rng: Random, t: int) -> Row:
    return {
        "units": rng.choice((0, 1, 5, 20, rng.randint(0, 80))),
        "kind": rng.choice(("opening", "cycle", "recount")),
        "status": rng.choice(("approved", "approved", "approved", "draft", "void")),
        "occurred_at": t,
    }


def adjustment_row(rng: Random, t: int) -> Row:
    return {"reason": rng.choice(REASONS), "quantity_units": small(rng), "occurred_at": t}


def order_row(rng: Random, t: int, reorder_id: str | None) -> Row:
    ordered = rng.choice((0, 6, 12, 24, small(rng)))
    confirmed = rng.choice((None, None, ordered, ordered // 2))
    row: Row = {
        "order_ref": f"PO{rng.randrange(99)}",
        "supplier": rng.choice(("ACME", "BOLT")),
        "status": rng.choice(("draft", "sent", "confirmed", "closed")),
        "ordered_units": ordered,
        "ordered_at": t,
        "reorder_id": reorder_id,
    }
    if rng.random() < 0.5:
        row["confirmed_units"] = confirmed
    if rng.random() < 0.3:
        row["cancelled_units"] = rng.randint(0, ordered if confirmed is None else confirmed)
    return row


def shipment_row(rng: Random, t: int, reorder_id: str | None) -> Row:
    leg = rng.choice(("supplier_in", "transfer_out", "transfer_in"))
    row: Row = {"leg": leg, "status": "planned", "planned_units": small(rng)}
    if leg == "transfer_in":
        row["reorder_id"] = reorder_id
    for _ in range(rng.randint(0, 2)):
        row = shipment_onward(rng, row, t)
    return row


def shipment_onward(rng: Random, row: Row, t: int) -> Row:
    """Return the shipment line in its next status, or corrected if it has the last status."""
    row = dict(row)
    if row["status"] == "planned":
        row |= {"status": "shipped", "shipped_units": small(rng), "shipped_at": t}
        if rng.random() < 0.05:
            row["received_at"] = t + HOUR
    elif row["leg"] == "transfer_out":
        row["shipped_units"] = small(rng)
    else:
        got, damaged = rng.choice((row["shipped_units"], small(rng))), rng.choice((0, 0, 0, 1))
        row |= {"status": "received", "received_units": got, "received_at": t}
        row["damaged_units"] = damaged
        if row["leg"] == "supplier_in":
            row["order_units"] = rng.choice((0, got, got + damaged, got // 2))
    return row


def price_row(rng: Random, t: int, old: int | None, proposal: Row | None) -> Row:
    """Return a price change: of the open proposal, scheduled, back-dated, or by hand."""
    price = rng.choice((999, 799, 849, 899, 1049, old or 999, rng.randint(1, 1500)))
    row: Row = {
        "effective_from": t
        + rng.choice((0, 0, W, HOUR, DAY, 3 * DAY, -DAY, -20 * DAY, -40 * DAY, -100 * DAY)),
        "price_minor": price,
        "kind": rng.choice(("initial", "rule", "manual", "emergency", "rollback")),
        "floor_minor": rng.choice((0, 1, price, price // 2)),
    }
    if rng.random() < 0.7:
        row["step"] = rng.choice((0, 0, 0, 0, 0, 1, 2, -1, 4))
    if proposal is not None:
        row |= proposal
        row["floor_minor"] = 0
    elif rng.random() < 0.1:
        row["proposal_id"] = "P:none"
    return row


def decision_row(rng: Random, t: int, name: str, column: str) -> Row:
    actions = ["approve", "reject", "snooze", "snooze"]
    if column == "reorder_id":
        actions += ["resume", "resume"]
    row: Row = {column: name, "action": rng.choice(actions)}
    spans = (0, HOUR, DAY, 2 * DAY, 8 * DAY, 90 * DAY, 200 * DAY, -DAY, SECOND)
    row["until_at"] = maybe(rng, t + rng.choice(spans), 0.7)
    row["reason"] = maybe(rng, rng.choice(("too many", "later", "")))
    return row


def replenishment_columns(rng: Random) -> Row:
    family = rng.choice(FAMILIES[1:])
    point = rng.choice((0, 5, 10, 20, 40))
    row: Row = {
        "replenish_family": family,
        "levels": rng.choice(("fixed", "fixed", "computed")),
        "reorder_point_units": point,
        "order_up_to_units": point + rng.choice((1, 5, 20, 40)),
        "order_quantity_units": rng.choice((1, 6, 24)),
    }
    optional: Row = {
        "lead_time_centidays": rng.choice((0, 100, 500)),
        "lead_time_sd_centidays": rng.choice((0, 100)),
        "review_centidays": rng.choice((0, 100, 700)),
        "cycle_centidays": rng.choice((0, 700)),
        "min_cover_centidays": rng.choice((0, 300, 500)),
        "max_cover_centidays": rng.choice((0, 500, 1200)),
        "safety_method": rng.choice(("fixed", "days", "service")),
        "safety_stock_units": rng.choice((0, 4)),
        "safety_centidays": rng.choice((0, 300)),
        "service_z_micro": rng.choice((0, 841_621, 1_644_854)),
        "order_days_mask": rng.choice((127, 127, 0, 1, 31, 96, rng.randint(0, 127))),
        "hysteresis_units": rng.choice((None, 0, 2, 10)),
    }
    return row | {name: value for name, value in optional.items() if rng.random() < 0.6}


def quantity_columns(rng: Random) -> Row:
    optional: Row = {
        "cost_minor": rng.choice((0, 100, 300, 400, 500, 600, 800, 1200)),
        "pack_units": rng.choice((1, 6, 12)),
        "pack_rounding": rng.choice(("up", "down", "threshold")),
        "round_up_permille": rng.choice((0, 500, 1000, 1200)),
        "pallet_packs": rng.choice((0, 2, 10)),
        "pallet_permille": rng.choice((0, 500, 900)),
        "moq_units": rng.choice((0, 10, 50)),
        "max_order_units": rng.choice((None, 0, 5, 36, 100)),
        "capacity_units": rng.choice((None, None, 30, 60)),
        "guard_days": rng.choice((0, 10, 90)),
        "supplier": rng.choice((None, "ACME")),
    }
    return {name: value for name, value in optional.items() if rng.random() < 0.3}


def demand_columns(rng: Random) -> Row:
    optional: Row = {
        "demand_method": rng.choice(("ewma", "tsb")),
        "demand_alpha_permille": rng.choice((0, 125, 125, 500, 1000, 1000)),
        "initial_rate_micro": rng.choice((None, 0, 1, 500_000, 3_000_001)),
        "trading_windows": rng.choice((144, 72, 1, rng.randint(1, 144))),
        "trading_from_window": rng.choice((0, 48, 130)),
    }
    return {name: value for name, value in optional.items() if rng.random() < 0.5}


def price_columns(rng: Random, t: int) -> Row:
    row: Row = {
        "price_mode": rng.choice(("off", "advise", "advise", "advise", "auto", "auto")),
        "regular_minor": rng.choice((None, 999, 999, 999, 999, 999, 1000, 250)),
    }
    optional: Row = {
        "margin_permille": rng.choice((0, 100, 200, 200, 999)),
        "tax_bp": rng.choice((0, 700, 2000)),
        "ladder_permille": rng.choice(([], [150, 300], [100, 200, 300, 500], [600, 1100])),
        "raise_permille": rng.choice(([], [50, 150], [10])),
        "endings": rng.choice(([], [49, 99], [99], [0, 50], [300])),
        "max_step_permille": rng.choice((0, 50, 200, 300, 1000)),
        "max_off_permille": rng.choice((0, 300, 500, 700, 1200)),
        "cap_permille": rng.choice((0, 100, 300, 500)),
        "lead_minutes": rng.choice((0, 10, 30, 1440)),
        "cooldown_hours": rng.choice((0, 0, 1, 24, 24, 168, 2000)),
        "no_touch_from": rng.choice((None, t, t + 9 * DAY)),
        "no_touch_until": rng.choice((None, t, t + 2 * DAY)),
        "prior_rule": rng.choice(("plain", "progressive")),
        "scarce_enabled": rng.random() < 0.7,
        "scarce_days": rng.choice((0, 3, 30)),
        "overstock_days": rng.choice((1, 5, 20, 56)),
        "idle_days": rng.choice((0, 1, 21)),
        "restore_days": rng.choice((0, 28, 300)),
        "auto_permille": rng.choice((0, 100)),
        "phantom_lambda_micro": rng.choice((0, 4_605_170)),
    }
    return row | {name: value for name, value in optional.items() if rng.random() < 0.4}


def policy_row(rng: Random, t: int, *, priced: bool, mode: str) -> Row:
    row: Row = {"status": rng.choice(("active",) * 16 + ("exit", "inactive"))}
    if mode != "live" or rng.random() < 0.5:
        row["clock_mode"] = mode
    row["allocated_units"] = rng.choice((None, 0, 0, 2, 15))
    row |= demand_columns(rng) | quantity_columns(rng)
    if rng.random() < 0.95:
        row |= replenishment_columns(rng)
    if priced:
        row |= price_columns(rng, t)
    return row


def policy_change(rng: Random, row: Row, t: int) -> Row:
    """Return the policy with a few columns changed or explicitly set to their defaults."""
    fresh = replenishment_columns(rng) | quantity_columns(rng) | demand_columns(rng)
    fresh |= price_columns(rng, t) | {"allocated_units": rng.choice((0, 3, 30))}
    fresh |= {"status": rng.choice(("active", "active", "active", "exit"))}
    groups: list[list[str]] = [
        ["allocated_units"],
        ["allocated_units"],
        ["status"],
        [*DEMAND],
        [*QUANTITY],
        [*PRICE],
        ["price_mode"],
        ["cost_minor"],
        ["trading_windows"],
        ["phantom_lambda_micro"],
        [],
        ["max_order_units"],
        ["capacity_units"],
        ["cooldown_hours"],
    ]
    changed = dict(row)
    chosen = rng.choice(groups)
    if rng.random() < 0.2:
        chosen = [*REPLENISHMENT]
    if row.get("replenish_family", "off") != "off":
        fresh["replenish_family"] = rng.choice((fresh["replenish_family"],) * 4 + ("off",))
    return changed | {name: fresh[name] for name in chosen if name in fresh}
