"""The doctor without a patient: a machine's rows, and what to type where nothing runs."""

import json

import pytest
from typer.testing import CliRunner

from deploy.cli.main import app
from deploy.doctor import running
from deploy.doctor.checks import exit_code
from deploy.doctor.row import Row, judge
from deploy.stack.home import Home
from deploy.stack.runtime import Runtime, ServiceRuntime, write_runtime


def test_without_a_stack_the_machine_is_checked_and_the_way_to_start_is_named(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))

    told = CliRunner().invoke(app, ["doctor", "--json"])
    shown = CliRunner().invoke(app, ["doctor"])

    rows = {row["name"]: row for row in json.loads(told.stdout)}
    assert {told.exit_code, shown.exit_code} <= {1, 2}
    assert rows["stack"]["verdict"] == "warning"
    assert "inventory up" in rows["stack"]["repair"]
    assert {"python", "java", "memory", "disk"} <= {name.lower() for name in rows}


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [((), 0), (("ok",), 0), (("ok", "warning"), 1), (("warning", "failure", "ok"), 2)],
)
def test_the_worst_row_is_the_exit_code(verdicts, code) -> None:
    assert exit_code([Row("row", verdict, "") for verdict in verdicts]) == code


def test_a_row_that_is_not_well_carries_its_repair() -> None:
    assert judge("disk", well=True, found="9 GB", repair="make room") == Row("disk", "ok", "9 GB")
    assert judge("disk", well=False, found="0 GB", repair="make room").mark == "✘"
    assert judge("disk", well=False, found="1 GB", repair="make room", mild=True).mark == "!"


def test_a_halted_worker_is_told_with_its_reason_and_the_way_out(tmp_path) -> None:
    home = Home(tmp_path)
    runtime = Runtime()
    runtime.services = {
        "worker-1": ServiceRuntime(state="restarting", last_exit=66),
        "worker-2": ServiceRuntime(state="running", last_exit=-9),
        "web": ServiceRuntime(state="restarting", last_exit=1),
    }
    write_runtime(home, runtime)

    halted = running.workers(home)
    runtime.services["worker-1"].last_exit = 76
    write_runtime(home, runtime)
    other = running.workers(home)
    runtime.services["worker-1"].state = "running"
    write_runtime(home, runtime)

    assert halted.verdict == "failure"
    assert halted.found == "worker-1: a topic was deleted, made anew or cut off"
    assert halted.repair == "inventory workers rebuild --yes"
    assert other.repair == "inventory logs worker-1"
    assert running.workers(home).verdict == "ok"
