"""Proposals that the actuator writes for decisions: newest revision, newest id, closings."""

from dataclasses import replace
from itertools import permutations
from typing import Any

import psycopg
import pytest

from cdc.contracts.decisions import DecisionContext, PriceEvent, ReorderEvent
from cdc.contracts.rejects import Origin
from inventory.model.ids import ProposalId, ReorderId
from inventory.model.outputs import PriceOutput, ReorderOutput
from inventory.revision import LOGIC_REVISION
from ledger import services
from streams.sinks.proposals import approved, propose

KEY = "L|S:1-9"  # an SKU that looks like the end of a reorder id
OPENED = ReorderEvent(
    ReorderOutput(
        id=ReorderId(f"R:{KEY}:1-10"),
        revision=1,
        status="open",
        quantity_units=24,
        base_position_units=5,
        reorder_point_units=6,
        order_up_to_units=30,
        flags=(),
        reason=None,
        terms=(),
    ),
    supplier="ACME",
    cost_minor=120,
    at=DecisionContext(KEY, Origin(1, 0, 10), 1_795_229_285_100_000, LOGIC_REVISION),
)


def event(offset: int = 10, *, generation: int = 1, **changes: Any) -> ReorderEvent:
    named = ReorderId(f"R:{KEY}:{generation}-{offset}")
    return replace(OPENED, output=replace(OPENED.output, id=named, **changes))


def told(sinks: psycopg.Connection, *events: ReorderEvent) -> list[tuple[Any, ...]]:
    """Write each event in its own batch. Return (end of id, revision, status, quantity) by row."""
    for one in events:
        with sinks.transaction():
            propose(sinks, [one], [])
    return sinks.execute(
        "SELECT split_part(reorder_id, ':', 4), revision, status, quantity_units"
        " FROM app.reorder_proposal ORDER BY opened_at"
    ).fetchall()


def test_only_a_higher_revision_replaces_a_stored_proposal(sinks: psycopg.Connection) -> None:
    assert told(sinks, event(revision=2), event(revision=1, quantity_units=3)) == [
        ("1-10", 2, "open", 24)
    ]
    assert told(sinks, event(revision=2, quantity_units=4)) == [("1-10", 2, "open", 24)]
    assert told(sinks, event(revision=4, quantity_units=30)) == [("1-10", 4, "open", 30)]


def test_a_re_sent_revision_leaves_the_time_of_the_last_change(sinks: psycopg.Connection) -> None:
    changed = "SELECT updated_at FROM app.reorder_proposal"
    told(sinks, event())
    before = sinks.execute(changed).fetchone()

    told(sinks, event(), event())

    assert sinks.execute(changed).fetchone() == before


@pytest.mark.parametrize("order", list(permutations((0, 1, 2))))
def test_newest_proposal_of_a_key_stays_open_in_any_arrival_order(
    sinks: psycopg.Connection, order: tuple[int, ...]
) -> None:
    known = (event(999), event(1000), event(5, generation=2))

    found = told(sinks, *(known[place] for place in order))

    assert {row[0]: row[2] for row in found} == {
        "1-999": "superseded",
        "1-1000": "superseded",
        "2-5": "open",
    }


def test_older_proposal_is_superseded_by_a_newer_closed_one(
    sinks: psycopg.Connection,
) -> None:
    told(sinks, event(20, revision=2, status="cancelled", quantity_units=None))

    assert told(sinks, event(10))[-1][2] == "superseded"


def test_proposals_of_one_batch_are_applied_in_id_order(sinks: psycopg.Connection) -> None:
    with sinks.transaction():
        propose(sinks, [event(20), event(10), event(20, revision=2, quantity_units=36)], [])

    assert sorted(told(sinks)) == [("1-10", 1, "superseded", 24), ("1-20", 2, "open", 36)]


@pytest.mark.parametrize("word", ["approve", "reject"])
def test_approved_or_rejected_proposal_keeps_its_values_until_it_closes(
    sinks: psycopg.Connection, word: str
) -> None:
    told(sinks, event())
    sinks.execute("UPDATE app.reorder_proposal SET decided_action = %s, decided_by = 'ann'", [word])

    assert told(sinks, event(revision=2, quantity_units=99)) == [("1-10", 1, "open", 24)]
    assert told(sinks, event(revision=2, status="snoozed")) == [("1-10", 1, "open", 24)]
    closed = event(revision=3, status="accepted", quantity_units=None)
    assert told(sinks, closed) == [("1-10", 3, "accepted", 24)]


def test_snoozed_proposal_accepts_newer_revisions(sinks: psycopg.Connection) -> None:
    told(sinks, event())
    sinks.execute("UPDATE app.reorder_proposal SET decided_action = 'snooze'")

    assert told(sinks, event(revision=2, status="snoozed")) == [("1-10", 2, "snoozed", 24)]
    assert told(sinks, event(revision=3, quantity_units=30)) == [("1-10", 3, "open", 30)]


def test_approval_of_an_outdated_revision_gets_a_conflict(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    services.range_item(location="L", sku="S:1-9", policy={"supplier": "ACME"})
    told(sinks, event())

    told(sinks, event(revision=2, quantity_units=30))

    with pytest.raises(services.Conflict, match=r"You saw revision 1 .* It now has revision 2"):
        services.approve_reorder(
            services.ApproveReorder(reorder_id=f"R:{KEY}:1-10", shown_revision=1)
        )


def test_only_the_newest_price_proposal_of_a_key_stays_open(sinks: psycopg.Connection) -> None:
    def offer(offset: int) -> PriceEvent:
        output = PriceOutput(
            id=ProposalId(f"P:{KEY}:1-{offset}"),
            revision=1,
            status="open",
            old_minor=999,
            new_minor=899,
            step=1,
            signal="overstock",
            clamps=(),
            effective_at_us=0,
            prior_minor=None,
            reason=None,
            floor_minor=750,
            regular_minor=999,
        )
        return PriceEvent(output, OPENED.at)

    for offset in (30, 2, 4):
        propose(sinks, [], [offer(offset)])

    assert sinks.execute(
        "SELECT split_part(proposal_id, ':', 4), status FROM app.price_proposal ORDER BY opened_at"
    ).fetchall() == [("1-30", "open"), ("1-2", "cancelled"), ("1-4", "cancelled")]


def approved_soon(sinks: psycopg.Connection) -> None:
    """Call `approved` in a transaction that waits at most 200 ms for a lock."""
    with sinks.transaction():
        sinks.execute("SET LOCAL lock_timeout = '200ms'")
        approved(sinks)


def test_a_switch_waits_for_an_approval_that_has_locked_its_need(
    ledger: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    """Otherwise they could deadlock: the switch waits for the row, the approval for the table."""
    told(sinks, event())
    with ledger.transaction():
        ledger.execute("SELECT FROM app.reorder_proposal FOR UPDATE")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            approved_soon(sinks)
        ledger.execute("UPDATE app.reorder_proposal SET decided_action = 'approve'")

    with sinks.transaction():
        assert approved(sinks)[0] == {OPENED.output.id: KEY}
