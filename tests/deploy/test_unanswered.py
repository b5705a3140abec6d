"""`status` and `doctor` report one error for each part that doesn't answer, and no traceback."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from deploy.cli.main import app
from deploy.doctor import capturing, checks, running
from deploy.doctor.row import Row
from deploy.errors import StackError
from deploy.stack import observe, processes, status
from deploy.stack.home import Home
from deploy.stack.processes import identify, wait_until
from deploy.stack.proof import page_url
from deploy.stack.runtime import (
    Runtime,
    ServiceRuntime,
    read_runtime,
    write_environment,
    write_runtime,
)
from deploy.stack.status_output import show_status
from tests.deploy.children import SLEEP

NOBODY = "127.0.0.1:1"
VARIABLES = {
    "INVENTORY_READ_DATABASE_URL": f"postgresql://app_ro@{NOBODY}/retail",
    "INVENTORY_OWNER_DATABASE_URL": f"postgresql://retail_owner@{NOBODY}/retail",
    "INVENTORY_KAFKA_BOOTSTRAP": NOBODY,
    "INVENTORY_CONNECT_URL": f"http://{NOBODY}",
}


@contextmanager
def running_child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(SLEEP) as child:  # noqa: S603 -- our own program
        try:
            yield child
        finally:
            child.kill()


@pytest.fixture
def home(tmp_path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home with a living supervisor and no listener at its services' ports."""
    found = Home(tmp_path / "home")
    found.create()
    monkeypatch.setenv("INVENTORY_HOME", str(found.path))
    me = identify(os.getpid())
    runtime = Runtime(phase="ready", supervisor_pid=me.pid, supervisor_ticks=me.started)
    runtime.ports = {"postgres": 1}
    alive = ServiceRuntime(state="running", pid=me.pid, started_ticks=me.started)
    runtime.services = {
        "postgres": ServiceRuntime(state="restarting", restarts=7, url=f"postgresql://{NOBODY}"),
        "worker-1": ServiceRuntime(state="restarting", last_exit=76),
        "kafka": ServiceRuntime(state="running", pid=me.pid + 1, url=NOBODY),
        "connect": replace(alive, url=f"http://{NOBODY}"),
        "projector": alive,
        "web": replace(alive, url=f"http://{NOBODY}"),
    }
    write_environment(found, VARIABLES)
    write_runtime(found, runtime)
    return found


def test_status_shows_repairs_and_a_failed_start(home, capsys) -> None:
    runtime = read_runtime(home)
    runtime.services["projector"].repairs = 1
    runtime.services["projector"].last_repair = "SIGCONT: suspended"
    runtime.services["worker-1"].last_repair = "start failed: No space left on device"
    write_runtime(home, runtime)

    show_status(status.collect(home, observe.observe(home)))
    shown = " ".join(capsys.readouterr().out.split())

    assert "earlier: projector repaired 1 time; last step: SIGCONT: suspended" in shown
    assert "earlier: worker-1 repaired 0 times; last step: start failed: No space left" in shown


def test_a_stack_without_pages_has_no_address_to_prove_a_sale(home) -> None:
    assert page_url(home) == f"http://{NOBODY}"
    runtime = read_runtime(home)
    del runtime.services["web"]
    write_runtime(home, runtime)

    with pytest.raises(StackError, match="no service web") as refused:
        page_url(home)

    assert refused.value.repair == "inventory down && inventory demo"


def test_status_reports_each_service_that_did_not_answer(home, capsys) -> None:
    found = status.collect(home, observe.observe(home))
    show_status(found)
    shown = capsys.readouterr().out

    states = {name: service["state"] for name, service in found["services"].items()}
    assert states == {
        "postgres": "restarting",
        "worker-1": "restarting",
        "kafka": "gone",
        "connect": "no answer",
        "projector": "unknown",
        "web": "no answer",
    }
    assert found["not_well"][:2] == ["postgres: restarting", "worker-1: restarting"]
    assert (found["freshness_seconds"], found["rejected"], found["late"]) == (None, None, None)
    assert found["unanswered"] == {
        "connector": "connect is in state 'no answer'",
        "lag": "kafka is in state 'gone'",
        "freshness_seconds": "postgres is in state 'restarting'",
        "counts": "postgres is in state 'restarting'",
    }
    assert "freshness unknown" in shown
    assert "no answer about lag" in shown


def test_status_asks_nothing_of_a_part_that_is_not_ready(home: Home) -> None:
    """Connect doesn't answer its clients while its broker is down."""
    seen = observe.observe(home)
    waiting = replace(seen, states={**seen.states, "connect": observe.NOT_READY})

    found = status.collect(home, waiting)

    assert found["unanswered"]["connector"] == "connect is in state 'not ready'"
    assert "connect: not ready" in found["not_well"]


def test_status_asks_connect_nothing_while_its_broker_is_away(home: Home) -> None:
    seen = observe.observe(home)
    ready = replace(seen, states={**seen.states, "connect": observe.RUNNING})

    found = status.collect(home, ready)

    assert found["unanswered"]["connector"] == "kafka is in state 'gone'"


def test_status_probes_a_broker_that_does_not_answer_only_once(home: Home, monkeypatch) -> None:
    asked: list[str] = []

    def no_answer(address: str) -> bool:
        asked.append(address)
        return False

    monkeypatch.setattr("deploy.stack.probes.broker_answers", no_answer)
    runtime = read_runtime(home)
    runtime.services["kafka"] = replace(runtime.services["web"], url=NOBODY)
    write_runtime(home, runtime)

    seen = observe.observe(home)

    assert (seen.states["kafka"], asked) == ("no answer", [NOBODY])


def test_status_sends_nothing_to_a_suspended_postgres(home: Home) -> None:
    """Such a server accepts connections and never answers, so each query would time out."""
    with socket.create_server(("127.0.0.1", 0)) as suspended, running_child() as child:
        child.send_signal(signal.SIGSTOP)
        postgres = identify(child.pid)
        wait_until(lambda: processes.suspended(postgres), timeout_s=10)
        port = suspended.getsockname()[1]
        runtime = read_runtime(home)
        runtime.services["postgres"] = ServiceRuntime(
            state="running", pid=postgres.pid, started_ticks=postgres.started
        )
        url = f"postgresql://app_ro@127.0.0.1:{port}/retail"
        write_environment(home, {**VARIABLES, "INVENTORY_READ_DATABASE_URL": url})
        write_runtime(home, runtime)

        seen = observe.observe(home)
        ready = replace(seen, states={**seen.states, "connect": observe.RUNNING})
        status.collect(home, ready)
        rows = {row.name: row.found for row in checks.stack_rows(home, ready)}

        assert (seen.states["postgres"], seen.states["projector"]) == ("suspended", "unknown")
        assert rows["connector"] == "not checked: postgres is in state 'suspended'"
        suspended.settimeout(0)
        with pytest.raises(BlockingIOError):
            suspended.accept()


def test_doctor_has_a_failing_row_for_each_check_without_an_answer(home, monkeypatch) -> None:
    # Run only checks without a broker: a Kafka client waits too long for a missing broker.
    asked = (running.workers, running.wal_level, capturing.slot, capturing.identity)
    monkeypatch.setattr(running, "CHECKS", asked)

    result = CliRunner().invoke(app, ["doctor", "--json"])

    rows = {row["name"]: row for row in json.loads(result.stdout)}
    assert result.exit_code == 2
    found = rows["services"]["found"]
    assert found.startswith(
        "0 of 6 running; not ready: postgres (restarting), worker-1 (restarting)"
    )
    assert "kafka (gone), connect (no answer), web (no answer)" in found
    repair = rows["services"]["repair"]
    assert repair.startswith("inventory restart postgres ; ")
    assert repair.endswith("  # if the undecodable records are no facts")
    assert "INVENTORY_UNDECODABLE_PERMILLE" in rows["workers"]["repair"]
    for name in ("wal_level", "slot", "identity"):
        assert rows[name] == {
            "name": name,
            "verdict": "failure",
            "found": "not checked: postgres is in state 'restarting'",
            "repair": "inventory restart postgres",
            "kinds": ["no_answer"],
        }


def test_doctor_shows_the_error_of_a_running_service_that_does_not_answer(
    home, monkeypatch
) -> None:
    monkeypatch.setattr(running, "CHECKS", (running.wal_level,))
    monkeypatch.setattr(running, "QUERIED_SERVICES", {})

    rows = {
        row["name"]: row for row in json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)
    }

    assert rows["wal_level"]["found"].startswith("OperationalError: connection failed")
    assert rows["wal_level"]["repair"] == "inventory restart postgres"


def test_nothing_else_is_repaired_before_a_full_disk() -> None:
    rows = [
        Row("disk", "failure", "0.0 GB free", "inventory move"),
        Row("services", "failure", "not: kafka", "inventory restart kafka"),
        Row("lag", "warning", "9", "inventory restart projector"),
    ]

    repairs = checks.by_repair(checks._by_cause(rows))

    assert repairs == {
        "inventory move": ["disk", "services"],
        "inventory restart projector": ["lag"],
    }


def test_status_reports_a_stack_that_ends_during_the_query(home, monkeypatch) -> None:
    def ended(_home: Home) -> dict[str, str]:
        message = "no stack runs"
        raise StackError(message)

    monkeypatch.setattr(status, "environment_of", ended)

    found = status.collect(home, observe.observe(home))

    assert (found["rejected"], found["unanswered"]) == (None, {})
    assert "kafka: gone" in found["not_well"]


def test_status_ends_with_1_while_a_recorded_process_is_gone(home) -> None:
    result = CliRunner().invoke(app, ["status", "--json"])

    assert result.exit_code == 1
    assert "kafka: gone" in json.loads(result.stdout)["not_well"]
