"""The stock list: cover, a day's sales and the price's start, in few statements."""

import csv
import io
import re
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from inventory.model.state import Demand
from ledger import services
from tests.ledger.inbox import NOON_US, level, put, state
from tests.ledger.pages import person
from tests.ledger.test_query_counts import BUDGET, statements
from webui.desks.stock.sales import sales_views
from webui.readmodel.stock import sold_by_hour, stock_rows

WINDOW_US = 600_000_000
DAY_US = 86_400_000_000


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


def test_the_list_takes_few_statements_however_many_rows_it_shows(
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


def test_hours_reach_from_a_day_before_the_last_window_edge_to_that_edge(
    ledger: psycopg.Connection,
) -> None:
    as_of_us = NOON_US + 123  # in the window that has hardly begun
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


def test_a_row_says_how_long_its_units_last_and_what_it_sold(ledger: psycopg.Connection) -> None:
    level(ledger, replace(state(), demand=Demand(rate_micro=4_000_000)))
    level(ledger, state(sku="T"))
    services.range_item(location="L", sku="T", policy={"initial_rate_micro": 500_000})
    level(ledger, state(sku="U"))
    window(ledger, NOON_US - WINDOW_US, 7)

    html = listed()

    assert re.findall(r'data-f="cover">([^<]*)<', html) == ["2.5 d", "20 d", "no demand"]
    assert re.findall(r'data-label="Sold, 24 h">(\d+) <svg', html) == ["7", "0", "0"]
    assert 'd="M0 15h71v2H0zM69 15v-15h2V15z"' in html


@pytest.mark.parametrize("path", ["/", "/items/L/S?tab=sources"])
def test_a_price_says_that_it_may_be_newer_than_the_figures(
    ledger: psycopg.Connection, path: str
) -> None:
    services.range_item(location="L", sku="S")
    level(ledger, state())

    html = listed(path)

    [priced_at] = re.findall(r"in force in the ledger at ([-0-9]+ [:0-9]+) or later", html)
    [as_of] = re.findall(r'data-f="as_of">([^<]+)<', html)
    assert as_of == "2026-03-02 12:00:00" < priced_at
    assert re.search(r'data-key="L\|S"[^>]* data-priced-at="\d{16}"', html)


def test_the_export_has_cover_and_the_instant_of_the_price(ledger: psycopg.Connection) -> None:
    level(ledger, replace(state(), demand=Demand(rate_micro=4_000_000)))
    answer: Any = person("associate").get("/stock.csv")

    [row] = csv.DictReader(io.StringIO(b"".join(answer).decode()))

    assert row["cover_centidays"] == "250"
    assert int(row["priced_at_us"]) > int(row["as_of_us"]) == NOON_US
