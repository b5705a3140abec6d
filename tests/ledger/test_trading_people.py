"""Simulated people: buyers, suppliers and staff use the services of the pages."""

from datetime import timedelta

import psycopg

from bench.retailer import buyers
from bench.retailer.buyers import Habits
from bench.retailer.deliveries import Deliveries
from bench.retailer.scenarios import SCENARIOS, Scenario
from bench.retailer.shelves import Shelves
from bench.retailer.tally import Traded
from ledger import services
from ledger.kernel.transactions import database_now
from tests.ledger.rows import reorder_proposal, write
from tests.ledger.test_trading import counted

EAGER = Habits(patience_s=0.0, at_once=50, left_permille=0)


def goods(scenario: Scenario = SCENARIOS["normal"], shelves: Shelves | None = None) -> Deliveries:
    there = Shelves() if shelves is None else shelves
    return Deliveries(3, scenario, there, Traded(), at_once=50, since=database_now())


def proposals(ledger: psycopg.Connection, number: int) -> list[str]:
    for place in range(number):
        sku = f"S{place}"
        services.range_item(location="L", sku=sku, policy={"supplier": "ACME", "pack_units": 6})
        reorder_proposal(ledger, reorder_id=f"R:L|{sku}:1-{place}", inv_key=f"L|{sku}", sku=sku)
    return [f"R:L|S{place}:1-{place}" for place in range(number)]


def test_simulated_buyers_answer_every_need_once(ledger: psycopg.Connection) -> None:
    proposals(ledger, 60)
    done = Traded()

    buyers.decide_reorders(7, EAGER._replace(at_once=100), done)
    words = ledger.execute(
        "SELECT reorder_id, action FROM retail.reorder_decision ORDER BY reorder_id"
    ).fetchall()
    buyers.decide_reorders(7, EAGER._replace(at_once=100), done)

    assert done.approved + done.rejected + done.snoozed == len(words) == 60
    assert {action for _, action in words} == {"approve", "reject", "snooze"}
    assert done.split > 0
    assert done.changed > 0
    assert done.orders_sent >= 1
    assert (
        counted(ledger, "SELECT count(*) FROM retail.purchase_order_line WHERE status = 'draft'")
        == 0
    )


def test_buyers_leave_some_needs_to_people_and_wait_before_they_act(
    ledger: psycopg.Connection,
) -> None:
    proposals(ledger, 20)
    done = Traded()

    buyers.decide_reorders(7, EAGER._replace(left_permille=1000, most_left=20), done)
    buyers.decide_reorders(7, EAGER._replace(patience_s=3600.0), done)
    assert done == Traded()

    buyers.decide_reorders(7, EAGER._replace(left_permille=1000, most_left=17), done)
    assert done.approved + done.rejected + done.snoozed == 3  # of 20; the other 17 are left

    buyers.decide_reorders(7, EAGER._replace(left_permille=500), done)
    assert 3 < done.approved + done.rejected + done.snoozed < 20


def test_simulated_buyers_leave_flagged_needs_to_people(ledger: psycopg.Connection) -> None:
    proposals(ledger, 3)
    ledger.execute("UPDATE app.reorder_proposal SET flags = ARRAY['cover_over_guard']")
    done = Traded()

    buyers.decide_reorders(7, EAGER._replace(left_permille=1), done)
    assert done == Traded()

    buyers.decide_reorders(7, EAGER, done)
    assert done.approved + done.rejected + done.snoozed == 3


def test_suppliers_confirm_ship_and_deliver_and_a_short_line_is_closed(
    ledger: psycopg.Connection,
) -> None:
    services.range_item(location="L", sku="S", policy={"supplier": "ACME", "pack_units": 6})
    old = database_now() - timedelta(minutes=5)
    for number in range(30):
        write(ledger, "purchase_order_line", ordered_units=12, order_ref=f"PO-{number}")
    shelves = Shelves()
    lorries = goods(SCENARIOS["supplier-strike"].__class__("untidy", untidy=4), shelves)

    # Make all rows some seconds old, because each step acts only on such rows.
    for _ in range(5):
        ledger.execute("SET session_replication_role = replica")
        ledger.execute("UPDATE retail.purchase_order_line SET recorded_at = %s", [old])
        ledger.execute(
            "UPDATE retail.shipment_line SET recorded_at = %s, shipped_at = %s", [old, old]
        )
        ledger.execute("SET session_replication_role = origin")
        lorries.work()

    done = lorries.done
    assert (done.confirmed, done.shipped, done.receipts) == (30, 30, 30)
    assert 0 < done.confirmed_short < 30
    assert 0 < done.short_or_damaged < 30
    statuses = ledger.execute("SELECT DISTINCT status FROM retail.purchase_order_line").fetchall()
    assert statuses == [("closed",)]
    received = counted(ledger, "SELECT sum(received_units)::bigint FROM retail.shipment_line")
    assert shelves.on("L|S") == received


def test_only_the_strike_scenario_puts_suppliers_on_strike(ledger: psycopg.Connection) -> None:
    lorries = goods(SCENARIOS["supplier-strike"])
    names = [f"SUPPLIER-{number}" for number in range(100)]

    idle = [name for name in names if lorries.is_on_strike(name)]

    assert 40 < len(idle) < 80
    assert not any(goods().is_on_strike(name) for name in names)


def test_a_delivery_received_on_the_pages_is_added_to_the_shelf_once(
    ledger: psycopg.Connection,
) -> None:
    shelves = Shelves()
    lorries = goods(shelves=shelves)
    line = write(ledger, "purchase_order_line", ordered_units=7)
    services.receive_shipment(
        purchase_order_line_id=line, delivered=services.Delivered(7), actor="associate"
    )

    lorries.work()
    lorries.work()

    assert shelves.on("L|S") == 7
