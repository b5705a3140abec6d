"""The item page's own sum over the facts of a key."""

from importlib import import_module

import psycopg

from tests.ledger.rows import NOON, write


def test_counts_of_one_second_stand_in_the_order_of_their_ids(ledger: psycopg.Connection) -> None:
    facts = import_module("webui.readmodel.explain_selectors").facts  # late: it needs Django set up
    write(ledger, "stock_count", kind="opening", units=7, occurred_at=NOON)
    write(ledger, "stock_count", kind="cycle", units=5, occurred_at=NOON)

    shown = [(fact.kind, fact.running_units, fact.is_before_count) for fact in facts("L|S")]

    assert shown == [("opening count", 7, True), ("cycle count", 5, False)]
