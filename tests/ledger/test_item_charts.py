"""The charts of an item have tables with the same days and the same figures as the page."""

import re
from datetime import timedelta
from typing import NamedTuple

import psycopg
import pytest

from inventory.explain.demand import demand_section
from inventory.model.arithmetic import DAY_US
from tests.ledger.folded import state_of
from tests.ledger.pages import person
from tests.ledger.rows import NOON, price_proposal, write
from tests.ledger.shown import AS_OF_US, project
from tests.ledger.test_item_page import POLICY, page, text_of
from webui.readmodel.explain import item
from webui.readmodel.history import history


class Day(NamedTuple):
    """One row of a chart's table."""

    day: str
    values: str
    marks: str
    text: str


def chart(address: str, kind: str) -> list[Day]:
    """Return the rows of the chart's table, the oldest day first."""
    html = page(address)
    [figure] = re.findall(rf'<figure [^>]*data-chart="{kind}".*?</figure>', html, re.DOTALL)
    rows = re.findall(r'<tr data-day="\d+" data-v="([^"]*)"(.*?)>(<th.*?)</tr>', figure, re.DOTALL)
    return [
        Day(
            day=re.findall(r"<th[^>]*>([^<]*)", cells)[0],
            values=values,
            marks="".join(re.findall(r'data-marks="([^"]*)"', marks)),
            text=text_of(cells),
        )
        for values, marks, cells in rows
    ]


@pytest.fixture
def shop(ledger: psycopg.Connection) -> psycopg.Connection:
    """Write an item: counted three days ago, sold, out of stock for a day, received, sold late."""
    write(ledger, "item_location", **POLICY)
    start = NOON - timedelta(days=3)
    write(ledger, "stock_count", units=5, kind="opening", occurred_at=start)
    for name, at, units in (
        ("a", start + timedelta(hours=1), 5),
        ("b", NOON - timedelta(hours=2), 3),
        ("late", NOON - timedelta(days=1, hours=3), 1),
    ):
        write(ledger, "sale_line", source_ref=name, quantity_units=units, occurred_at=at)
    received = NOON - timedelta(days=1, hours=4)
    write(ledger, "shipment_line", received_units=9, order_units=9, received_at=received)
    ledger.execute("DELETE FROM read_model.sales_window")
    project(ledger, state_of(ledger, "L|S"))
    return ledger


def test_stock_chart_ends_with_on_hand_and_marks_counts_and_receipts(
    shop: psycopg.Connection,
) -> None:
    days = chart("/items/L/S", "stock")

    assert [(day.day, day.values, day.marks) for day in days] == [
        ("2026-02-27", "0", "count"),
        ("2026-02-28", "0", ""),
        ("2026-03-01", "8", "receipt late"),
        ("2026-03-02", "5", ""),
    ]
    assert "receipts +9, sales \N{MINUS SIGN}1, 1 late fact" in days[2].text
    level = item("L|S")
    assert level is not None
    assert int(days[-1].values) == level.on_hand_units == 5
    html = page("/items/L/S")
    assert 'data-f="on_hand">5<' in html
    assert 'id="facts-total">5<' in html
    assert "equals the number above" in html


@pytest.mark.usefixtures("shop")
def test_days_without_stock_are_marked_and_do_not_count_as_demand() -> None:
    days = chart("/items/L/S?tab=demand", "demand")

    assert [(day.day, day.values, day.marks) for day in days] == [
        ("2026-02-27", "5", "part"),
        ("2026-02-28", "0", "out"),
        ("2026-03-01", "1", "part"),
    ]
    assert "not counted: the item's first day" in days[0].text
    assert "not counted: out of stock too long" in days[1].text
    assert "out of stock for 49 of 144 windows" in days[2].text


def test_demand_chart_and_explanation_have_the_same_days(shop: psycopg.Connection) -> None:
    state = state_of(shop, "L|S")
    section = demand_section(state, has_windows=True)

    found = history("L|S", AS_OF_US).demand(state)

    by_name = {
        name: [line.amount for line in section.lines if line.name == name]
        for name in ("day_us", "sold_units", "out_windows", "observed_micro")
    }
    assert [day.day_us for day in found] == by_name["day_us"]
    assert [day.sold_units for day in found] == by_name["sold_units"] == [5, 0, 1]
    assert [day.out_windows for day in found] == by_name["out_windows"] == [65, 144, 49]
    assert [day.observed_micro for day in found] == by_name["observed_micro"]


def test_stock_chart_shows_the_last_90_days_with_the_stock_before_them(
    ledger: psycopg.Connection,
) -> None:
    write(ledger, "stock_count", units=50, occurred_at=NOON - timedelta(days=200))
    write(ledger, "sale_line", quantity_units=8, occurred_at=NOON - timedelta(days=150))
    write(ledger, "sale_line", source_ref="2", quantity_units=2, occurred_at=NOON)

    days = chart("/items/L/S", "stock")

    assert (len(days), days[0].values, days[-1].values) == (90, "42", "40")
    found = history("L|S", AS_OF_US)
    assert found.opening.is_counted
    assert found.until_us - found.from_us == 90 * DAY_US


def test_stock_chart_of_an_item_without_facts_has_one_day_of_zero(
    ledger: psycopg.Connection,
) -> None:
    write(ledger, "item_location")

    assert [day.values for day in chart("/items/L/S", "stock")] == ["0"]
    assert "Nothing is known yet." in text_of(page("/items/L/S?tab=demand"))
    assert page("/items/L/S?tab=price").count("data-chart") == 0


def test_the_price_chart_has_the_lowest_price_of_30_days(shop: psycopg.Connection) -> None:
    [(now,)] = shop.execute("SELECT clock_timestamp()").fetchall()
    for days, price in ((60, 999), (20, 799), (10, 899)):
        write(shop, "price_change", price_minor=price, effective_from=now - timedelta(days=days))

    for address in ("/items/L/S?tab=price", "/prices/items/L/S"):
        rows = chart(address, "price")
        assert (len(rows), rows[0].values, rows[-1].values) == (61, "999,999", "899,799")
        assert "€8.99 €7.99" in rows[-1].text


def test_price_tab_offers_a_rollback_button_only_to_the_pricing_role(
    shop: psycopg.Connection,
) -> None:
    for days, price in ((60, 999), (20, 799)):
        write(shop, "price_change", price_minor=price, effective_from=NOON - timedelta(days=days))

    assert (
        "Roll back to €9.99</button>"
        in person("pricing").get("/items/L/S?tab=price").content.decode()
    )
    assert "Roll back to" not in page("/items/L/S?tab=price", role="buyer")


def test_open_proposals_are_shown_above_every_tab(shop: psycopg.Connection) -> None:
    proposal = price_proposal(shop)

    for tab in ("stock", "demand", "reorder", "price", "policy", "sources", "nonsense"):
        html = page(f"/items/L/S?tab={tab}")
        assert "Proposed: €9.99" in text_of(html)
        assert f"open={proposal.replace(':', '%3A').replace('|', '%7C')}#" in html


@pytest.mark.usefixtures("shop")
def test_every_item_tab_has_fewer_than_3000_html_tags() -> None:
    for tab in ("stock", "demand", "reorder", "price", "policy", "sources"):
        assert page(f"/items/L/S?tab={tab}").count("<") < 3000
