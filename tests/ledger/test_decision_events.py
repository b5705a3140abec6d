"""Events of many proposals that one statement changes: a trigger writes them at the commit."""

from dataclasses import replace
from typing import Any

import psycopg
import pytest

from cdc.contracts.decisions import ReorderEvent
from inventory.model.ids import ReorderId
from streams.sinks.proposals import propose
from tests.cdc.test_records import PRICE, REORDER

EVENTS = "SELECT subject, change FROM app.decision_event ORDER BY id"
REVISED = "UPDATE app.reorder_proposal SET revision = revision + 1"


def need(key: str, offset: int, **changes: Any) -> ReorderEvent:
    named = ReorderId(f"R:{key}:1-{offset}")
    at = replace(REORDER.at, inv_key=key)
    return replace(REORDER, at=at, output=replace(REORDER.output, id=named, **changes))


def events(ledger: psycopg.Connection) -> list[tuple[str, str]]:
    return ledger.execute(EVENTS).fetchall()


def test_the_closed_event_of_a_need_precedes_the_opened_event_of_its_successor(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    propose(sinks, [need("L|A", 7, revision=1)], [])
    propose(sinks, [need("L|A", 9), need("L|A", 7, revision=2, status="accepted")], [])

    assert events(ledger) == [
        ("R:L|A:1-7", "opened"),
        ("R:L|A:1-7", "closed"),
        ("R:L|A:1-9", "opened"),
    ]


def test_events_of_a_statement_have_the_order_of_its_rows(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    keys = [f"L|{number * 37 % 101}" for number in range(101)]
    propose(sinks, [need(key, 1, revision=1) for key in keys], [])
    propose(sinks, [need(key, 1, revision=2) for key in reversed(keys)], [])

    expected = [(f"R:{key}:1-1", "opened") for key in keys]
    expected += [(f"R:{key}:1-1", "revised") for key in reversed(keys)]
    assert events(ledger) == expected


def test_each_statement_of_a_transaction_writes_events_and_the_queue_is_empty(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    with sinks.transaction():
        propose(sinks, [need("L|A", 7), need("L|B", 8)], [])
        sinks.execute(f"{REVISED} WHERE inv_key = 'L|B'")
        sinks.execute(f"{REVISED} WHERE inv_key = 'L|C'")
        sinks.execute("UPDATE app.reorder_proposal SET as_of_us = as_of_us + 1")

    assert events(ledger) == [
        ("R:L|A:1-7", "opened"),
        ("R:L|B:1-8", "opened"),
        ("R:L|B:1-8", "revised"),
    ]
    assert ledger.execute("SELECT * FROM app.decision_change").fetchall() == []


def test_a_statement_that_is_rolled_back_has_no_event(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    propose(sinks, [need("L|A", 7)], [])
    with sinks.transaction(force_rollback=True):
        sinks.execute(REVISED)

    assert events(ledger) == [("R:L|A:1-7", "opened")]
    assert ledger.execute("SELECT * FROM app.decision_change").fetchall() == []


@pytest.mark.parametrize(
    ("kind", "table"), [("need", "reorder_proposal"), ("price", "price_proposal")]
)
def test_an_event_has_every_column_of_its_proposal_but_terms_and_position(
    ledger: psycopg.Connection, sinks: psycopg.Connection, kind: str, table: str
) -> None:
    propose(sinks, [REORDER], [PRICE])

    columns = ledger.execute(
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = 'app' AND table_name = %s",
        (table,),
    ).fetchall()
    [(proposal,)] = ledger.execute(
        "SELECT proposal FROM app.decision_event WHERE kind = %s", (kind,)
    ).fetchall()
    assert {*proposal} == {name for (name,) in columns} - {"terms", "position"}
