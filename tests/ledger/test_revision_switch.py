"""Exactly one logic revision decides: first start, fence, switch, and desks after a switch."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from cdc.contracts.decisions import PriceEvent, ReorderEvent, encode_reorder
from cdc.contracts.topics import PRICE_EVENTS, REORDER_EVENTS, output_topics
from cdc.deciding import former_revision, recorded_revision
from deploy.stack.processes import wait_until
from inventory.model.ids import ProposalId, ReorderId
from inventory.revision import LOGIC_REVISION
from streams.sinks.active import (
    RevisionSwitched,
    Switch,
    active_or_first,
    hold_active,
    switch,
)
from streams.sinks.actuator import Actuator
from streams.sinks.projector import TOPICS, Projector
from streams.sinks.proposals import ApprovalInFlight, approved, propose, propose_only
from streams.sinks.source import SinkRecord
from streams.sinks.takeover import take_over
from tests.cdc.test_records import PRICE, REORDER
from tests.ledger.postgres import Server

OURS, THEIRS, THIRD = range(LOGIC_REVISION, LOGIC_REVISION + 3)


def need(key: str, offset: int, *, by: int, **changes: Any) -> ReorderEvent:
    named = ReorderId(f"R:{key}:1-{offset}")
    at = replace(REORDER.at, inv_key=key, logic_revision=by)
    return replace(REORDER, at=at, output=replace(REORDER.output, id=named, **changes))


def offer(key: str, offset: int, *, by: int) -> PriceEvent:
    named = ProposalId(f"P:{key}:1-{offset}")
    at = replace(PRICE.at, inv_key=key, logic_revision=by)
    return replace(PRICE, at=at, output=replace(PRICE.output, id=named))


def decided(to: int, former: int | None) -> Switch:
    return Switch(to, former, "test", {0: 12}, {"equal": 3})


def move(sinks: psycopg.Connection, to: int, former: int | None) -> None:
    with sinks.transaction():
        switch(sinks, decided(to, former))


def needs(sinks: psycopg.Connection) -> list[tuple[Any, ...]]:
    return sinks.execute(
        "SELECT reorder_id, status, quantity_units, logic_revision FROM app.reorder_proposal"
        " ORDER BY reorder_id"
    ).fetchall()


def read(event: ReorderEvent, revision: int, offset: int = 0) -> SinkRecord:
    topic = output_topics(revision).reorder_events
    return SinkRecord(topic, 0, offset, event.at.inv_key.encode(), encode_reorder(event))


def test_a_new_installation_follows_the_first_revision_that_starts(
    sinks: psycopg.Connection,
) -> None:
    assert recorded_revision(sinks) is None

    assert active_or_first(sinks, 4) == 4
    assert active_or_first(sinks, 5) == 4
    assert recorded_revision(sinks) == 4


def test_when_two_revisions_start_at_once_the_first_recorded_one_decides(
    ledger: psycopg.Connection, server: Server, database: str
) -> None:
    def start(revision: int) -> int:
        with psycopg.connect(server.url("sink_rw", database), autocommit=True) as own:
            return active_or_first(own, revision)

    def both_wait() -> bool:
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        return ledger.execute(waiting).fetchone() == (2,)

    with ThreadPoolExecutor(2) as pool:
        with ledger.transaction():
            # Reads pass this lock, so both have found no revision before one is recorded.
            ledger.execute("LOCK TABLE app.revision_switch IN EXCLUSIVE MODE")
            both = [pool.submit(start, revision) for revision in (OURS, THEIRS)]
            assert wait_until(both_wait, timeout_s=60)
        decides = {each.result(60) for each in both}

    assert decides == {recorded_revision(ledger)}
    assert ledger.execute("SELECT count(*) FROM app.revision_switch").fetchone() == (1,)


def test_a_switch_from_a_revision_that_no_longer_decides_is_refused(
    sinks: psycopg.Connection,
) -> None:
    move(sinks, OURS, None)
    move(sinks, THEIRS, OURS)

    with pytest.raises(
        RevisionSwitched,
        match=f"logic revision {THEIRS} decides now, not {OURS}: nothing was switched",
    ):
        move(sinks, THIRD, OURS)

    assert recorded_revision(sinks) == THEIRS


def test_every_switch_is_stored_with_its_offsets_and_comparison(sinks: psycopg.Connection) -> None:
    move(sinks, OURS, None)
    move(sinks, THEIRS, OURS)
    move(sinks, OURS, THEIRS)

    kept = sinks.execute(
        "SELECT revision, former, reached, comparison, switched_by FROM app.revision_switch"
        " ORDER BY id"
    ).fetchall()

    known = {"0": 12}, {"equal": 3}, "test"
    assert kept == [(OURS, None, *known), (THEIRS, OURS, *known), (OURS, THEIRS, *known)]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        sinks.execute("DELETE FROM app.revision_switch")


def test_a_rollback_is_possible_only_once(sinks: psycopg.Connection) -> None:
    move(sinks, OURS, None)
    assert former_revision(sinks) is None
    move(sinks, THEIRS, OURS)
    assert former_revision(sinks) == OURS

    with sinks.transaction():
        switch(sinks, Switch(OURS, THEIRS, "test", {}, {"rollback": True}))

    assert former_revision(sinks) is None


def test_a_switch_waits_for_transactions_of_the_former_revision(
    sinks: psycopg.Connection, server: Server, database: str
) -> None:
    move(sinks, OURS, None)
    waiting = threading.Event()

    def switch_beside() -> None:
        with psycopg.connect(server.url("sink_rw", database)) as other:
            waiting.set()
            switch(other, decided(THEIRS, OURS))

    beside = threading.Thread(target=switch_beside)
    with sinks.transaction():
        hold_active(sinks, OURS)
        beside.start()
        assert waiting.wait(30)
        held_until_here = recorded_revision(sinks)
    beside.join(30)

    assert (held_until_here, recorded_revision(sinks)) == (OURS, THEIRS)
    with (
        pytest.raises(RevisionSwitched, match=f"{THEIRS} decides now, not {OURS}"),
        sinks.transaction(),
    ):
        hold_active(sinks, OURS)


def test_the_actuator_reads_the_topics_of_the_deciding_revision(sinks: psycopg.Connection) -> None:
    actuator = Actuator()

    assert actuator.topics(sinks) == (REORDER_EVENTS, PRICE_EVENTS)
    move(sinks, THEIRS, OURS)

    other = output_topics(THEIRS)
    assert actuator.topics(sinks) == (other.reorder_events, other.price_events)


def test_the_actuator_writes_no_proposals_of_a_former_revision(
    sinks: psycopg.Connection,
) -> None:
    actuator = Actuator()
    actuator.topics(sinks)
    move(sinks, THEIRS, OURS)

    with pytest.raises(RevisionSwitched), sinks.transaction():
        actuator.write(sinks, [read(need("L|A", 10, by=OURS), OURS)])

    assert needs(sinks) == []
    assert sinks.execute("SELECT count(*) FROM read_model.sink_position").fetchone() == (0,)


def test_the_actuator_skips_records_that_another_revision_wrote_to_its_topic(
    sinks: psycopg.Connection,
) -> None:
    actuator = Actuator()
    actuator.topics(sinks)

    with sinks.transaction():
        actuator.write(
            sinks,
            [
                read(need("L|A", 10, by=THEIRS), OURS),
                read(need("L|B", 10, by=OURS), OURS, offset=1),
            ],
        )

    assert [row[0] for row in needs(sinks)] == ["R:L|B:1-10"]


def test_after_a_switch_only_proposals_of_the_new_revision_are_open(
    sinks: psycopg.Connection,
) -> None:
    both, earlier, only_former = "L|A", "L|B", "L|C"
    former = [
        need(both, 10, by=OURS, revision=5),
        need(earlier, 90, by=OURS),
        need(only_former, 7, by=OURS),
    ]
    propose(sinks, former, [offer(both, 3, by=OURS), offer(earlier, 3, by=OURS)])

    with sinks.transaction():
        propose_only(
            sinks,
            [
                need(both, 10, by=THEIRS, revision=1, quantity_units=30),
                need(earlier, 40, by=THEIRS),
            ],
            [offer(both, 3, by=THEIRS)],
        )

    assert needs(sinks) == [
        ("R:L|A:1-10", "open", 30, THEIRS),
        ("R:L|B:1-40", "open", 24, THEIRS),
        ("R:L|B:1-90", "superseded", 24, OURS),
        ("R:L|C:1-7", "superseded", 24, OURS),
    ]
    assert sinks.execute(
        "SELECT proposal_id, status, reason FROM app.price_proposal ORDER BY proposal_id"
    ).fetchall() == [
        ("P:L|A:1-3", "open", None),
        ("P:L|B:1-3", "cancelled", "logic_revision"),
    ]


def test_a_rollback_restores_the_needs_of_the_former_revision(sinks: psycopg.Connection) -> None:
    propose(sinks, [need("L|A", 10, by=OURS, revision=5)], [])
    with sinks.transaction():
        propose_only(sinks, [need("L|A", 10, by=THEIRS, revision=9, quantity_units=30)], [])

    with sinks.transaction():
        propose_only(sinks, [need("L|A", 10, by=OURS, revision=5)], [])

    assert needs(sinks) == [("R:L|A:1-10", "open", 24, OURS)]


def test_a_rollback_reopens_needs_that_the_other_revision_never_had(
    sinks: psycopg.Connection,
) -> None:
    ours = [need("L|A", 10, by=OURS, revision=5)], [offer("L|A", 3, by=OURS)]
    propose(sinks, *ours)
    with sinks.transaction():
        propose_only(sinks, [need("L|A", 40, by=THEIRS)], [])

    with sinks.transaction():
        propose_only(sinks, *ours)

    assert needs(sinks) == [
        ("R:L|A:1-10", "open", 24, OURS),
        ("R:L|A:1-40", "superseded", 24, THEIRS),
    ]
    assert sinks.execute("SELECT status, reason FROM app.price_proposal").fetchall() == [
        ("open", None)
    ]


def test_a_revision_switch_leaves_an_approved_need_unchanged(sinks: psycopg.Connection) -> None:
    propose(sinks, [need("L|A", 10, by=OURS)], [])
    sinks.execute("UPDATE app.reorder_proposal SET decided_action = 'approve'")

    with sinks.transaction():
        propose_only(sinks, [need("L|A", 10, by=THEIRS, quantity_units=30)], [])

    assert needs(sinks) == [("R:L|A:1-10", "open", 24, OURS)]


def test_a_switch_is_refused_while_an_approved_order_is_in_flight(
    sinks: psycopg.Connection,
) -> None:
    propose(sinks, [need("L|A", 10, by=OURS)], [])
    sinks.execute("UPDATE app.reorder_proposal SET decided_action = 'approve'")
    theirs = [need("L|A", 40, by=THEIRS)]

    with pytest.raises(ApprovalInFlight, match=r"R:L\|A:1-10 was approved"), sinks.transaction():
        propose_only(sinks, theirs, [])
    assert needs(sinks) == [("R:L|A:1-10", "open", 24, OURS)]

    propose(sinks, [need("L|A", 10, by=OURS, revision=3, status="accepted")], [])
    with sinks.transaction():
        propose_only(sinks, theirs, [])
    assert [row[:2] for row in needs(sinks)] == [
        ("R:L|A:1-10", "accepted"),
        ("R:L|A:1-40", "open"),
    ]


def test_a_switch_accepts_approved_orders_that_the_new_revision_has_processed(
    sinks: psycopg.Connection,
) -> None:
    """The former revision's workers have ended, so no event of theirs reports the acceptance."""
    propose(sinks, [need("L|A", 10, by=OURS), need("L|B", 10, by=OURS)], [])
    sinks.execute(
        "UPDATE app.reorder_proposal SET decided_action = 'approve' WHERE inv_key = 'L|A'"
    )
    with sinks.transaction():
        ordered, _ = approved(sinks)

    with sinks.transaction():
        propose_only(sinks, [need("L|A", 40, by=THEIRS)], [], ordered)

    assert ordered == {"R:L|A:1-10": "L|A"}
    rows = "SELECT reorder_id, status, reason FROM app.reorder_proposal ORDER BY reorder_id"
    assert sinks.execute(rows).fetchall() == [
        ("R:L|A:1-10", "accepted", None),
        ("R:L|A:1-40", "open", None),
        ("R:L|B:1-10", "superseded", "logic_revision"),
    ]


def test_the_projector_empties_a_read_model_that_another_revision_filled(
    sinks: psycopg.Connection,
) -> None:
    position = "INSERT INTO read_model.sink_position VALUES ('projector', %s, 0, 7, NULL, now())"
    window = "INSERT INTO read_model.sales_window SELECT 'L|A', 0, 1, 0, 1, 0, 5, 0, 1, 0, 3"
    sinks.execute(position, (TOPICS[0],))
    sinks.execute(window)

    assert tuple(Projector().topics(sinks)) == TOPICS
    assert sinks.execute("SELECT count(*) FROM read_model.sales_window").fetchone() == (1,)
    sinks.execute(position, (output_topics(9).on_hand_changelog,))

    assert take_over(sinks, "projector", TOPICS)
    assert sinks.execute("SELECT count(*) FROM read_model.sales_window").fetchone() == (0,)
    assert sinks.execute("SELECT count(*) FROM read_model.sink_position").fetchone() == (0,)
    assert not take_over(sinks, "projector", TOPICS)
