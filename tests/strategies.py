"""Hypothesis strategies: policies, facts with their later changes, and complete histories."""

from functools import lru_cache
from typing import Any, NamedTuple

from hypothesis import strategies as st

from inventory.model.arithmetic import DAY_US, HOUR_US, MINUTE_US
from inventory.model.policy import ItemLocation
from inventory.model.record import Record
from inventory.replenishment import families
from inventory.tables.sale_line import CONDITIONS
from inventory.tables.stock_adjustment import REASONS as ADJUSTMENT_REASONS
from inventory.tables.stock_count import KINDS as COUNT_KINDS
from inventory.tables.stock_count import STATUSES as COUNT_STATUSES
from tests.inventory.builders import (
    KEY,
    MONDAY_US,
    Row,
    adjustment,
    count,
    order_line,
    price,
    sale,
    shipment,
)
from tests.inventory.decision_inputs import NOW_US, policy
from tests.oracle.generate import written

FAMILIES = [*families.FAMILIES]
ON_EVERY_RECORD = [
    code
    for code, family in families.FAMILIES.items()
    if family.shape != families.NO_SHAPE and not family.is_periodic
]
PERMILLE = st.integers(0, 1000)
LATER_US = st.one_of(
    st.just(0),
    st.just(1),
    st.integers(0, 9).map(lambda hours: hours * HOUR_US),
    st.integers(0, 5).map(lambda days: days * DAY_US),
)


def units(most: int) -> st.SearchStrategy[int]:
    return st.integers(0, most)


def permilles(most: int, size: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(0, most), max_size=size).map(tuple)


REPLENISHMENT: dict[str, st.SearchStrategy[Any]] = {
    "status": st.sampled_from(["active", "active", "active", "active", "exit"]),
    "replenish_family": st.sampled_from(FAMILIES),
    "levels": st.sampled_from(["fixed", "computed"]),
    "order_quantity_units": st.integers(1, 30),
    "lead_time_centidays": units(900),
    "lead_time_sd_centidays": units(300),
    "review_centidays": units(700),
    "cycle_centidays": units(900),
    "min_cover_centidays": units(900),
    "max_cover_centidays": units(1200),
    "safety_method": st.sampled_from(["fixed", "days", "service"]),
    "safety_stock_units": units(9),
    "safety_centidays": units(300),
    "service_z_micro": units(3_000_000),
    "order_days_mask": units(127),
    "hysteresis_units": st.none() | units(5),
    "initial_rate_micro": st.none() | units(9_000_000),
}
QUANTITY: dict[str, st.SearchStrategy[Any]] = {
    "pack_units": st.integers(1, 12),
    "pack_rounding": st.sampled_from(["up", "down", "threshold"]),
    "round_up_permille": PERMILLE,
    "pallet_packs": units(4),
    "pallet_permille": PERMILLE,
    "moq_units": units(30),
    "max_order_units": st.none() | units(90),
    "capacity_units": st.none() | units(120),
    "guard_days": units(90),
}
PRICE: dict[str, st.SearchStrategy[Any]] = {
    "price_mode": st.sampled_from(["off", "advise", "advise", "auto", "auto"]),
    "regular_minor": st.integers(1, 1500) | st.none(),
    "cost_minor": units(900),
    "margin_permille": units(500),
    "tax_bp": units(2500),
    "ladder_permille": permilles(900, 4),
    "raise_permille": permilles(200, 3),
    "endings": st.lists(units(99), max_size=3).map(tuple),
    "max_step_permille": units(600),
    "max_off_permille": units(900),
    "cap_permille": units(300),
    "lead_minutes": units(90),
    "cooldown_hours": units(200),
    "no_touch_from_us": st.none() | units(30).map(lambda days: NOW_US + days * DAY_US),
    "no_touch_until_us": st.none() | units(9).map(lambda days: NOW_US + days * DAY_US),
    "prior_rule": st.sampled_from(["plain", "progressive"]),
    "scarce_enabled": st.booleans(),
    "trading_windows": st.integers(1, 144),
}


@st.composite
def ranged_items(draw: st.DrawFn) -> ItemLocation:
    """Draw an item whose typed levels are within the limits of domain.md 11.8."""
    columns = {name: draw(values) for name, values in (REPLENISHMENT | QUANTITY | PRICE).items()}
    reorder_point = draw(units(40))
    order_up_to = reorder_point + draw(st.integers(1, 60))
    return policy(reorder_point_units=reorder_point, order_up_to_units=order_up_to, **columns)


@st.composite
def quantity_policies(draw: st.DrawFn) -> ItemLocation:
    """Draw policies that order on every record, with any rounding, minimum and limit."""
    reorder_point = draw(units(200))
    return policy(
        replenish_family=draw(st.sampled_from(ON_EVERY_RECORD)),
        reorder_point_units=reorder_point,
        order_up_to_units=reorder_point + draw(st.integers(1, 200)),
        order_quantity_units=draw(st.integers(1, 60)),
        pack_units=draw(st.integers(1, 12)),
        pack_rounding=draw(st.sampled_from(["up", "down", "threshold"])),
        round_up_permille=draw(PERMILLE),
        pallet_packs=draw(units(4)),
        pallet_permille=draw(st.sampled_from([0, 500, 900])),
        moq_units=draw(units(80)),
        max_order_units=draw(st.none() | units(300)),
        capacity_units=draw(st.none() | units(500)),
    )


class RowChange(NamedTuple):
    """One change of one row, before it has an offset in a log."""

    table: str
    op: str
    before: Row | None
    after: Row | None

    @property
    def row(self) -> tuple[str, int]:
        """Return the table and the id of the row."""
        image = self.after if self.after is not None else self.before
        return self.table, image["id"] if image is not None else 0


RECORDED_US = MONDAY_US + 3 * DAY_US
KINDS = (
    "sale", "sale", "sale", "sale", "count", "count", "count", "count", "adjustment", "order",
    "supplier_in", "transfer_out", "transfer_in", "price",
)  # fmt: skip


@st.composite
def images(draw: st.DrawFn, kind: str, row_id: int, days: int) -> tuple[str, Row]:
    """Draw a table name and a valid row of it. The row's time lies in the first `days` days.

    With 0 days, the time is Monday 10:00, Monday 10:01 or Wednesday 10:00.
    """
    # With three times only, facts often share a second or a window. Two times are on the first
    # day and one is on the third, so a log may fold the first day and retain the third.
    minutes = units(days * 144 * 10 - 1) if days else st.sampled_from([600, 601, 600 + 2 * 1440])
    when = MONDAY_US + draw(minutes) * MINUTE_US
    quantity = draw(st.integers(1, 9))
    match kind:
        case "sale":
            signed = draw(st.sampled_from([quantity, quantity, -quantity]))
            condition = draw(st.sampled_from(CONDITIONS))
            row = sale(row_id, signed, when, amount=signed * 999, condition=condition)
            return "sale_line", row
        case "count":
            stage, status = draw(st.sampled_from(COUNT_KINDS)), draw(st.sampled_from(STATUSES))
            return "stock_count", count(row_id, quantity, when, kind=stage, status=status)
        case "adjustment":
            reason = draw(st.sampled_from(ADJUSTMENT_REASONS))
            return "stock_adjustment", adjustment(row_id, reason, quantity, when)
        case "order":
            cancelled = draw(units(quantity))
            return "purchase_order_line", order_line(row_id, quantity, cancelled_units=cancelled)
        case "price":
            return "price_change", price(row_id, 900 + quantity, when, step=draw(st.integers(0, 1)))
        case _:
            return "shipment_line", draw(shipments(kind, row_id, when))


STATUSES = (*COUNT_STATUSES, *["approved"] * 4)


@st.composite
def shipments(draw: st.DrawFn, leg: str, row_id: int, when: int) -> Row:
    """Draw a shipment leg in any status."""
    stages = ["planned", "shipped"] if leg == "transfer_out" else ["planned", "shipped", "received"]
    stage, shipped = draw(st.sampled_from(stages)), draw(st.integers(1, 9))
    if stage == "planned":
        return shipment(row_id, leg, stage, planned_units=shipped)
    times: Row = {"shipped_units": shipped, "shipped_at": when}
    if stage == "shipped":
        return shipment(row_id, leg, stage, **times)
    got, damaged = draw(units(9)), draw(units(2))
    settled = draw(units(got + damaged)) if leg == "supplier_in" else 0
    arrived = {"received_units": got, "damaged_units": damaged, "order_units": settled}
    return shipment(row_id, leg, stage, received_at=when, **times, **arrived)


@st.composite
def row_changes(draw: st.DrawFn, size: int = 25, days: int = 3) -> list[RowChange]:
    """Draw inserts of rows, and later updates and deletes of some of these rows."""
    live: dict[int, tuple[str, str, Row]] = {}
    found: list[RowChange] = []
    days = draw(st.sampled_from([0, 0, days]))
    for row_id in range(1, draw(st.integers(3, size)) + 1):
        again = draw(st.sampled_from(["new", "new", "new", "update", "delete"]))
        changeable = [one for one, (kind, _, _) in live.items() if kind != "price"]
        if again == "new" or not changeable:
            kind = draw(st.sampled_from(KINDS))
            table, row = draw(images(kind, row_id, days))
            row["recorded_at"] = RECORDED_US
            live[row_id] = (kind, table, row)
            found.append(RowChange(table, "c", None, row))
            continue
        chosen = draw(st.sampled_from(changeable))
        kind, table, before = live.pop(chosen)
        if again == "delete":
            found.append(RowChange(table, "d", before, None))
            continue
        _, after = draw(images(kind, chosen, days))
        after["recorded_at"] = RECORDED_US
        live[chosen] = (kind, table, after)
        found.append(RowChange(table, "u", before, after))
    return found


def log_of(
    changes: list[RowChange], *, gap_us: int = 0, key: str = KEY, first: int = 0, step: int = 1
) -> list[Record]:
    """Return the changes as records with offsets `first`, `first` + `step` and so on.

    The first commit time is the start of the fourth day. Each later one is `gap_us` after the one
    before.
    """
    return [
        Record(
            first + step * place,
            key,
            change.table,
            change.op,
            change.before,
            change.after,
            1000 + first + step * place,
            RECORDED_US + place * gap_us,
        )
        for place, change in enumerate(changes)
    ]


def histories(longest: int = 40, focus: str | None = None) -> st.SearchStrategy[list[Record]]:
    """Draw the records of a partition: policies, decisions, late, refused and re-sent records.

    The generator of tests/oracle writes them. `focus` "need" or "price" makes its records
    more frequent.
    """

    def records(seed: int) -> list[Record]:
        return list(_records_of(seed, longest, focus))

    return st.integers(0, 2**32 - 1).map(records)


# The cache holds the histories of one test. Another test with the same strategy draws the same
# seeds, and writing a history takes most of the time.
@lru_cache(maxsize=512)
def _records_of(seed: int, longest: int, focus: str | None) -> tuple[Record, ...]:
    world = written(seed, longest=longest, focus=focus)
    return tuple(Record(**record) for record in world.records)
