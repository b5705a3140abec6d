"""The automation process continues after it has lost the database, and ends on request."""

import os
import subprocess
import sys
import threading
import time
from typing import Any

import psycopg
import pytest

from ledger.automation import __main__ as automation
from tests.ledger.postgres import PROJECT, Server
from tests.processes import end

DEADLINE_S = 120.0
ROW = "SELECT pid, at, detail FROM read_model.service_heartbeat WHERE service = 'automation'"


def wait_for_life(ledger: psycopg.Connection, *, after: object = None) -> tuple[Any, ...]:
    """Return the first heartbeat that is newer than `after`."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        row = ledger.execute(ROW).fetchone()
        if row is not None and row[1] != after:
            return row
        time.sleep(0.05)
    message = f"no sign of life after {after} in {DEADLINE_S} s"
    raise TimeoutError(message)


def test_the_automation_process_survives_a_lost_database_connection(
    server: Server, database: str, ledger: psycopg.Connection
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "ledger.automation"],
        env=os.environ | server.environment(database),
        cwd=PROJECT,
        stdout=subprocess.DEVNULL,
    )
    try:
        pid, first, detail = wait_for_life(ledger)
        assert pid == process.pid
        assert set(detail) == set(automation.jobs())
        killed = ledger.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'inventory-automation' AND datname = current_database()"
        ).fetchall()
        assert killed == [(True,)]
        _, second, _ = wait_for_life(ledger, after=first)
        wait_for_life(ledger, after=second)
    finally:
        code = end(process)
    assert code == 0


def test_each_automation_round_runs_every_job_and_records_its_count(
    ledger: psycopg.Connection,
) -> None:
    stop = threading.Event()
    done: list[str] = []

    def first() -> int:
        done.append("first")
        return 3

    def second() -> int:
        done.append("second")
        if len(done) == 6:
            stop.set()
        return 0

    jobs = {"first": automation.Job(first, 0.0), "second": automation.Job(second, 0.0)}
    automation.run(jobs, stop, pause_s=0)

    assert done == ["first", "second"] * 3
    row = ledger.execute(ROW).fetchone()
    assert row is not None
    assert row[2] == {"first": 3, "second": 0}


def test_a_broken_invariant_ends_the_process(ledger: psycopg.Connection) -> None:
    def broken() -> int:
        message = "this must never be"
        raise AssertionError(message)

    with pytest.raises(AssertionError, match="never"):
        automation.run({"broken": automation.Job(broken, 0.0)}, threading.Event(), pause_s=0)


def test_a_job_waits_until_it_is_due_again(ledger: psycopg.Connection) -> None:
    stop = threading.Event()
    done: list[str] = []

    def often() -> int:
        done.append("often")
        if len(done) == 5:
            stop.set()
        return 0

    def seldom() -> int:
        done.append("seldom")
        return 0

    jobs = {"often": automation.Job(often, 0.0), "seldom": automation.Job(seldom, 3600.0)}
    automation.run(jobs, stop, pause_s=0)

    assert done == ["often", "seldom", "often", "often", "often"]
