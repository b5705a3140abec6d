"""The stock list shows cover, sales of a day and the start of the price, with few statements."""

import csv
import gzip
import html
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from inventory.model.ids import InvKey
from inventory.model.state import Demand
from ledger import services
from ledger.kernel.transactions import database_now
from tests.ledger.folded import state_of
from tests.ledger.inbox import NOON_US, level, put, state
from tests.ledger.pages import person
from tests.ledger.rows import write
from tests.ledger.test_query_counts import BUDGET, statements
from tests.ledger.test_reorders_table import need
from webui.desks.stock.sales import sales_views
from webui.readmodel.choices import locations_and_suppliers, suppliers
from webui.readmodel.stock import (
    START,
    Order,
    StockRow,
    Totals,
    place_of,
    sold_by_hour,
    stock_page,
    stock_rows,
    totals,
)
from webui.readmodel.stock_filters import ORDERS, UNBOUNDED, Filters

WINDOW_US = 600_000_000
DAY_US = 86_400_000_000
VALUES: Mapping[str, Callable[[StockRow], Any]] = {
    "": lambda _: 0,
    "item": lambda row: row.name,
    "on_hand": lambda row: row.on_hand_units,
    "available": lambda row: row.available_to_sell_units,
    "in_transit": lambda row: row.in_transit_units,
    "on_order": lambda row: row.on_order_units,
    "cover": lambda row: UNBOUNDED if row.cover_centidays is None else row.cover_centidays,
}


def window(ledger: psycopg.Connection, start_us: int, sold_units: int, sku: str = "S") -> None:
    counts = dict.fromkeys(("returned_units", "return_lines", "late_lines", "window_revision"), 0)
    put(
        ledger,
        "read_model.sales_window",
        inv_key=f"L|{sku}",
        start_us=start_us,
        sold_units=sold_units,
        sale_lines=1,
        revenue_minor=100,
        partition=0,
        offset=1,
        **counts,
    )


def listed(path: str = "/") -> str:
    answer: Any = person("associate").get(path)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def test_the_stock_list_needs_few_sql_statements_for_any_number_of_rows(
    ledger: psycopg.Connection,
) -> None:
    client, taken = person("associate"), []

    for number in (0, 1, 30):
        for n in range(number):
            sku = f"S{n}-{number}"
            services.range_item(location="L", sku=sku)
            level(ledger, state(sku=sku))
            window(ledger, NOON_US - WINDOW_US, 2, sku)
        taken.append(statements(client, "/"))

    assert len(taken[1]) == len(taken[2])
    assert max(len(found) for found in taken) <= BUDGET, taken[-1]


def test_a_draft_count_of_an_unranged_item_adds_no_row_to_the_list(
    ledger: psycopg.Connection,
) -> None:
    now = database_now()
    count = write(ledger, "stock_count", units=0, status="draft", occurred_at=now)
    level(ledger, state_of(ledger, "L|S"))

    assert "Nothing here" in listed()
    assert totals(Filters(location="L")).items == 0

    ledger.execute("UPDATE retail.stock_count SET status = 'approved' WHERE id = %s", [count])
    level(ledger, state_of(ledger, "L|S"))
    assert "<b>1 item</b> · 0 on hand" in listed()


def test_hourly_sales_cover_the_24_hours_before_the_last_window_edge(
    ledger: psycopg.Connection,
) -> None:
    as_of_us = NOON_US + 123  # shortly after the start of a window
    level(ledger, state())
    ledger.execute("UPDATE read_model.stock SET as_of_us = %s", [as_of_us])
    first_us = NOON_US - DAY_US
    for start_us, units in (
        (first_us - WINDOW_US, 1),
        (first_us, 10),
        (first_us + 6 * WINDOW_US - WINDOW_US, 100),
        (first_us + 6 * WINDOW_US, 1_000),
        (NOON_US - WINDOW_US, 10_000),
        (NOON_US, 100_000),
    ):
        window(ledger, start_us, units)

    hours = sold_by_hour(stock_rows(["L|S"]))["L|S"]

    assert hours == [110, 1_000, *([0] * 21), 10_000]
    # The same figure as on the item's page.
    [day] = [span for span in sales_views("L|S", as_of_us).spans if span.name == "24 hours"]
    assert sum(hours) == day.hop.units


def test_a_row_shows_cover_and_sales_of_the_last_24_hours(ledger: psycopg.Connection) -> None:
    level(ledger, replace(state(), demand=Demand(rate_micro=4_000_000)))
    level(ledger, state(sku="T"))
    services.range_item(location="L", sku="T", policy={"initial_rate_micro": 500_000})
    level(ledger, state(sku="U"))
    window(ledger, NOON_US - WINDOW_US, 7)

    page = listed()

    assert re.findall(r'data-f="cover">([^<]*)<', page) == ["2.5 d", "20 d", "no demand"]
    assert re.findall(r"<b>(\d) items</b> · (\d+) on hand · (\d+) available", page) == [
        ("3", "30", "30")
    ]
    assert re.findall(r'data-label="Sold, 24 h">(\d+) <svg', page) == ["7", "0", "0"]
    assert 'd="M0 15h71v2H0zM69 15v-15h2V15z"' in page


@pytest.mark.parametrize("path", ["/", "/items/L/S?tab=sources"])
def test_a_page_shows_that_a_price_may_be_newer_than_the_stock_figures(
    ledger: psycopg.Connection, path: str
) -> None:
    services.range_item(location="L", sku="S")
    level(ledger, state())

    page = listed(path)

    [priced_at] = re.findall(r"in force in the ledger at ([-0-9]+ [:0-9]+) or later", page)
    [as_of] = re.findall(r'data-(?:f="as_of"|as-of)>([^<]+)<', page)
    assert as_of == "2026-03-02 12:00:00" < priced_at
    assert re.search(r'data-key="L\|S"[^>]* data-priced-at="\d{16}"', page)


def test_cover_beyond_a_year_shows_hardly_sells_unless_the_item_just_sold(
    ledger: psycopg.Connection,
) -> None:
    for sku, rate_micro in (("S", 27_390), ("T", 27_390), ("U", 27_398)):
        level(ledger, replace(state(sku=sku), demand=Demand(rate_micro=rate_micro)))
    window(ledger, NOON_US - WINDOW_US, 3, "T")

    page = listed()

    # 10 units at 0.02739 a day last 365.09 days, at 0.027398 just under 365.
    assert re.findall(r'data-label="Lasts"[^>]*>([^<]*)<', page) == [
        *("hardly sells", "over a year", "364 d"),
    ]


def test_reorders_shows_the_cover_of_an_item_in_the_words_of_the_stock_list(
    ledger: psycopg.Connection,
) -> None:
    for number, rate_micro in ((1, 0), (2, 27_390), (3, 4_000_000)):
        need(ledger, number)
        level(ledger, replace(state(sku=f"S{number:03}"), demand=Demand(rate_micro=rate_micro)))
    need(ledger, 4)  # the read model has no figures of this item

    cells = re.findall(
        r'sku">(S\d+)<.*?data-label="(|Lasts)">([^<]*)<', listed("/reorders/"), re.DOTALL
    )

    assert dict(re.findall(r'sku">(S\d+)<.*?data-f="cover">([^<]*)<', listed(), re.DOTALL)) == {
        "S001": "no demand",
        "S002": "hardly sells",
        "S003": "2.5 d",
    }
    assert sorted(cells) == [
        ("S001", "", "no demand"),
        ("S002", "", "hardly sells"),
        ("S003", "Lasts", "2.5 d"),
        ("S004", "", "–"),
    ]


def rows_of(ledger: psycopg.Connection) -> None:
    """Write 120 items with many equal figures."""
    for number in range(120):
        demand = Demand(rate_micro=(number % 5) * 100_000)
        stock = {"on_hand_units": number % 7, "in_transit_units": number % 3}
        level(ledger, replace(state(sku=f"S{number:03}", stock=stock), demand=demand))


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("column", ["", *ORDERS])
def test_pages_of_every_sort_order_show_each_row_once_in_both_directions(
    ledger: psycopg.Connection, column: str, sign: str
) -> None:
    rows_of(ledger)
    order, pages, place = Order(column, descending=sign == "-"), [], START

    for _ in range(3):
        pages.append(stock_page(Filters(), order=order, place=place))
        place = place_of(pages[-1].rows[-1], order)
    backwards = [
        stock_page(Filters(), order=order, place=place_of(page.rows[0], order, backwards=True))
        for page in pages[1:]
    ]

    rows = [row for page in pages for row in page.rows]
    assert len({row.inv_key for row in rows}) == len(rows) == 120
    keys = [(VALUES[column](row), row.sku) for row in rows]
    assert keys == sorted(keys, reverse=order.descending)
    assert [page.has_next for page in pages] == [True, True, False]
    assert [page.has_previous for page in pages] == [False, True, True]
    found = [[row.inv_key for row in page.rows] for page in (*backwards, *pages[:2])]
    assert found[:2] == found[2:]
    assert [page.has_previous for page in backwards] == [False, True]
    assert all(page.has_next for page in backwards)


def test_names_sort_as_in_a_dictionary(ledger: psycopg.Connection) -> None:
    names = ["Äpfel", "apple", "Apron", "éclair", "Ofen", "Öl", "Strasse 1", "Straße 2", "Zinn"]
    for number, name in enumerate(names[::-1]):
        put(ledger, "retail.product", code=f"N{number}", name=name)
        put(ledger, "retail.supplier", code=f"N{number}", name=name)
        level(ledger, state(sku=f"N{number}"))
    found, place, order = [], START, Order("item")

    for _ in names:  # pages of one row, so that each name is in a cursor
        [row] = stock_page(Filters(), order=order, place=place, rows=1).rows
        found.append(row.name)
        place = place_of(row, order)

    assert found == names
    assert [choice.name for choice in suppliers()] == names
    assert [choice.name for choice in locations_and_suppliers()[1]] == names


def test_headings_sort_and_pages_lead_forward_and_back(ledger: psycopg.Connection) -> None:
    rows_of(ledger)
    client: Any = person("associate")
    first = client.get("/?sort=-on_hand").content.decode()
    [following] = re.findall(r'href="([^"]*)" rel="next"', first)
    second = client.get(html.unescape(following)).content.decode()
    [previous] = re.findall(r'href="([^"]*)" rel="prev"', second)
    again = client.get(html.unescape(previous)).content.decode()

    assert 'class="n" aria-sort="descending"><a href="/?sort=on_hand">On hand</a>' in first
    keys = [re.findall(r'data-key="([^"]*)"', page) for page in (first, second, again)]
    assert keys[0] == keys[2]
    assert not {*keys[0]} & {*keys[1]}
    assert 'rel="prev"' not in again


@pytest.mark.parametrize("at", ["", "x", "1" * 30, "-"])
def test_an_invalid_cursor_shows_the_start_of_the_list(ledger: psycopg.Connection, at: str) -> None:
    level(ledger, state())

    assert 'data-key="L|S"' in listed(f"/?sort=on_hand&after={at}~L%7CA")


@pytest.mark.parametrize("at", ["", "~", "12~"])
def test_a_before_cursor_without_a_row_shows_the_first_page(
    ledger: psycopg.Connection, at: str
) -> None:
    rows_of(ledger)

    page = listed(f"/?before={at}")

    assert 'rel="next"' in page
    assert 'rel="prev"' not in page


def test_a_list_beyond_the_row_limit_has_no_totals_and_one_sort_order(
    ledger: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows_of(ledger)
    monkeypatch.setattr(Totals, "is_complete", property(lambda found: found.items <= 100))

    page = listed("/?sort=-on_hand")

    assert "<b>More than 10,000 items.</b>" in page
    assert "The CSV file has at most 100,000 rows." in page
    assert "aria-sort" not in page
    assert re.findall(r'data-key="([^"]*)"', page)[:2] == ["L|S000", "L|S001"]
    assert "aria-sort" in listed("/?sort=-on_hand&status=out")


def test_a_list_of_fifty_rows_stays_within_its_size_budget(ledger: psycopg.Connection) -> None:
    rows_of(ledger)

    page = listed()

    assert len(re.findall(r"<[a-z]", page)) <= 1_500
    assert len(gzip.compress(page.encode())) <= 60_000


def test_a_person_of_one_store_sees_no_column_of_stores(ledger: psycopg.Connection) -> None:
    level(ledger, state())
    put(ledger, "retail.location", code="L", name="Leeds")
    alone: Any = person("associate", "ann", stores=("L",))

    page = alone.get("/").content.decode()

    assert 'class="dense one-store"' in page
    assert 'name="location"' not in page
    assert "/labels/?location=L&amp;sku=S" in page


def test_a_row_names_its_store_and_keeps_the_code_in_the_tooltip(
    ledger: psycopg.Connection,
) -> None:
    level(ledger, state())
    put(ledger, "retail.location", code="L", name="Leeds")

    page = person("operator").get("/").content.decode()

    [(title, shown)] = re.findall(r'<td class="where"[^>]* title="([^"]*)">([^<]*)</td>', page)
    assert (title, shown) == ("L", "Leeds")


@pytest.mark.parametrize(
    ("typed", "skus"),
    [
        ("kettle", ["S1", "S2"]),
        ("KETT copp", ["S1"]),
        ("ettle", ["S1", "S2"]),
        ("s2", ["S2"]),
        ("leeds", ["S1", "S2", "X9"]),
        ("leeds tea", ["S2"]),
        ("x9", ["X9"]),
        ("kettel", []),
        ("%", []),
        ("'; --", []),
    ],
)
def test_a_search_finds_words_of_name_code_and_location(
    ledger: psycopg.Connection, typed: str, skus: list[str]
) -> None:
    put(ledger, "retail.location", code="L", name="Leeds")
    for sku, name in (("S1", "Copper Kettle"), ("S2", "Tea kettle")):
        put(ledger, "retail.product", code=sku, name=name)
    for sku in ("S1", "S2", "X9"):
        level(ledger, state(sku=sku))

    assert [row.sku for row in stock_page(Filters(text=typed)).rows] == skus


@pytest.mark.parametrize(
    "typed", ["köln", "KÖLN tea", "koln", "süd", "s\u0075\u0308d", "dc", "d-7"]
)
def test_a_search_finds_a_location_whose_name_has_accents(
    ledger: psycopg.Connection, typed: str
) -> None:
    put(ledger, "retail.location", code="DC-77", name="Köln-Süd")
    put(ledger, "retail.product", code="S1", name="Tea kettle")
    level(ledger, state(sku="S1", inv_key=InvKey("DC-77|S1")))
    level(ledger, state(sku="S1"))

    assert [row.location for row in stock_page(Filters(text=typed)).rows] == ["DC-77"]


def test_the_export_has_cover_and_the_instant_of_the_price(ledger: psycopg.Connection) -> None:
    level(ledger, replace(state(), demand=Demand(rate_micro=4_000_000)))
    answer: Any = person("associate").get("/stock.csv")

    [row] = csv.DictReader(io.StringIO(b"".join(answer).decode()))

    assert row["cover_centidays"] == "250"
    assert int(row["priced_at_us"]) > int(row["as_of_us"]) == NOON_US
