"""Movements of stock per row in SQL, compared with the rules of the fold."""

import re
from datetime import date, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from analytics.verification import sums
from inventory.tables.stock_adjustment import REASONS as ADJUSTMENT_REASONS
from tests.ledger.folded import state_of
from tests.ledger.rows import NOON, VALID, write

LATER = NOON + timedelta(hours=1)

NOTHING_YET = {"received_units": 0, "order_units": 0, "planned_units": 4, "received_at": None}
ON_ITS_WAY = {
    "received_units": 0,
    "order_units": 0,
    "planned_units": 6,
    "shipped_units": 5,
    "shipped_at": NOON,
    "received_at": None,
}
EVERYTHING: dict[str, Any] = {
    "location": None,
    "only": None,
    "excluded_tables": [],
    "excluded_ids": [],
    "kept_tables": [],
    "kept_images": [],
}

FACTS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "a sale": [("sale_line", {"quantity_units": 3})],
    "a resaleable return": [("sale_line", {"quantity_units": -2})],
    "a damaged return": [("sale_line", {"quantity_units": -2, "condition": "damaged"})],
    "a discarded return": [("sale_line", {"quantity_units": -2, "condition": "discarded"})],
    "a planned delivery": [("shipment_line", {"status": "planned", **NOTHING_YET})],
    "a shipped delivery": [("shipment_line", {"status": "shipped", **ON_ITS_WAY})],
    "a receipt with damage": [("shipment_line", {"damaged_units": 2, "order_units": 6})],
    "a planned transfer in": [
        ("shipment_line", {"leg": "transfer_in", "status": "planned", **NOTHING_YET})
    ],
    "a shipped transfer in": [
        ("shipment_line", {"leg": "transfer_in", "status": "shipped", **ON_ITS_WAY})
    ],
    "a received transfer in": [("shipment_line", {"leg": "transfer_in", "damaged_units": 1})],
    "a planned transfer out": [
        ("shipment_line", {"leg": "transfer_out", "status": "planned", **NOTHING_YET})
    ],
    "a shipped transfer out": [
        ("shipment_line", {"leg": "transfer_out", "status": "shipped", **ON_ITS_WAY})
    ],
    "an order": [("purchase_order_line", {"ordered_units": 24})],
    "a short confirmation": [
        ("purchase_order_line", {"confirmed_units": 7, "cancelled_units": 2, "status": "confirmed"})
    ],
    "a draft count": [("stock_count", {"status": "draft"})],
    "a count and a sale in its second": [("stock_count", {}), ("sale_line", {})],
    "a count and a later sale": [("stock_count", {}), ("sale_line", {"occurred_at": LATER})],
    **{reason: [("stock_adjustment", {"reason": reason})] for reason in ADJUSTMENT_REASONS},
}


def summed(connection: psycopg.Connection, **changes: object) -> tuple[Any, ...]:
    """Return the sums of `inventory verify` for the only key: four quantities and `counted`."""
    rows = connection.execute(sums.LEVELS, {**EVERYTHING, **changes}).fetchall()
    assert [row[0] for row in rows] == ["L|S"]
    return tuple(rows[0][1:6])


def folded(connection: psycopg.Connection) -> tuple[Any, ...]:
    state = state_of(connection, "L|S")
    return (
        state.on_hand_units,
        state.unavailable_units,
        state.on_order_units,
        state.in_transit_units,
        state.stock_known,
    )


@pytest.mark.domain("11.10 Split")
@pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
def test_sql_and_the_fold_agree_on_every_kind_of_row(
    ledger: psycopg.Connection, facts: list[tuple[str, dict[str, Any]]]
) -> None:
    write(ledger, "item_location", clock_mode="replayed")
    for table, changes in facts:
        write(ledger, table, **changes)

    assert summed(ledger) == folded(ledger)


def test_verify_sums_exclude_rejected_rows(ledger: psycopg.Connection) -> None:
    write(ledger, "stock_count", units=10)
    write(ledger, "sale_line", quantity_units=2, occurred_at=LATER, source_ref="kept")
    sale = write(ledger, "sale_line", quantity_units=5, occurred_at=LATER)
    order = write(ledger, "purchase_order_line")

    left_out = {
        "excluded_tables": ["sale_line", "purchase_order_line"],
        "excluded_ids": [sale, order],
    }

    assert summed(ledger) == (3, 0, 10, 0, True)
    assert summed(ledger, **left_out) == (8, 0, 0, 0, True)


def test_verify_sums_include_kept_images_of_deleted_rows(
    ledger: psycopg.Connection,
) -> None:
    write(ledger, "stock_count", units=10)
    image = {
        "id": 77,
        "inv_key": "L|S",
        "location": "L",
        "quantity_units": 4,
        "occurred_at": LATER.isoformat(),
        "recorded_at": LATER.isoformat(),
    }
    shipped = {**image, "leg": "transfer_in", "status": "shipped", "shipped_units": 6}

    kept = [Jsonb(image), Jsonb(shipped)]
    found = summed(ledger, kept_tables=["sale_line", "shipment_line"], kept_images=kept)

    assert found == (6, 0, 6, 6, True)


def test_verify_includes_a_key_whose_only_fact_moves_no_stock(ledger: psycopg.Connection) -> None:
    write(ledger, "sale_line", quantity_units=-1, condition="discarded")

    assert summed(ledger) == (0, 0, 0, 0, False)


@pytest.mark.domain("11.10 Split")
def test_inbound_documents_sum_to_on_order_and_in_transit_units(ledger: psycopg.Connection) -> None:
    order = write(ledger, "purchase_order_line", ordered_units=24, due_on=date(2026, 3, 9))
    write(ledger, "shipment_line", purchase_order_line_id=order, order_units=5)
    shipped = {"purchase_order_line_id": order, "status": "shipped", **ON_ITS_WAY}
    write(ledger, "shipment_line", **shipped)
    transfer = {"leg": "transfer_in", "status": "shipped", "due_on": date(2026, 3, 5)}
    write(ledger, "shipment_line", **transfer, **ON_ITS_WAY)
    other = write(ledger, "purchase_order_line", sku="T")
    write(ledger, "shipment_line", purchase_order_line_id=other, order_units=3)
    done = write(ledger, "purchase_order_line", ordered_units=5)
    write(ledger, "shipment_line", purchase_order_line_id=done, order_units=5)

    rows = ledger.execute(
        "SELECT table_name, due_on, on_order_units, in_transit_units"
        " FROM retail.inbound_documents('L|S')"
    ).fetchall()

    assert rows == [
        ("purchase_order_line", date(2026, 3, 9), 19, 5),
        ("shipment_line", date(2026, 3, 5), 5, 5),
        ("shipment_line", None, -3, 0),
    ]
    assert summed(ledger, only=["L|S"])[2:4] == (21, 10)


def test_business_time_formula_is_defined_only_in_migrations() -> None:
    root = Path(__file__).parents[2]
    restated = re.compile(r"least\([\w. ]+,\s*[\w.]*recorded_at\)")

    found = [
        str(path.relative_to(root))
        for package in (
            "ledger",
            "webui",
            "bench",
            "analytics",
            "streams",
            "deploy",
            "tests/ledger",
        )
        for path in (root / package).rglob("*.py")
        if "migrations" not in path.parts and restated.search(path.read_text())
    ]

    assert found == []


@pytest.mark.parametrize(
    ("table", "changes", "moved"),
    [
        ("sale_line", {"quantity_units": 3}, -3),
        ("sale_line", {"quantity_units": -3, "condition": "resaleable"}, 3),
        ("sale_line", {"quantity_units": -3, "condition": "damaged"}, 0),
        ("shipment_line", {}, 5),
        ("stock_adjustment", {"reason": "found", "quantity_units": 2}, 2),
        ("stock_adjustment", {"reason": "dispose", "quantity_units": 2}, 0),
        ("stock_adjustment", {"reason": "theft", "quantity_units": 2}, -2),
    ],
)
def test_simulated_shelves_start_with_the_stock_of_the_ledger(
    ledger: psycopg.Connection, table: str, changes: dict[str, Any], moved: int
) -> None:
    shelves = import_module("bench.retailer.shelves")  # here, because it needs Django set up
    store = shelves.STORES[0]
    at = {"location": store, "inv_key": f"{store}|S"}
    write(ledger, "stock_count", **at, units=20, occurred_at=NOON)
    before = {name: NOON for name in ("occurred_at", "received_at") if name in VALID[table]}
    after = dict.fromkeys(before, LATER)
    write(ledger, table, **at, **changes, **before)
    changes = changes | ({"source_ref": "2"} if table == "sale_line" else {})
    write(ledger, table, **at, **changes, **after)

    [(key, units)] = shelves.rows(shelves._BOOKS, {"locations": [store]})

    assert (key, units) == (f"{store}|S", 20 + moved)
