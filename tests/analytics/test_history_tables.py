"""The tables of a log and a run have the catalogue's columns and the rows of their sources."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analytics.history.catalogue import TABLES
from analytics.history.columns import value_as
from analytics.history.opened import History, Request, open_history
from inventory.tables.catalogue import CAPTURED
from tests.analytics.histories import PARTITIONS, generate
from tests.analytics.history_homes import a_small_home, rows
from tests.analytics.trade import images, six_weeks
from tests.analytics.two_runs import Home, a_home

TRADE = six_weeks()


@pytest.fixture(name="home", scope="module")
def a_home_of_the_module(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return a_home(tmp_path_factory.mktemp("tables") / "home", TRADE)


@pytest.fixture(name="history", scope="module")
def a_history(home: Home) -> History:
    home.run(buckets=2)
    return open_history(home.settings, Request())


def key_sums(found: list[dict[str, Any]], column: str) -> Counter[str]:
    sums: Counter[str] = Counter()
    for row in found:
        sums[row["inv_key"]] += row[column]
    return sums


@pytest.mark.parametrize(
    "table", [table for table in TABLES if table.source != "diff"], ids=attrgetter("name")
)
def test_every_file_has_the_columns_of_the_catalogue_and_its_order(
    history: History, table: Any
) -> None:
    files = history.files[table.name]

    assert len(files) == PARTITIONS
    for path in files:
        found = pq.ParquetFile(path)
        content = found.read()
        assert content.schema.equals(table.schema)
        ordered = content.sort_by([(name, "ascending") for name in table.order])
        assert ordered.select(table.order).equals(content.select(table.order))
        for group in range(found.num_row_groups if content.num_rows else 0):
            first = found.metadata.row_group(group).column(0)
            assert first.statistics is not None
            assert first.statistics.has_min_max


def test_the_log_has_each_record_once_with_its_text_and_verdict(history: History) -> None:
    found = {(row["partition"], row["offset"]): row for row in rows(history, "log")}

    assert len(found) == sum(map(len, TRADE.log.values()))
    for partition, arrivals in TRADE.log.items():
        for arrival in arrivals:
            row = found[partition, arrival.offset]
            assert (row["key"].encode(), row["value"].encode()) == (arrival.key, arrival.value)
            assert (row["store"], row["sku"]) == tuple(row["key"].split("|"))
            assert (row["admission"], row["generation"]) == ("new", 1)


@pytest.mark.parametrize("captured", CAPTURED, ids=attrgetter("name"))
def test_fact_tables_have_the_typed_values_of_the_row_images(
    history: History, captured: Any
) -> None:
    names = {"item_location": "policies", "sale_line": "sales", "stock_count": "counts"}
    names |= {"purchase_order_line": "orders", "shipment_line": "shipments"}
    names |= {"stock_adjustment": "adjustments"}
    name = names.get(captured.name, f"{captured.name}s")
    if captured.name == "pipeline_heartbeat":
        assert name not in history.files
        return

    found = {row["id"]: row for row in rows(history, name)}

    expected = {image["id"]: image for image in images(TRADE, captured.name)}
    assert found.keys() == expected.keys()
    for row_id, image in expected.items():
        row = found[row_id]
        assert {"store": image["location"], "sku": image["sku"]}.items() <= row.items()
        for column, kind in captured.columns:
            seen = row[column]
            if kind == "timestamp with time zone" and seen is not None:
                seen = f"{seen:%Y-%m-%dT%H:%M:%S.%f}Z"
            if kind == "date" and seen is not None:
                seen = seen.isoformat()
            assert seen == image.get(column)


def test_windows_hold_every_sale_but_the_late_ones(history: History) -> None:
    sold = key_sums(rows(history, "sales"), "quantity_units")
    windows = rows(history, "windows")
    counted = key_sums(windows, "sold_units")
    counted.subtract(key_sums(windows, "returned_units"))
    counted.update(key_sums(rows(history, "late"), "units"))

    assert counted == sold
    assert len({(row["inv_key"], row["start_at"]) for row in windows}) == len(windows)
    days = {row["day"] for row in windows}
    assert (max(days) - min(days)).days > 40  # states retain only four days
    assert {row["day"].isoweekday() == row["weekday"] for row in windows} == {True}


def test_the_last_movement_gives_the_on_hand_units_of_the_state(history: History) -> None:
    states = {row["inv_key"]: row for row in rows(history, "states")}
    movements = rows(history, "movements")
    last = {row["inv_key"]: row for row in movements}

    assert len(states) == 12
    assert {key: row["on_hand_after_units"] for key, row in last.items()} == {
        key: row["on_hand_units"] for key, row in states.items()
    }
    assert [row["until_at"] for row in last.values()] == [None] * 12


def test_variances_of_counts_are_the_shrink_of_the_states(history: History) -> None:
    movements = rows(history, "movements")
    counted = [row for row in movements if row["table_name"] == "stock_count"]
    opened = {row["inv_key"]: row["business_at"] for row in counted if row["cause"] == "opening"}
    # The state books a late sale from before the opening count as shrink (domain.md 2.4).
    earlier = {row["inv_key"] for row in movements if row["business_at"] < opened[row["inv_key"]]}

    shrink = key_sums([row for row in counted if row["cause"] != "opening"], "on_hand_units")

    states = {row["inv_key"]: -row["shrink_units"] for row in rows(history, "states")}
    assert len(states.keys() - earlier) >= 3
    assert {key: shrink[key] for key in states.keys() - earlier} == {
        key: states[key] for key in states.keys() - earlier
    }


def test_a_movement_in_the_second_of_a_count_is_before_it(tmp_path: Path) -> None:
    history = open_history(a_home(tmp_path / "home", generate(seed=2)).settings, Request())

    before: dict[str, dict[str, Any]] = {}
    for row in rows(history, "movements"):
        former = before.get(row["inv_key"])
        if former is not None:
            assert former["until_at"] == row["business_at"]
            assert (
                former["on_hand_after_units"] + row["on_hand_units"] == row["on_hand_after_units"]
            )
            is_tied = former["business_at"] == row["business_at"]
            assert not (is_tied and former["table_name"] == "stock_count" != row["table_name"])
        before[row["inv_key"]] = row


def test_corrected_and_deleted_sales_have_their_last_image_in_the_tables(tmp_path: Path) -> None:
    history = open_history(a_small_home(tmp_path).settings, Request())

    changed = [row for row in rows(history, "log") if row["op"] in ("u", "d")]
    sales = {row["id"]: row for row in rows(history, "sales")}
    moved = {row["id"] for row in rows(history, "movements") if row["table_name"] == "sale_line"}
    assert {row["op"] for row in changed} == {"u", "d"}
    assert {row["quantity_units"] for row in sales.values()} >= {7}  # corrected sales have 7 units
    assert moved == set(sales)
    unreadable = {row["admission"] for row in rows(history, "log")} - {"new", "resent"}
    assert unreadable == {"malformed"}
    assert Counter(row["reason"] for row in rows(history, "rejected"))["malformed"] > 0


def test_decisions_have_each_revision_with_its_record(history: History) -> None:
    decisions = rows(history, "decisions")
    commits = {(r["partition"], r["offset"]): r["committed_at"] for r in rows(history, "log")}

    assert len({(row["id"], row["revision"]) for row in decisions}) == len(decisions) > 100
    for row in (*decisions, *rows(history, "prices")):
        assert row["decided_at"] == commits[row["partition"], row["offset"]]
        assert row["inv_key"] == f"{row['store']}|{row['sku']}"
    open_needs = {row["need_id"] for row in rows(history, "states") if row["need_state"] == "open"}
    newest = {row["id"]: row["status"] for row in sorted(decisions, key=lambda r: r["revision"])}
    assert open_needs == {identity for identity, status in newest.items() if status == "open"}


def test_states_have_the_columns_of_the_policy_in_force(history: History) -> None:
    policies = {row["inv_key"]: row for row in rows(history, "policies")}
    prices = sorted(rows(history, "price_changes"), key=lambda row: row["effective_from"])
    in_force = {row["inv_key"]: (row["price_minor"], row["step"]) for row in prices}

    for state in rows(history, "states"):
        policy = policies[state["inv_key"]]
        for column in ("supplier", "cost_minor", "replenish_family", "regular_minor"):
            assert state[column] == policy[column]
        assert (state["price_minor"], state["price_step"]) == in_force[state["inv_key"]]
        position = state["base_position_units"] + state["requested_units"]
        assert state["inventory_position_units"] == position


def every_column() -> Iterator[tuple[str, Any]]:
    return ((table.name, column) for table in TABLES for column in table.columns)


def test_money_is_in_minor_units_and_times_are_utc() -> None:
    for table, column in every_column():
        where = f"{table}.{column.name}"
        if column.name.endswith("_minor"):
            assert (column.kind, column.unit) == ("bigint", "minor units"), where
        if column.name.endswith(("_at", "_from", "_until", "_time")):
            assert column.unit == "UTC", where
        assert not column.name.endswith("_us"), where
    times = [pa.types.is_timestamp(field.type) for table in TABLES for field in table.schema]
    assert any(times)


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("bigint", 2**63 - 1, 2**63 - 1),
        ("bigint", 2**63, None),
        ("bigint", True, None),
        ("integer", 2**31 - 1, 2**31 - 1),
        ("integer", 2**31, None),
        ("text", "a", "a"),
        ("text", 5, None),
        ("boolean", False, False),
        ("boolean", 0, None),
        ("date", 20_000, date(2024, 10, 4)),
        ("date", "2024-10-04", date(2024, 10, 4)),
        ("date", "2024-10-04Z", date(2024, 10, 4)),  # as in tests/golden/purchase_order_line.c.json
        ("date", "4.10.2024", None),
        ("date", -1, None),
        ("bigint[]", [1, "x"], [1, None]),
        ("bigint[]", "1", None),
        ("timestamp with time zone", 0, 0),
        ("timestamp with time zone", 253_402_300_800_000_000, None),
        ("timestamp with time zone", "soon", None),
    ],
)
def test_a_value_that_does_not_fit_the_column_type_becomes_null(
    kind: str, given: object, expected: object
) -> None:
    assert value_as(kind, given) == expected


def test_a_record_key_that_is_not_utf8_is_in_the_log_but_has_no_facts(tmp_path: Path) -> None:
    history = generate(seed=1, records=0, keys=1)
    [partition] = [number for number, part in history.log.items() if part]
    last = history.log[partition][-1]
    forged = replace(last, offset=last.offset + 1, key=b"L\xff|S0")
    history.log[partition].append(
        replace(forged, value=(last.value or b"").replace(b'"id": 2', b'"id": 9'))
    )

    found = open_history(a_home(tmp_path / "home", history).settings, Request())

    assert [row["key"] for row in rows(found, "log")][-1] == "L\ufffd|S0"
    assert [row["id"] for row in rows(found, "counts")] == [2]
