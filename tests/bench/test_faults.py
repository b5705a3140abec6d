"""`inventory bench faults`: the faults that a seed draws, and the report."""

import os
import subprocess
import sys
from typing import cast

import pytest
from typer.testing import CliRunner

from bench.faults import plan
from bench.faults.plan import Fault, draw
from bench.faults.probe import one_per_partition
from bench.faults.run import Report
from cdc.contracts.partition import partition_of
from cdc.settings import Connections
from deploy.cli.bench_faults import RunningHome
from deploy.cli.main import app
from deploy.stack.home import Home
from deploy.stack.processes import identify
from deploy.stack.runtime import Runtime, ServiceRuntime, write_environment, write_runtime

WORKERS = ("worker-1", "worker-2")


def test_a_seed_draws_the_same_faults_again_and_another_seed_others() -> None:
    first, again, other = (list(draw(seed, rounds=30, workers=WORKERS)) for seed in (4, 4, 5))

    assert first == again != other
    assert {fault.kind for fault in first + other} == set(plan.KINDS)
    assert all(fault.victims == WORKERS for fault in first if fault.kind == plan.KILL_ALL)
    assert all(len(fault.victims) == 1 for fault in first if fault.is_freeze)
    assert Fault(plan.BROKER, ("kafka",)) in first + other
    only = draw(1, rounds=5, workers=WORKERS, kinds=(plan.KILL,))
    assert {fault.kind for fault in only} == {plan.KILL}


def test_there_is_one_probe_item_per_partition() -> None:
    skus = one_per_partition("FLT-1")

    assert sorted(partition_of(f"FLT-1|{sku}".encode()) for sku in skus) == list(range(12))


def test_the_faults_report_has_median_and_maximum_of_each_fault() -> None:
    report = Report(7, {"kill": [3.0, 9.0, 4.0], "broker": [None]}, transactions=12)
    was_ok = report.ok
    report.verified = {"ok": True, "keys_differing": 0}

    found = report.as_json()

    assert (was_ok, report.ok) == (False, True)
    assert found["faults"] == {"kill": 3, "broker": 1}
    assert found["fresh_s"] == {"kill": {"median": 4.0, "max": 9.0}, "broker": {}}
    lines = report.as_text().splitlines()
    assert lines[0] == "seed 7, 12 transactions"
    assert lines[3].split() == ["broker", "1", "-", "-"]
    assert lines[4].split() == ["kill", "3", "4.0", "9.0"]


def test_the_table_rounds_a_time_once() -> None:
    report = Report(7, {"kill": [4.449, 1.0]})

    assert report.as_json()["fresh_s"] == {"kill": {"median": 2.72, "max": 4.45}}
    assert report.as_text().splitlines()[3].split() == ["kill", "2", "2.7", "4.4"]


def test_an_ended_service_has_no_pid(tmp_path) -> None:
    home = Home(tmp_path)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    me = identify(os.getpid())
    runtime = Runtime(supervisor_pid=me.pid, supervisor_ticks=me.started)
    runtime.services = {
        "worker-2": ServiceRuntime(pid=me.pid, started_ticks=me.started),
        "worker-1": ServiceRuntime(pid=ended.pid, started_ticks=1),
        "kafka": ServiceRuntime(),
    }
    write_runtime(home, runtime)
    unused = cast(Connections, None)  # this test needs no addresses
    stack = RunningHome(home, unused)

    assert stack.workers() == ["worker-1", "worker-2"]
    assert [stack.pid_of(name) for name in ("worker-2", "worker-1", "kafka")] == [
        me.pid,
        None,
        None,
    ]


def test_bench_faults_kills_nothing_without_yes_or_with_an_unknown_kind(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = identify(os.getpid())
    runtime = Runtime(phase="ready", supervisor_pid=me.pid, supervisor_ticks=me.started)
    write_environment(Home(tmp_path), {})
    write_runtime(Home(tmp_path), runtime)
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))

    unasked = CliRunner().invoke(app, ["bench", "faults"])
    unknown = CliRunner().invoke(app, ["bench", "faults", "--yes", "--kinds", "kill,flood"])

    assert (unasked.exit_code, unknown.exit_code) == (1, 1)
    assert "would be killed" in str(unasked.exception)
    assert "--kinds 'flood': expected one of kill, kill-all" in str(unknown.exception)
