"""Automatic prices are written only if every condition holds. Each has a test on both sides."""

import time
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from cdc.contracts.times import us_of
from cdc.contracts.topics import ON_HAND_CHANGELOG
from ledger import services
from ledger.automation.prices import Candidate, objections_to, why_not, write_due
from ledger.kernel.transactions import database_now
from ledger.pricing.prices import next_window_start
from tests.ledger.concurrency import PATIENCE_S, at_the_same_time
from tests.ledger.postgres import Server
from tests.ledger.rows import price_proposal, write
from tests.ledger.test_orders_automatic import alive
from tests.ledger.test_prices import POLICY

_WAITED_FOR = "SELECT FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
_ALL_WAITING = "SELECT FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0"
NOW_US = 1_800_000_000_000_000
MINUTE_US = 60_000_000
FINE: dict[str, Any] = {
    "proposal_id": "P:L|S:1-2",
    "inv_key": "L|S",
    "revision": 1,
    "signal": "overstock",
    "old_minor": 1000,
    "new_minor": 900,
    "settled_since_us": NOW_US - MINUTE_US,
    "price_mode": "auto",
    "auto_permille": 100,
    "cost_minor": 500,
    "margin_permille": 200,
    "tax_bp": 2000,
    "is_stopped": False,
    "has_rule_price_that_day": False,
    "pipeline_age_us": MINUTE_US,
}


@pytest.mark.parametrize(
    ("holds", "objects", "why"),
    [
        ({}, {"price_mode": "advise"}, "a person has to approve each price"),
        ({}, {"signal": "below_floor"}, "below its floor"),
        ({"new_minor": 900}, {"new_minor": 899}, "larger than the largest automatic change"),
        ({"new_minor": 1100}, {"new_minor": 1101}, "larger than the largest automatic change"),
        ({"cost_minor": 600}, {"cost_minor": 601}, "floor has risen"),
        ({}, {"has_rule_price_that_day": True}, "already set a price for the day"),
        ({}, {"is_stopped": True}, "stopped"),
        ({}, {"settled_since_us": NOW_US - MINUTE_US + 1}, "within the last minute"),
        ({}, {"pipeline_age_us": MINUTE_US + 1}, "no heartbeat"),
        ({}, {"pipeline_age_us": None}, "no heartbeat"),
    ],
)
def test_each_condition_of_an_automatic_price_has_its_exact_boundary(
    holds: dict[str, Any], objects: dict[str, Any], why: str
) -> None:
    def verdict(changes: dict[str, Any]) -> str | None:
        return why_not(Candidate(**FINE | changes), now_us=NOW_US, as_of_us=NOW_US)

    assert verdict(holds) is None
    assert why in (verdict(objects) or "")


@pytest.mark.parametrize(
    ("as_of_us", "why"),
    [
        (NOW_US - MINUTE_US, None),
        (NOW_US - MINUTE_US - 1, "the stock figures of the item are missing or more than 60 s old"),
        (None, "the stock figures of the item are missing or more than 60 s old"),
    ],
)
def test_no_automatic_price_is_written_from_stock_figures_older_than_60_s(
    as_of_us: int | None, why: str | None
) -> None:
    assert why_not(Candidate(**FINE), now_us=NOW_US, as_of_us=as_of_us) == why


@pytest.fixture
def due(ledger: psycopg.Connection) -> str:
    """Write a proposal that meets every condition of an automatic price. Return its id."""
    services.range_item(
        location="L", sku="S", policy=POLICY | {"price_mode": "auto", "auto_permille": 150}
    )
    ledger.execute(
        "INSERT INTO read_model.sink_position (sink, topic, partition, next_offset, as_of_us)"
        " SELECT 'projector', %s, n, 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        " FROM generate_series(0, 11) AS n"
        " ON CONFLICT (sink, topic, partition) DO UPDATE SET as_of_us = excluded.as_of_us",
        [ON_HAND_CHANGELOG],
    )
    ledger.execute("DELETE FROM read_model.heartbeat")
    alive(ledger)
    proposal = price_proposal(ledger)
    ledger.execute("UPDATE app.price_proposal SET updated_at = now() - interval '61 s'")
    return proposal


def written(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT price_minor, kind, proposal_id, recorded_by FROM retail.price_change"
    ).fetchall()


def test_a_due_price_is_written_once_by_the_system(ledger: psycopg.Connection, due: str) -> None:
    assert objections_to([due]) == {due: "the rules will write the price within seconds"}

    assert (write_due(), write_due()) == (1, 0)

    assert written(ledger) == [(899, "rule", due, None)]


def test_two_processes_write_an_automatic_price_once(ledger: psycopg.Connection, due: str) -> None:
    assert sorted(at_the_same_time(write_due, write_due)) in ([0, 1], [1, 1])
    assert len(written(ledger)) == 1


@pytest.mark.parametrize(
    "spoil",
    [
        # One stale partition is enough, also if it isn't the item's. A task names the partition.
        (
            "INSERT INTO read_model.heartbeat (partition, beat, commit_us, applied_at)"
            " SELECT 11, 1, commit_us - 61000000, now() FROM read_model.heartbeat"
        ),
        "UPDATE read_model.heartbeat SET commit_us = NULL",
        "DELETE FROM read_model.heartbeat",
        "UPDATE read_model.service_heartbeat SET at = at - interval '61 seconds'",
        "DELETE FROM read_model.service_heartbeat",
    ],
)
def test_no_price_is_written_by_rule_while_the_pipeline_is_stale(
    ledger: psycopg.Connection, due: str, spoil: str
) -> None:
    ledger.execute(spoil)

    assert write_due() == 0
    assert objections_to([due])[due] == (
        "a partition has had no heartbeat for 60 s: the stock figures may be old"
    )


def test_a_policy_change_during_the_write_prevents_the_automatic_price(
    ledger: psycopg.Connection, server: Server, database: str, due: str
) -> None:
    with psycopg.connect(server.url("postgres", database)) as person:
        person.execute("UPDATE retail.item_location SET price_mode = 'advise'")

        def commit_when_waited_for() -> None:
            deadline = time.monotonic() + PATIENCE_S
            while not ledger.execute(_WAITED_FOR, [person.info.backend_pid]).fetchall():
                assert time.monotonic() < deadline
            person.commit()

        assert at_the_same_time(write_due, commit_when_waited_for) == [0, None]

    assert written(ledger) == []


def test_a_price_stop_and_an_automatic_price_of_one_item_do_not_deadlock(
    ledger: psycopg.Connection, server: Server, database: str, due: str
) -> None:
    """Automatic price and stop both wait for the row of the item. They must not deadlock."""
    later = us_of(next_window_start(database_now()) + timedelta(days=2))
    scheduled = price_proposal(ledger, proposal_id="P:L|S:1-9", effective_at_us=later)
    services.approve_price(proposal_id=scheduled, shown_revision=1)
    with psycopg.connect(server.url("postgres", database)) as person:
        person.execute("SELECT FROM retail.item_location FOR UPDATE")

        def wait_for(sessions: int) -> None:
            deadline = time.monotonic() + PATIENCE_S
            while len(ledger.execute(_ALL_WAITING).fetchall()) < sessions:
                assert time.monotonic() < deadline

        def stop_second() -> services.PricesStopped:
            wait_for(1)
            return services.set_price_kill_switch(is_on=True, actor="pat")

        def commit_last() -> None:
            wait_for(2)
            person.commit()

        outcomes = at_the_same_time(write_due, stop_second, commit_last)

    assert outcomes == [1, services.PricesStopped(2), None]
    assert [row[:2] for row in written(ledger)] == [
        (899, "rule"),
        (899, "rule"),
        (999, "rollback"),
        (999, "rollback"),
    ]


def test_no_automatic_price_is_written_while_the_kill_switch_is_on(
    ledger: psycopg.Connection, due: str
) -> None:
    services.set_price_kill_switch(is_on=True, actor="pat")
    stopped = (write_due(), objections_to([due])[due])
    services.set_price_kill_switch(is_on=False, actor="pat")

    assert stopped == (0, "rule-made prices are stopped")
    assert write_due() == 1


def test_a_proposal_snoozed_by_a_person_gets_no_automatic_price(
    ledger: psycopg.Connection, due: str
) -> None:
    services.snooze_price(proposal_id=due, shown_revision=1, actor="pat")

    assert write_due() == 0
    assert written(ledger) == []


def test_a_rule_made_price_of_the_same_day_blocks_an_automatic_price(
    ledger: psycopg.Connection, due: str
) -> None:
    # The proposal's effective_at is long past, so its price would start with the next window.
    write(
        ledger,
        "price_change",
        effective_from=next_window_start(database_now()),
        kind="rule",
        proposal_id="P:L|S:1-1",
    )

    assert write_due() == 0
    assert (
        objections_to([due])[due]
        == "the rules have already set a price for the day on which the proposed price would start"
    )


def test_a_rule_made_price_of_another_day_allows_an_automatic_price(
    ledger: psycopg.Connection, due: str
) -> None:
    yesterday = next_window_start(database_now()) - timedelta(days=1)
    write(ledger, "price_change", effective_from=yesterday, kind="rule", proposal_id="P:L|S:1-1")

    assert write_due() == 1
