"""Tasks whose conditions read every item: a sweep opens them, one location after the other."""

import threading
from dataclasses import replace

import psycopg
import pytest

from inventory.model.ids import InvKey
from inventory.model.state import Count, Stock
from ledger.automation import __main__ as automation
from ledger.automation import conditions, tasks
from ledger.automation.__main__ import Job
from tests.ledger.inbox import (
    COUNTED,
    NOON,
    NOON_US,
    emptied,
    level,
    open_tasks,
    policy,
    state,
    unsold,
)
from tests.ledger.rows import write

LOCATIONS = ("L1", "L2", "L3")


@pytest.fixture
def inbox(ledger: psycopg.Connection) -> psycopg.Connection:
    """Return a ledger with one item without a count at each of three locations, and no task."""
    ledger = emptied(ledger)
    for location in LOCATIONS:
        uncounted(ledger, location)
    return ledger


def uncounted(ledger: psycopg.Connection, location: str, sku: str = "S") -> None:
    key = InvKey(f"{location}|{sku}")
    level(ledger, replace(state(), inv_key=key, stock=Stock(), policy=policy()))


def counted(ledger: psycopg.Connection, location: str) -> None:
    level(ledger, replace(state(), inv_key=InvKey(f"{location}|S")))


def subjects(ledger: psycopg.Connection) -> list[str]:
    return [task["subject"] for task in open_tasks(ledger)]


def test_a_sweep_evaluates_one_location_after_the_other_and_begins_again(
    inbox: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "SWEEP_S", 0.0)
    sweep = tasks.Sweep()
    found = []
    for _ in LOCATIONS:
        assert sweep.advance() == 1
        found.append(subjects(inbox))
    assert found == [["L1|S"], ["L1|S", "L2|S"], ["L1|S", "L2|S", "L3|S"]]
    assert sweep.advance() == 0

    uncounted(inbox, "L1", "T")

    assert sweep.advance() == 1
    assert subjects(inbox)[-1] == "L1|T"


def test_a_quick_sweep_evaluates_all_locations_in_one_step(
    inbox: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "SWEEP_S", 3_600.0)

    assert tasks.Sweep().advance() == 3

    assert subjects(inbox) == ["L1|S", "L2|S", "L3|S"]


def test_a_sweep_stays_at_a_location_until_all_its_tasks_are_open(
    inbox: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "SWEEP_S", 0.0)
    monkeypatch.setattr(tasks, "MOST_OPENED", 2)
    for sku in ("T", "U", "V"):
        uncounted(inbox, "L1", sku)
    sweep = tasks.Sweep()

    assert [sweep.advance() for _ in range(3)] == [2, 2, 0]
    assert subjects(inbox) == ["L1|S", "L1|T", "L1|U", "L1|V"]
    assert sweep.advance() == 1
    assert subjects(inbox)[-1] == "L2|S"


def test_the_first_pass_begins_at_a_random_location(
    inbox: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "SWEEP_S", 0.0)
    inbox.execute("INSERT INTO retail.location (code, name) VALUES ('L2', 'Second')")

    assert tasks.Sweep().advance() == 1

    assert subjects(inbox) == ["L3|S"]


def test_a_refuted_suspicion_raises_the_threshold_in_its_own_location(
    inbox: psycopg.Connection,
) -> None:
    key = InvKey("L2|P")
    write(inbox, "item_location", location="L2", sku="P", recorded_at=NOON)
    level(inbox, replace(state(), inv_key=key, demand=unsold(1_000)))
    assert tasks.refresh(scope=tasks.of_location("L2"), at=NOON) == 2
    found = Count(NOON_US, 2, 8, "cycle")
    stock = Stock(on_hand_units=8, opening_units=10, opening_count=COUNTED, counts=(found,))
    level(inbox, replace(state(), inv_key=key, stock=stock, demand=unsold(1_000)))

    assert tasks.refresh(scope=tasks.of_location("L1"), at=NOON) == 1
    assert key in subjects(inbox)
    assert tasks.refresh(scope=tasks.of_location("L2"), at=NOON) == 1

    why = inbox.execute("SELECT cleared_why FROM app.task WHERE subject = %s", (key,)).fetchall()
    assert why == [("false alarm: a count found 8",)]


def test_a_location_ends_only_tasks_of_its_own_items(inbox: psycopg.Connection) -> None:
    tasks.refresh(at=NOON)
    for location in LOCATIONS[:2]:
        counted(inbox, location)

    assert tasks.refresh(scope=tasks.of_location("L2"), at=NOON) == 1

    assert subjects(inbox) == ["L1|S", "L3|S"]


def test_a_slow_refresh_ends_tasks_and_opens_none_of_other_items(inbox: psycopg.Connection) -> None:
    tasks.refresh(scope=tasks.of_location("L1"), at=NOON)
    assert subjects(inbox) == ["L1|S"]
    counted(inbox, "L1")

    assert tasks.refresh_slow() == 1

    assert subjects(inbox) == []


def test_locations_together_open_the_tasks_of_all_items(inbox: psycopg.Connection) -> None:
    write(inbox, "sale_line", location="L1", sku="U", recorded_at=NOON)
    level(inbox, replace(state(), inv_key=InvKey("L1|U"), policy=None))
    level(inbox, replace(state(), inv_key=InvKey("L2|P"), demand=unsold(1_000)))
    price = {"price_mode": "advise", "regular_minor": 100, "cost_minor": 200}
    write(inbox, "item_location", location="L3", sku="F", recorded_at=NOON, **price)
    level(inbox, replace(state(), inv_key=InvKey("L3|F")))
    tasks.refresh(at=NOON)
    wanted = {(task["kind"], task["subject"]) for task in open_tasks(inbox)}
    swept = {kind.name for kind in conditions.KINDS if kind.reads_every_item}
    assert {kind for kind, _subject in wanted} == swept
    inbox.execute("DELETE FROM app.task")

    for location in LOCATIONS:
        tasks.refresh(scope=tasks.of_location(location), at=NOON)

    assert {(task["kind"], task["subject"]) for task in open_tasks(inbox)} == wanted


@pytest.mark.parametrize(
    ("kind", "index"),
    [
        ("missing_proposal", "stock_proposed"),
        ("held_at_zero", "stock_held"),
        ("negative_bucket", "stock_negative_bucket"),
        ("negative_stock", "stock_negative"),
    ],
)
def test_a_quick_condition_can_use_its_index(
    inbox: psycopg.Connection, kind: str, index: str
) -> None:
    inbox.execute("SET enable_seqscan = off")
    (query,) = (each.rows for each in conditions.KINDS if each.name == kind)

    plan = inbox.execute(f"EXPLAIN {query}", {"now": NOON}).fetchall()

    assert any(f"using {index} " in line or f"on {index} " in line for (line,) in plan)


def test_a_job_with_a_pause_factor_waits_in_proportion_to_its_last_run() -> None:
    job = Job(lambda: 0, 1.0, pause_factor=49)

    assert (job.pause_s(0.01), job.pause_s(2.0), job.pause_s(60.0)) == (1.0, 98.0, 300.0)
    assert Job(lambda: 0, 5.0).pause_s(60.0) == 5.0


def test_a_waiting_job_does_not_delay_other_jobs(inbox: psycopg.Connection) -> None:
    stop = threading.Event()
    runs: list[str] = []

    def count(name: str) -> int:
        runs.append(name)
        if runs.count("quick") == 3:
            stop.set()
        return 0

    due = {
        "waiting": Job(lambda: count("waiting"), 0.0, pause_factor=10**9),
        "quick": Job(lambda: count("quick"), 0.0),
    }
    automation.run(due, stop, pause_s=0.0)

    assert runs == ["waiting", "quick", "quick", "quick"]
