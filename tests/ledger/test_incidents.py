"""The supervisor records ended services and the restores of workers in Postgres."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from cdc.service_errors import ServiceError, record_error
from deploy.stack.home import Home
from deploy.stack.incident_thread import IncidentThread
from deploy.stack.processes import wait_until
from deploy.stack.runtime import Runtime
from deploy.stack.service import Service
from deploy.stack.supervisor import Supervisor
from tests.deploy.children import SLEEP
from tests.ledger.postgres import Server

NOBODY = "postgresql://app_rw@127.0.0.1:1/none"
ERRORS = "SELECT service, message, times FROM read_model.service_error ORDER BY service"
RESTORES = "SELECT worker, partition, seconds::float, records, kept FROM read_model.restore"


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    home = Home(tmp_path / "home")
    home.create()
    made = Supervisor(home, Runtime())
    loop = threading.Thread(target=made.run)
    loop.start()
    yield made
    made.stop()
    loop.join(60)


def start(supervisor: Supervisor, name: str) -> int:
    home = supervisor.home.path
    supervisor.want(Service(name, SLEEP, dict(os.environ), home, lambda _pid: True, 0))
    assert wait_until(lambda: supervisor.pid_of(name) is not None, timeout_s=60)
    pid = supervisor.pid_of(name)
    assert pid is not None
    return pid


def ready_line(**changes: object) -> str:
    line = {
        "event": "partition ready",
        "timestamp": "2026-11-24T13:00:34.443901Z",
        "partition": 3,
        "kept": False,
        "keys": 9,
        "records": 120,
        "seconds": 0.619,
        **changes,
    }
    return json.dumps(line) + "\n"


def test_killed_service_is_recorded_once_as_a_service_error(
    ledger: psycopg.Connection, server: Server, database: str, supervisor: Supervisor
) -> None:
    recorder = IncidentThread(supervisor, server.url("app_rw", database))
    pid = start(supervisor, "projector")
    recorder.record_new()
    assert ledger.execute(ERRORS).fetchall() == []

    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: supervisor.pid_of("projector") not in (None, pid), timeout_s=60)
    recorder.record_new()

    [(service, message, times)] = ledger.execute(ERRORS).fetchall()
    assert (service, times) == ("projector", 1)
    assert message.startswith("was ended by SIGKILL after ")
    recorder.record_new()
    assert ledger.execute(ERRORS).fetchall() == [(service, message, 1)]


def test_restores_are_recorded_from_new_lines_of_the_worker_log(
    ledger: psycopg.Connection, server: Server, database: str, supervisor: Supervisor
) -> None:
    log = supervisor.home.log_of("worker-1")
    log.write_text(ready_line(partition=1), encoding="utf-8")  # of an earlier start
    start(supervisor, "worker-1")
    recorder = IncidentThread(supervisor, NOBODY)
    recorder.record_new()
    with log.open("a", encoding="utf-8") as file:
        file.write(ready_line() + '{"event": "partition ready"}\n' + ready_line(kept=True)[:20])
    recorder.record_new()  # without Postgres, the restore is recorded later

    recorder._url = server.url("app_rw", database)
    recorder.record_new()

    assert ledger.execute(RESTORES).fetchall() == [("worker-1", 3, 0.619, 120, False)]
    with log.open("a", encoding="utf-8") as file:
        file.write(ready_line(kept=True)[20:])
    recorder.record_new()
    assert len(ledger.execute(RESTORES).fetchall()) == 2
    log.write_text(ready_line(partition=5), encoding="utf-8")  # rotated
    recorder.record_new()
    assert ("worker-1", 5, 0.619, 120, False) in ledger.execute(RESTORES).fetchall()


def test_an_older_error_does_not_replace_a_newer_one(till: psycopg.Connection) -> None:
    for message in ("first", "second\x00"):
        record_error(till, ServiceError("kafka", message))
    at = till.execute("SELECT at - interval '1 h' FROM read_model.service_error").fetchone()
    assert at is not None
    record_error(till, ServiceError("kafka", "older", at=at[0]))

    assert till.execute(ERRORS).fetchall() == [("kafka", "second", 2)]
