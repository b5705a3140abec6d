"""Incidents that the demo plans for its morning: their rows, and the results of the rules."""

from typing import Any

import psycopg

from bench.retailer.demo import seed_demo
from bench.retailer.morning import HANDHELD, begin_morning
from cdc.contracts.times import us_of
from inventory.fold.record import Applied, Refused, fold
from inventory.log.dedupe import Admission
from inventory.model.ids import InvKey
from inventory.model.record import Record
from inventory.model.state import KeyState
from inventory.pricing.signals import BELOW_FLOOR
from ledger.kernel.transactions import database_now
from tests.ledger.folded import images, state_of_history

Row = dict[str, Any]


def folded(state: KeyState, table: str, row: Row, before: Row | None = None) -> Applied | Refused:
    offset = state.position.offset + 1
    op = "c" if before is None else "u"
    key, at_us = InvKey(state.inv_key), row["recorded_at"]
    found = fold(
        state, Record(offset, key, table, op, before, row, offset, at_us), Admission.NEW, 1
    )
    assert isinstance(found, Applied | Refused), found
    return found


def test_demo_morning_has_two_rejected_old_counts_and_one_price_below_its_floor(
    ledger: psycopg.Connection,
) -> None:
    midnight = database_now().replace(hour=0, minute=0, second=0, microsecond=0)
    assert seed_demo(seed=3, size="tiny", midnight=midnight)
    keys = [key for (key,) in ledger.execute("SELECT inv_key FROM retail.item_location").fetchall()]
    states = {key: state_of_history(ledger, key) for key in keys}
    policies = {key: dict(images(ledger, key))["item_location"] for key in keys}

    assert begin_morning(seed=3, size="tiny")
    assert not begin_morning(seed=3, size="tiny")

    refused = []
    raised = []
    for key, state in states.items():
        rows = images(ledger, key)
        for table, row in rows:
            if table == "stock_count" and row["recorded_by"] == HANDHELD:
                verdict = folded(state, table, row)
                assert isinstance(verdict, Refused), verdict
                refused.append(verdict.reason)
        prices = [row for table, row in rows if table == "price_change"]
        policy = dict(rows)["item_location"]
        if policy["cost_minor"] > policies[key]["cost_minor"]:
            planned = folded(state, "price_change", prices[-1])
            changed = folded(planned.state or state, "item_location", policy, policies[key])
            assert changed.state is not None
            raised.append((changed.state.price_episode.last_output, prices[-1]))
    assert refused == ["count_beyond_horizon"] * 2
    [(proposal, planned_row)] = raised
    assert proposal is not None
    assert (proposal.signal, proposal.status) == (BELOW_FLOOR, "open")
    assert proposal.old_minor < proposal.floor_minor <= proposal.new_minor
    assert us_of(midnight) < proposal.effective_at_us < planned_row["effective_from"]
    assert planned_row["price_minor"] > proposal.old_minor
