# ruff: noqa: S608 -- the names of tables are literals of this file
from typing import Any

import psycopg
import pytest

from tests.ledger.rows import NOON, VALID, write

BILLION = 1_000_000_000
MILLION = 1_000_000
HUNDRED_BILLION = 100_000_000_000

ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    ("sale_line", {"quantity_units": MILLION}),
    ("sale_line", {"quantity_units": -MILLION, "condition": "discarded"}),
    ("sale_line", {"amount_minor": HUNDRED_BILLION}),
    ("sale_line", {"amount_minor": -HUNDRED_BILLION}),
    ("sale_line", {"occurred_at": "2000-01-01 00:00:00+00"}),
    ("item_location", {"demand_alpha_permille": 1000}),
    ("price_change", {"effective_from": "2255-06-05 23:47:34.740991+00"}),
    ("price_change", {"effective_from": "1684-07-28 00:12:25.259009+00"}),
    ("sale_line", {"sku": "x" * 32}),
    ("sale_line", {"sku": "a b é 日"}),
    ("sale_line", {"location": "A-9" * 8}),
    ("purchase_order_line", {"cancelled_units": 10}),
    ("purchase_order_line", {"confirmed_units": 4, "cancelled_units": 4}),
    ("shipment_line", {"leg": "transfer_in", "reorder_id": "R:1"}),
    ("shipment_line", {"received_units": 5, "damaged_units": 2, "order_units": 7}),
    (
        "shipment_line",
        {"status": "planned", "received_units": 0, "order_units": 0, "planned_units": MILLION},
    ),
    ("stock_count", {"units": 0}),
    ("stock_count", {"units": MILLION}),
    ("stock_adjustment", {"quantity_units": MILLION}),
    ("price_change", {"price_minor": 750}),
    ("price_change", {"price_minor": BILLION}),
    ("price_change", {"price_minor": 1, "floor_minor": 0}),
    ("item_location", {"trading_windows": 1, "trading_from_window": 143}),
    ("item_location", {"margin_permille": 999, "order_days_mask": 127, "cost_minor": BILLION}),
    ("item_location", {"replenish_family": "sQ", "order_quantity_units": 1}),
    ("item_location", {"replenish_family": "sS", "reorder_point_units": 5, "order_up_to_units": 6}),
    ("item_location", {"replenish_family": "sS", "levels": "computed"}),
    ("item_location", {"replenish_family": "RS", "order_up_to_units": 1}),
    ("item_location", {"replenish_family": "RS", "levels": "computed"}),
    ("item_location", {"replenish_family": "par", "levels": "computed", "order_up_to_units": 1}),
    ("item_location", {"ladder_permille": [], "raise_permille": [0], "endings": [0, 99]}),
    ("reorder_decision", {"action": "resume"}),
]

REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("sale_line", {"quantity_units": 0}),
    ("sale_line", {"quantity_units": MILLION + 1}),
    ("sale_line", {"quantity_units": -MILLION - 1}),
    ("sale_line", {"amount_minor": HUNDRED_BILLION + 1}),
    ("sale_line", {"amount_minor": -HUNDRED_BILLION - 1}),
    ("sale_line", {"condition": "lost"}),
    ("sale_line", {"occurred_at": "1999-12-31 23:59:59.999999+00"}),
    ("sale_line", {"occurred_at": "infinity"}),
    ("sale_line", {"inv_key": "L|T"}),
    ("sale_line", {"location": "l"}),
    ("sale_line", {"location": ""}),
    ("sale_line", {"location": "A" * 25}),
    ("sale_line", {"sku": ""}),
    ("sale_line", {"sku": "x" * 33}),
    ("sale_line", {"sku": " x"}),
    ("sale_line", {"sku": "x "}),
    ("sale_line", {"sku": "a|b"}),
    ("sale_line", {"sku": "a\tb"}),
    ("sale_line", {"sku": "a\u00a0b"}),
    ("sale_line", {"sku": "a\u200bb"}),
    ("purchase_order_line", {"cancelled_units": 11}),
    ("purchase_order_line", {"confirmed_units": 4, "cancelled_units": 5}),
    ("purchase_order_line", {"ordered_units": -1}),
    ("purchase_order_line", {"status": "lost"}),
    ("shipment_line", {"leg": "transfer_out"}),
    ("shipment_line", {"reorder_id": "R:1"}),
    ("shipment_line", {"order_units": 6}),
    ("shipment_line", {"received_at": None}),
    ("shipment_line", {"status": "shipped", "received_units": 0, "order_units": 0}),
    ("shipment_line", {"status": "shipped", "shipped_at": NOON}),
    (
        "shipment_line",
        {"status": "planned", "received_units": 0, "order_units": 0, "shipped_units": 1},
    ),
    ("stock_count", {"units": -1}),
    ("stock_count", {"units": MILLION + 1}),
    ("stock_count", {"kind": "guess"}),
    ("stock_adjustment", {"quantity_units": 0}),
    ("stock_adjustment", {"reason": "because"}),
    ("price_change", {"price_minor": 749}),
    ("price_change", {"price_minor": 0, "floor_minor": 0}),
    ("price_change", {"price_minor": BILLION + 1}),
    ("price_change", {"kind": "whim"}),
    ("item_location", {"trading_windows": 0}),
    ("item_location", {"trading_windows": 145}),
    ("item_location", {"trading_from_window": 144}),
    ("item_location", {"pack_units": 0}),
    ("item_location", {"margin_permille": 1000}),
    ("item_location", {"order_days_mask": 128}),
    ("item_location", {"cost_minor": BILLION + 1}),
    ("item_location", {"allocated_units": -1}),
    ("item_location", {"demand_alpha_permille": -1}),
    ("item_location", {"demand_alpha_permille": 1001}),
    ("price_change", {"effective_from": "2255-06-05 23:47:34.740992+00"}),
    ("price_change", {"effective_from": "1684-07-28 00:12:25.259008+00"}),
    ("price_change", {"floor_minor": -1}),
    ("item_location", {"auto_max_minor": -1}),
    ("item_location", {"phantom_lambda_micro": -1}),
    ("item_location", {"service_z_micro": -1}),
    ("item_location", {"initial_rate_micro": -1}),
    ("item_location", {"pallet_packs": -1}),
    ("item_location", {"replenish_family": "sQ", "levels": "computed"}),
    ("item_location", {"replenish_family": "sS", "reorder_point_units": 5, "order_up_to_units": 5}),
    ("item_location", {"replenish_family": "cover"}),
    ("item_location", {"replenish_family": "RS"}),
    ("item_location", {"replenish_family": "par", "levels": "computed"}),
    ("item_location", {"ladder_permille": [100, -1]}),
    ("item_location", {"endings": [100]}),
    ("item_location", {"ladder_permille": [100, None]}),
    ("item_location", {"status": "gone"}),
    ("reorder_decision", {"action": "think"}),
    ("price_decision", {"action": "resume"}),
    ("pipeline_heartbeat", {"location": "L"}),
]


@pytest.mark.parametrize("table", VALID)
def test_a_valid_row_is_accepted_and_stamped(till: psycopg.Connection, table: str) -> None:
    row_id = write(till, table, recorded_at="2001-01-01 00:00:00+00")

    found = till.execute(
        f"SELECT recorded_at > now() - interval '1 minute' FROM retail.{table} WHERE id = %s",
        [row_id],
    ).fetchone()
    assert found == (True,)


@pytest.mark.parametrize(("table", "changes"), ACCEPTED)
def test_the_last_value_inside_a_limit_is_accepted(
    till: psycopg.Connection, table: str, changes: dict[str, Any]
) -> None:
    assert write(till, table, **changes) > 0


@pytest.mark.parametrize(("table", "changes"), REFUSED)
def test_the_first_value_outside_a_limit_is_refused(
    till: psycopg.Connection, table: str, changes: dict[str, Any]
) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        write(till, table, **changes)


@pytest.mark.parametrize("table", VALID)
def test_every_captured_table_requires_an_inv_key(till: psycopg.Connection, table: str) -> None:
    with pytest.raises(psycopg.errors.NotNullViolation):
        write(till, table, inv_key=None)


@pytest.mark.domain("4 repeated client request")
@pytest.mark.parametrize(
    ("table", "first", "second"),
    [
        ("sale_line", {}, {"sku": "T"}),
        ("purchase_order_line", {"reorder_id": "R:1"}, {"reorder_id": "R:1", "sku": "T"}),
        (
            "shipment_line",
            {"leg": "transfer_in", "reorder_id": "R:1"},
            {"leg": "transfer_in", "reorder_id": "R:1", "sku": "T"},
        ),
        ("price_change", {"proposal_id": "P:1"}, {"proposal_id": "P:1", "sku": "T"}),
        (
            "price_change",
            {"kind": "rule", "effective_from": "2026-03-02 00:00:00+00"},
            {"kind": "rule", "effective_from": "2026-03-02 23:59:59.999999+00"},
        ),
        ("item_location", {}, {}),
    ],
)
def test_a_duplicate_of_a_unique_row_is_refused(
    till: psycopg.Connection, table: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    write(till, table, **first)

    with pytest.raises(psycopg.errors.UniqueViolation):
        write(till, table, **second)


def test_rule_made_prices_of_two_utc_days_are_both_accepted(till: psycopg.Connection) -> None:
    write(till, "price_change", kind="rule", effective_from="2026-03-02 23:59:59.999999+00")

    assert write(till, "price_change", kind="rule", effective_from="2026-03-03 00:00:00+00") > 0


def test_an_order_line_without_a_reorder_may_repeat(till: psycopg.Connection) -> None:
    write(till, "purchase_order_line")

    assert write(till, "purchase_order_line") > 0
