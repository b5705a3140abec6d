"""The stock list over many keys: exact filters, and query plans that use indexes."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import psycopg
import pytest
from django.db import connection

from inventory.model.state import Demand
from ledger import services
from tests.ledger.inbox import level, put, state
from tests.ledger.pages import person
from tests.ledger.rows import write
from tests.ledger.test_query_counts import BUDGET, statements
from webui.readmodel import stock_filters
from webui.readmodel.figures import STATUSES, status_of
from webui.readmodel.stock import Order, stock_page, totals
from webui.readmodel.stock_filters import ORDERS, Filters, searched

KEYS = 3_000
SHOWN = 51  # the 50 rows of a page, and the first row of the next page
MANY = """
INSERT INTO read_model.stock
SELECT (jsonb_populate_record(s, jsonb_build_object(
    'inv_key', 'L' || n %% 3 || '|S' || n, 'location', 'L' || n %% 3, 'sku', 'S' || n,
    'on_hand_units', n %% 100 - 1, 'available_to_sell_units', n %% 100 - 3,
    'reorder_point_units', 5, 'order_up_to_units', 90))).*
FROM read_model.stock s, generate_series(1, %s) AS n
"""


def levels(ledger: psycopg.Connection) -> list[tuple[str, str]]:
    """Write a key for each side of each limit of the status rule. Return SKU and status."""
    found = []
    sides = product((-1, 0, 1, 5, 6), (None, 0, 5), (None, 0, 5), (0, 1, 6))
    for number, (on_hand, point, up_to, held) in enumerate(sides):
        stock = {"on_hand_units": on_hand, "unavailable_units": held}
        kept = state(
            sku=f"S{number:03}", stock=stock, reorder_point_units=point, order_up_to_units=up_to
        )
        level(ledger, kept)
        write(ledger, "item_location", sku=kept.inv_key.partition("|")[2])
        status = status_of(
            on_hand_units=on_hand,
            available_to_sell_units=kept.available_to_sell_units,
            reorder_point_units=point,
            order_up_to_units=up_to,
        )
        found.append((f"S{number:03}", status))
    return found


def test_a_status_filter_finds_each_key_of_that_status_and_no_other(
    ledger: psycopg.Connection,
) -> None:
    keys = levels(ledger)

    for status in STATUSES:
        expected = [sku for sku, of_key in keys if of_key == status]
        found = stock_page(Filters(status=status), rows=len(keys)).rows
        sums = totals(Filters(status=status))

        assert [row.sku for row in found] == expected != []
        assert {row.status for row in found} == {status}
        assert (sums.items, getattr(sums, status)) == (len(expected), len(expected))
        assert sums.on_hand_units == sum(row.on_hand_units for row in found)


def test_an_item_without_a_learned_demand_is_sorted_by_the_rate_of_its_policy(
    ledger: psycopg.Connection,
) -> None:
    for sku, rate_micro, initial_micro in (
        ("FAST", None, 5_000_000),
        ("LEARNED", 2_000_000, 9_000_000),
        ("SLOW", None, 1_000_000),
        ("UNKNOWN", None, None),
    ):
        services.range_item(location="L", sku=sku, policy={"initial_rate_micro": initial_micro})
        level(ledger, replace(state(sku=sku), demand=Demand(rate_micro=rate_micro)))

    rows = stock_page(Filters(), order=Order("cover")).rows

    assert [row.sku for row in rows] == ["FAST", "LEARNED", "SLOW", "UNKNOWN"]
    assert [row.rate_micro for row in rows] == [5_000_000, 2_000_000, 1_000_000, 0]


def scans(work: Callable[[], object], relation: str = "stock") -> Iterator[tuple[str, str, float]]:
    """Yield node, index and rows of each scan of a relation in the statements of `work`."""
    asked: list[tuple[str, Any]] = []

    def remember(execute: Any, sql: str, given: Any, *rest: Any) -> Any:
        asked.append((sql, given))
        return execute(sql, given, *rest)

    with connection.execute_wrapper(remember):
        work()
    for sql, given in asked:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", given)
            row = cursor.fetchone()
        assert row is not None
        plan = json.loads(row[0]) if isinstance(row[0], str) else row[0]
        yield from plan_scans(plan[0]["Plan"], relation)


def plan_scans(node: dict[str, Any], relation: str) -> Iterator[tuple[str, str, float]]:
    if node.get("Relation Name") == relation:
        rows = node["Actual Rows"] * node["Actual Loops"]
        yield node["Node Type"], node.get("Index Name", ""), rows
    for child in node.get("Plans", ()):
        yield from plan_scans(child, relation)


def scans_of(filters: Filters) -> list[tuple[str, str, float]]:
    """Return the scans of the statements for one page of the list and for its totals."""
    return [*scans(lambda: stock_page(filters)), *scans(lambda: totals(filters))]


@pytest.fixture(name="many")
def many_keys(ledger: psycopg.Connection) -> None:
    level(ledger, state())
    ledger.execute(MANY, (KEYS,))
    ledger.execute("VACUUM ANALYZE read_model.stock")


@pytest.mark.usefixtures("many")
def test_a_sorted_page_of_a_store_reads_only_the_rows_that_it_shows() -> None:
    filters = Filters(location="L1")

    for column in ("", *ORDERS):
        found = [
            *scans(partial(stock_page, filters, order=Order(column))),
            *scans(lambda: totals(filters)),
        ]

        nodes = {(node, index) for node, index, _ in found}
        assert ("Index Only Scan", "stock_list") in nodes, column
        read = [rows for node, _, rows in found if node != "Index Only Scan"]
        assert read == [SHOWN], column


@pytest.mark.usefixtures("many")
def test_a_rare_status_is_read_from_its_own_index() -> None:
    for status in ("negative", "out", "low", "over"):
        filters = Filters(status=status)
        items = totals(filters).items

        found = scans_of(filters)

        assert 0 < items < KEYS // 5, status
        of_index = [rows for _, index, rows in found if index == f"stock_{status}"]
        assert max(of_index) == items, status
        others = [rows for _, index, rows in found if index != f"stock_{status}"]
        assert max(others) <= SHOWN, status


@pytest.mark.usefixtures("many")
def test_a_search_for_few_codes_reads_only_their_keys() -> None:
    for text, items in (("S1700", 1), ("s170", 11), ("kettle", 0), ("S9x", 0)):
        filters = searched(Filters(text=text))

        found = scans_of(filters)

        assert totals(filters).items == items, text
        assert max((rows for _, _, rows in found), default=0) <= items, text


@pytest.mark.usefixtures("many")
def test_a_search_finds_the_same_keys_with_and_without_a_list_of_codes(
    ledger: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(ledger, "retail.location", code="L1", name="Lyon")
    for sku in ("S17", "S2900", "T"):
        put(ledger, "retail.product", code=sku, name=f"Kettle {sku}")

    for text in ("S17", "s29", "S3000", "l1 S17", "T", "kettle", "l1"):
        expected = stock_page(Filters(text=text), rows=KEYS)
        items = totals(Filters(text=text)).items
        for most in (0, 5, 10_000):
            monkeypatch.setattr(stock_filters, "MOST_CODES", most)

            found = stock_page(searched(Filters(text=text)), rows=KEYS)

            assert found.rows == [
                replace(row, priced_at_us=found.rows[0].priced_at_us) for row in expected.rows
            ], (text, most)
            assert items == len(found.rows), (text, most)


@pytest.mark.usefixtures("many")
def test_a_search_adds_only_two_sql_statements_to_the_page() -> None:
    client = person("buyer")
    listed = statements(client, "/")

    found = statements(client, "/?q=S17")

    # The two additional statements look up locations and product codes that match the word.
    assert len(found) == len(listed) + 2 <= BUDGET + 2
