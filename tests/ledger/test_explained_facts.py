"""`inventory explain` and the item page over real rows: their lines add up to the state."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr

from analytics.explain import Explanation, UnknownItem, explain
from analytics.explain_history import history_of
from cdc.contracts.partition import partition_of
from cdc.settings import Connections
from inventory.explain.lines import ADD, SUM, gaps
from inventory.tables.stock_adjustment import REASONS as ADJUSTMENT_REASONS
from tests.analytics.histories import PARTITIONS, archived, generate
from tests.ledger.folded import state_of
from tests.ledger.postgres import Server
from tests.ledger.rows import NOON, write
from tests.ledger.shown import project, worker_with

POLICY = {
    "clock_mode": "replayed",
    "replenish_family": "sS",
    "reorder_point_units": 40,
    "order_up_to_units": 90,
    "pack_units": 12,
    "price_mode": "advise",
    "regular_minor": 999,
    "allocated_units": 6,
    "recorded_by": "ann",
}


@pytest.fixture
def settings(server: Server, database: str, tmp_path: Path) -> Connections:
    url = SecretStr(server.url("app_ro", database))
    return Connections(home=tmp_path, read_database_url=url, query_token=SecretStr("token"))


def amounts(found: Explanation, section: str) -> dict[str, Any]:
    return {line.name: line.amount for part in found.sections if part.name == section
            for line in part.lines}  # fmt: skip


def trade(connection: psycopg.Connection, random: Random) -> None:
    """Write facts of every kind for one key, in a random order of business times."""
    write(connection, "item_location", **POLICY)
    for number in range(random.randrange(5, 40)):
        at = NOON + timedelta(minutes=random.randrange(-2000, 2000))
        kind = random.choice(("sale", "sale", "return", "count", "receipt", "transfer", "shrink"))
        moment = {"occurred_at": at, "recorded_by": "till-1"}
        match kind:
            case "sale":
                write(connection, "sale_line", source_ref=str(number), **moment)
            case "return":
                condition = random.choice(("resaleable", "damaged", "discarded"))
                columns = {"quantity_units": -1, "condition": condition, **moment}
                write(connection, "sale_line", source_ref=str(number), **columns)
            case "count":
                write(connection, "stock_count", units=random.randrange(50), **moment)
            case "receipt":
                order = write(connection, "purchase_order_line", ordered_units=24)
                line = {"purchase_order_line_id": order, "received_at": at}
                write(connection, "shipment_line", **line)
            case "transfer":
                leg = random.choice(("transfer_in", "transfer_out"))
                shipped = {"status": "shipped", "shipped_at": at, "shipped_units": 3}
                nothing = {"received_units": 0, "order_units": 0, "received_at": None}
                write(connection, "shipment_line", leg=leg, **shipped, **nothing)
            case _:
                reason = random.choice(ADJUSTMENT_REASONS)
                write(connection, "stock_adjustment", reason=reason, **moment)


@pytest.mark.parametrize("seed", range(12))
def test_the_lines_of_an_explanation_add_up_to_the_state(
    ledger: psycopg.Connection, settings: Connections, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    trade(ledger, Random(seed))  # noqa: S311 -- repeatable test data, no secret
    state = state_of(ledger, "L|S")
    project(ledger, state)

    shown = explain("S", "L", settings=settings)
    with worker_with(state) as url:
        monkeypatch.setenv("INVENTORY_WORKER_URLS", url)
        live = explain("S", "L", settings=settings)

    for found in (shown, live):
        assert gaps(found.sections) == ()
        assert found.on_hand_units == state.on_hand_units
        stock = amounts(found, "stock")
        assert stock["on_hand_units"] == state.on_hand_units
        assert not [name for name in stock if "not_in_state" in name]
        assert amounts(found, "source")["policy_offset"] == state.position.offset
    assert shown.came_from == "read model: no worker is known"
    assert live.came_from == "worker"
    assert amounts(live, "demand")["learned_rate_micro"] == state.demand.rate_micro or 0
    assert "signal" in amounts(live, "price")


def test_an_explanation_has_an_extra_line_for_facts_missing_from_the_state(
    ledger: psycopg.Connection, settings: Connections
) -> None:
    write(ledger, "item_location", **POLICY)
    write(ledger, "stock_count", units=50, occurred_at=NOON)
    project(ledger, state_of(ledger, "L|S"))
    write(ledger, "sale_line", quantity_units=4, occurred_at=NOON + timedelta(hours=1))
    write(ledger, "purchase_order_line", ordered_units=24)

    found = explain("S", "L", settings=settings)

    stock = amounts(found, "stock")
    assert gaps(found.sections) == ()
    assert (found.on_hand_units, stock["on_hand_units"]) == (46, 50)
    assert stock["on_hand_not_in_state_units"] == 4
    assert stock["on_order_not_in_state_units"] == -24


def test_the_lines_of_an_explanation_name_source_rows_and_people(
    ledger: psycopg.Connection, settings: Connections
) -> None:
    ranged = write(ledger, "item_location", **POLICY)
    count = write(ledger, "stock_count", units=50, occurred_at=NOON, recorded_by="bob")
    price = write(ledger, "price_change", price_minor=899, recorded_by="pat")
    order = write(ledger, "purchase_order_line", ordered_units=24, recorded_by="cy")
    project(ledger, state_of(ledger, "L|S"))

    terms = explain("S", "L", settings=settings).as_json()["terms"]

    named = {(term["name"], term["table"], term["id"], term["actor"]) for term in terms}
    assert named >= {
        ("last_count_units", "stock_count", count, "bob"),
        ("on_order_units", "purchase_order_line", order, "cy"),
        ("price_minor", "price_change", price, "pat"),
        ("policy_row", "item_location", ranged, "ann"),
    }
    assert {term["part"] for term in terms} == {ADD, SUM, "note"}


def test_an_explanation_at_a_past_business_time_uses_the_facts_up_to_then(
    ledger: psycopg.Connection, settings: Connections
) -> None:
    write(ledger, "item_location", **POLICY)
    write(ledger, "stock_count", units=50, occurred_at=NOON)
    write(ledger, "price_change", effective_from=NOON, price_minor=899)
    write(ledger, "sale_line", quantity_units=4, occurred_at=NOON + timedelta(hours=1))
    write(ledger, "stock_count", units=40, occurred_at=NOON + timedelta(hours=2))
    project(ledger, state_of(ledger, "L|S"))

    before = explain("S", "L", "2026-03-02T11:59:59Z", settings=settings)
    after_sale = explain("S", "L", "2026-03-02T13:00:00", settings=settings)

    assert (before.on_hand_units, amounts(before, "price")["price_minor"]) == (0, None)
    assert after_sale.on_hand_units == amounts(after_sale, "stock")["on_hand_units"] == 46
    assert amounts(after_sale, "stock")["sales_units"] == -4
    assert amounts(after_sale, "price")["price_minor"] == 899
    assert [part.name for part in after_sale.sections] == ["stock", "price", "source"]
    assert "as of business time 2026-03-02T13:00:00" in after_sale.as_text()


def test_an_explanation_without_a_state_has_only_the_stock_section(
    ledger: psycopg.Connection, settings: Connections
) -> None:
    write(ledger, "stock_count", units=5)

    found = explain("S", "L", settings=settings)

    assert [(part.name, gaps((part,))) for part in found.sections] == [("stock", ())]
    assert "stock_count" in found.as_text()


@pytest.mark.parametrize(
    ("sku", "location", "said"),
    [
        ("S", "NOWHERE", "--location 'NOWHERE': no such location; known locations: L"),
        ("s", "L", "'s' is unknown at L; upper and lower case differ: did you mean S?"),
        ("T", "L", "'T': no such SKU at L, nor anywhere else"),
        ("U", "L", "'U' is not at L; it is at M"),
    ],
)
def test_unknown_locations_and_unknown_skus_have_different_error_messages(
    ledger: psycopg.Connection, settings: Connections, sku: str, location: str, said: str
) -> None:
    write(ledger, "item_location", **POLICY)
    write(ledger, "item_location", location="M", sku="U")

    with pytest.raises(UnknownItem) as problem:
        explain(sku, location, settings=settings)

    assert str(problem.value).startswith(said)


def test_an_invalid_time_is_refused_with_the_name_of_its_option(settings: Connections) -> None:
    with pytest.raises(UnknownItem, match=r"--at 'yesterday': expected ISO 8601"):
        explain("S", "L", "yesterday", settings=settings)


@pytest.fixture
def late_facts(ledger: psycopg.Connection) -> Iterator[None]:
    """Write a replayed key's sale, then three earlier sales: late, too late to count, on time."""
    write(ledger, "item_location", **POLICY)
    for name, at in (
        ("first", NOON),
        ("late", NOON - timedelta(minutes=20)),
        ("expired", NOON - timedelta(days=4)),
        ("on time", NOON - timedelta(minutes=10)),
    ):
        write(ledger, "sale_line", source="t", source_ref=name, occurred_at=at)
    yield
    ledger.execute("DELETE FROM read_model.sales_window")


@pytest.mark.usefixtures("late_facts")
def test_a_sale_is_late_if_its_window_was_closed_by_the_keys_stream_time(
    ledger: psycopg.Connection, settings: Connections
) -> None:
    project(ledger, state_of(ledger, "L|S"))

    found = explain("S", "L", settings=settings)
    facts = import_module("webui.readmodel.explain").facts("L|S")  # here: needs Django set up

    expected = {
        "t first": "on_time",
        "t late": "late_counted",
        "t expired": "late_uncounted",
        "t on time": "on_time",
    }
    assert {step.document: step.arrival for step in found.steps} == expected
    assert {fact.document: fact.arrival for fact in facts} == expected


def test_an_uncounted_late_sale_is_late_even_if_its_window_has_an_on_time_sale(
    ledger: psycopg.Connection, settings: Connections
) -> None:
    write(ledger, "item_location", **POLICY)
    sold = NOON - timedelta(days=6)
    later = sold + timedelta(minutes=5)
    write(ledger, "sale_line", source_ref="on time", quantity_units=2, occurred_at=later)
    ledger.execute("DELETE FROM read_model.sales_window")
    project(ledger, state_of(ledger, "L|S"))  # the window row, which the next sale expires
    write(ledger, "sale_line", source_ref="newest", occurred_at=NOON)
    at = sold + timedelta(minutes=2)
    write(ledger, "sale_line", source_ref="expired", quantity_units=5, occurred_at=at)

    expected = {
        "till-1 on time": "on_time",
        "till-1 newest": "on_time",
        "till-1 expired": "late_uncounted",
    }
    found = explain("S", "L", settings=settings)
    assert {step.document: step.arrival for step in found.steps} == expected
    # This time is within the window, before the line that the window counts.
    then = explain("S", "L", (at + timedelta(minutes=1)).isoformat(), settings=settings)
    assert {step.document: step.arrival for step in then.steps} == {
        "till-1 expired": "late_uncounted"
    }
    facts = import_module("webui.readmodel.explain").facts("L|S")  # here: needs Django set up
    assert {fact.document: fact.arrival for fact in facts} == expected
    newest_us = int(NOON.timestamp()) * 1_000_000
    charted = import_module("webui.readmodel.history").history("L|S", newest_us)
    assert charted.demand(state_of(ledger, "L|S"))[0].sold_units == 2
    assert charted.stock()[0].late_facts == 1
    ledger.execute("DELETE FROM read_model.sales_window")


def test_counts_of_the_same_second_are_ordered_by_id(ledger: psycopg.Connection) -> None:
    facts = import_module("webui.readmodel.explain").facts  # here, because it needs Django set up
    write(ledger, "stock_count", kind="opening", units=7, occurred_at=NOON)
    write(ledger, "stock_count", kind="cycle", units=5, occurred_at=NOON)

    shown = [(fact.kind, fact.running_units, fact.is_before_count) for fact in facts("L|S")]

    assert shown == [("opening count", 7, True), ("cycle count", 5, False)]


def test_an_explanation_at_a_past_time_uses_the_archived_log(
    ledger: psycopg.Connection, settings: Connections
) -> None:
    history = generate(7)
    archived(settings.archive_dir, history)
    key = min(history.keys)
    location, _, sku = key.partition("|")
    write(ledger, "item_location", location=location, sku=sku)
    known = settings.model_copy(update={"partitions": PARTITIONS})
    number = partition_of(key.encode(), PARTITIONS)

    late = explain(sku, location, "2026-03-03T00:00:00", settings=known)
    early = explain(sku, location, "2026-02-01T00:00:00", settings=known)

    at_us = int(datetime(2026, 3, 3, tzinfo=UTC).timestamp()) * 1_000_000
    state = history_of(known, key, number, until_us=at_us).state
    assert state is not None
    names = ["stock", "demand", "levels", "quantity", "price", "hold", "source"]
    assert [section.name for section in late.sections] == names
    assert gaps(late.sections) == ()
    assert late.came_from == "archived log"
    assert amounts(late, "levels")["reorder_point_units"] == state.reorder_point_units == 20
    assert amounts(late, "hold")["episode_state"] == state.episode.state
    assert amounts(late, "source")["known_on_hand_units"] == state.on_hand_units
    assert amounts(late, "source")["policy_offset"] == state.position.offset
    windows = [one["start_us"] for one in late.as_json()["window_revisions"]]
    assert windows
    assert max(windows) <= at_us
    assert "Late changes of closed windows" in late.as_text()
    assert [section.name for section in early.sections] == ["stock", "price", "source"]
    assert (early.came_from, early.revisions) == (None, ())
