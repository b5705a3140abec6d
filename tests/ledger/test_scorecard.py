"""Suppliers' real lead times, measured from the ledger and written into policies."""

from datetime import date, timedelta

import psycopg
import pytest
from django.test.utils import setup_test_environment, teardown_test_environment

from inventory.reports.scorecard import LeadTime
from ledger.automation.scorecard import write_back
from ledger.ordering.scorecards import cards, measure
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.pages import person
from tests.ledger.rows import NOON, write
from webui.desks.suppliers.chart import distribution

LATER = NOON + timedelta(days=30)
CENTIDAY = timedelta(days=1) / 100


@pytest.fixture
def shop(ledger: psycopg.Connection) -> psycopg.Connection:
    """Return the empty ledger with triggers off, so that tests may set `recorded_at`."""
    ledger.execute("SET session_replication_role = replica")
    return ledger


def delivered(shop: psycopg.Connection, centidays: int, **changes: object) -> int:
    """Write an order of 10 units at noon, received after `centidays`. Return the line's id."""
    order: dict[str, object] = {
        "ordered_at": NOON,
        "recorded_at": NOON,
        "ordered_units": 10,
    }
    keys: dict[str, object] = {
        name: changes.pop(name) for name in ("location", "sku") if name in changes
    }
    for name in ("supplier", "due_on", "confirmed_units", "cancelled_units"):
        if name in changes:
            order[name] = changes.pop(name)
    line = write(shop, "purchase_order_line", **(order | keys))
    at = NOON + centidays * CENTIDAY
    receipt: dict[str, object] = {
        "received_at": at,
        "recorded_at": at + timedelta(seconds=9),
        "received_units": 10,
        "order_units": 10,
        "purchase_order_line_id": line,
        **keys,
        **changes,
    }
    write(shop, "shipment_line", **receipt)
    return line


def five(shop: psycopg.Connection, **changes: object) -> None:
    """Write the five receipts of docs/domain.md 7."""
    for centidays in (500, 500, 700, 400, 900):
        delivered(shop, centidays, **changes)


def policy(shop: psycopg.Connection) -> dict[str, tuple[int, int]]:
    found = shop.execute(
        "SELECT inv_key, lead_time_centidays, lead_time_sd_centidays FROM retail.item_location"
    )
    return {key: (mean, sd) for key, mean, sd in found}


def test_the_lead_time_of_five_receipts_matches_the_documentation(shop: psycopg.Connection) -> None:
    five(shop)
    assert measure("ACME", "L", LATER).lead == LeadTime(5, 600, 178, 500, 900)


def test_a_receipt_happened_no_later_than_it_was_recorded(shop: psycopg.Connection) -> None:
    at = NOON + 500 * CENTIDAY
    delivered(shop, 900, recorded_at=at)
    found = measure("ACME", "L", LATER).lead
    assert found is not None
    assert found.mean_centidays == 500


def test_refused_goods_are_a_discrepancy_and_no_receipt(shop: psycopg.Connection) -> None:
    delivered(shop, 500, due_on=(NOON + timedelta(days=5)).date())
    refused = {"received_units": 0, "damaged_units": 0, "order_units": 0}
    delivered(
        shop, 900, due_on=NOON.date(), discrepancy_reason="refused", cancelled_units=0, **refused
    )

    found = measure("ACME", "L", LATER)

    assert found.lead == LeadTime(1, 500, 0, 500, 500)
    assert (found.due_receipts, found.on_time_permille) == (1, 1000)
    assert found.discrepancy_permille == 500


def test_old_receipts_and_those_of_other_suppliers_or_locations_do_not_count(
    shop: psycopg.Connection,
) -> None:
    delivered(shop, 500)
    delivered(shop, 900, supplier="OTHER")
    delivered(shop, 900, location="M")
    end = NOON + 500 * CENTIDAY + timedelta(days=180)

    before = measure("ACME", "L", end - timedelta(seconds=1)).lead
    assert before is not None
    assert before.receipts == 1
    assert measure("ACME", "L", end).lead is None
    everywhere = measure("ACME", "", LATER).lead
    assert everywhere is not None
    assert everywhere.receipts == 2


def test_the_fill_rate_counts_settled_lines_only(shop: psycopg.Connection) -> None:
    delivered(shop, 500)
    delivered(shop, 500, order_units=5, received_units=5)
    delivered(shop, 500, order_units=8, received_units=8, cancelled_units=2)
    delivered(shop, 500, order_units=3, received_units=3, confirmed_units=3)

    found = measure("ACME", "L", LATER)

    assert (found.settled.lines, found.settled.expected_units, found.settled.order_units) == (
        3,
        23,
        21,
    )
    assert found.fill_permille == 913


def test_a_receipt_is_on_time_until_the_end_of_the_due_day(shop: psycopg.Connection) -> None:
    midnight = date(2026, 3, 8)
    to_midnight = timedelta(days=5, hours=12) // CENTIDAY
    delivered(shop, to_midnight, due_on=midnight)
    delivered(shop, to_midnight - 1, due_on=midnight - timedelta(days=1))
    delivered(shop, to_midnight, due_on=midnight - timedelta(days=1))
    delivered(shop, to_midnight)

    found = measure("ACME", "L", LATER)

    assert (found.due_receipts, found.on_time_permille) == (3, 666)


def test_a_receipt_with_a_reason_counts_as_a_discrepancy(shop: psycopg.Connection) -> None:
    delivered(shop, 500, discrepancy_reason="short")
    delivered(shop, 500, discrepancy_reason=" ")
    delivered(shop, 500)
    assert measure("ACME", "L", LATER).discrepancy_permille == 333


def test_the_lead_time_is_written_to_items_of_that_supplier_and_location(
    shop: psycopg.Connection,
) -> None:
    five(shop)
    for sku, place, supplier in (("S", "L", "ACME"), ("T", "L", "OTHER"), ("S", "M", "ACME")):
        write(shop, "item_location", sku=sku, location=place, supplier=supplier, recorded_at=NOON)

    assert write_back(at=LATER) == 1

    assert policy(shop) == {"L|S": (600, 178), "L|T": (0, 0), "M|S": (0, 0)}
    logged = shop.execute("SELECT actor, action, subject FROM app.action_log").fetchall()
    assert logged == [(None, "policy", "L|S")]


@pytest.mark.parametrize(
    ("held", "written"), [((600, 178), 0), ((666, 178), 0), ((667, 178), 1), ((600, 200), 1)]
)
def test_a_lead_time_change_below_a_tenth_is_not_written(
    shop: psycopg.Connection, held: tuple[int, int], written: int
) -> None:
    five(shop)
    write(
        shop,
        "item_location",
        supplier="ACME",
        lead_time_centidays=held[0],
        lead_time_sd_centidays=held[1],
        recorded_at=NOON,
    )
    assert write_back(at=LATER) == written
    assert policy(shop)["L|S"] == ((600, 178) if written else held)


def test_four_receipts_change_no_policy_but_have_a_scorecard(shop: psycopg.Connection) -> None:
    for _ in range(4):
        delivered(shop, 500)
    write(shop, "item_location", supplier="ACME", recorded_at=NOON)

    assert write_back(at=LATER) == 0

    card = cards("ACME", most=9)[0]
    assert (card.receipts, card.mean_centidays, card.items_written) == (4, 500, 0)


def test_the_scorecard_job_measures_each_supplier_and_location_once_a_day(
    shop: psycopg.Connection,
) -> None:
    five(shop)
    write(shop, "item_location", supplier="ACME", recorded_at=NOON)
    assert write_back(at=LATER) == 1
    shop.execute("UPDATE retail.item_location SET lead_time_centidays = 5")

    assert write_back(at=LATER + timedelta(hours=11)) == 0
    assert write_back(at=LATER + timedelta(hours=12)) == 1
    assert policy(shop)["L|S"] == (600, 178)


def test_a_stopped_scorecard_job_resumes_where_it_stopped(shop: psycopg.Connection) -> None:
    for place in ("A", "B", "C"):
        five(shop, location=place)
        write(shop, "item_location", location=place, supplier="ACME", recorded_at=NOON)

    done = [write_back(at=LATER, most_pairs=1) for _ in range(4)]

    assert done == [1, 1, 1, 0]
    assert set(policy(shop).values()) == {(600, 178)}


def test_two_jobs_at_once_write_each_item_once(shop: psycopg.Connection) -> None:
    five(shop)
    for number in range(20):
        write(shop, "item_location", sku=str(number), supplier="ACME", recorded_at=NOON)

    at_the_same_time(*[lambda: write_back(at=LATER)] * 3)

    logged = shop.execute("SELECT count(*) FROM app.action_log").fetchone()
    assert logged == (20,)
    assert len(cards("ACME", most=9)) == 1


def test_a_supplier_without_recent_receipts_keeps_an_empty_scorecard(
    shop: psycopg.Connection,
) -> None:
    five(shop)
    write_back(at=LATER)
    write_back(at=LATER + timedelta(days=400))
    card = cards("ACME", most=9)[0]
    assert (card.receipts, card.mean_centidays, card.fill_permille) == (0, None, None)


def test_items_with_a_replayed_clock_get_no_scorecard_until_they_are_live(
    shop: psycopg.Connection,
) -> None:
    five(shop)
    write(shop, "item_location", supplier="ACME", clock_mode="replayed", recorded_at=NOON)
    assert write_back(at=LATER) == 0
    assert cards("ACME", most=9) == []

    shop.execute("UPDATE retail.item_location SET clock_mode = 'live'")

    assert write_back(at=LATER) == 1


def test_lead_time_bars_include_every_receipt() -> None:
    bars = distribution([0, 99, 100, 250, 9_999])
    assert [bar.receipts for bar in bars[:3]] == [2, 1, 1]
    assert (bars[-1].label, bars[-1].receipts) == ("30 d or more", 1)
    assert sum(bar.receipts for bar in bars) == 5
    assert [bar.label for bar in distribution([150])] == ["0 to 1 d", "1 to 2 d"]
    assert distribution([]) == []


def test_the_suppliers_page_lists_and_opens_scorecards(shop: psycopg.Connection) -> None:
    setup_test_environment()
    try:
        for place in ("A", "B"):
            five(shop, location=place, due_on=NOON.date(), discrepancy_reason="short")
        write_back(at=LATER)
        buyer = person("buyer")

        listed = buyer.get("/suppliers/?location=A").content.decode()
        opened = buyer.get("/suppliers/ACME/?location=A")

        assert "6.00 d" in listed
        assert "1.78 d" in listed
        assert listed.count("<tr>") == 2
        assert opened.status_code == 200
        assert 'href="/orders/?view=open&amp;supplier=ACME"' in opened.content.decode()
        assert buyer.get("/suppliers/NOBODY/").status_code == 404
        assert person("pricing").get("/suppliers/").status_code == 403
        assert (
            "No scorecard with these filters"
            in buyer.get("/suppliers/?supplier=X").content.decode()
        )
    finally:
        teardown_test_environment()
