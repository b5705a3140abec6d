"""`inventory doctor` without a stack: rows about the machine, and the next command."""

import json
import shlex
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from typer.testing import CliRunner

from cdc.capture.admin import Drift
from cdc.contracts.topics import APP_ID, ON_HAND_CHANGELOG, STOCK_EVENTS, STOCK_LATE
from deploy.cli.main import app
from deploy.doctor import machine, running
from deploy.doctor.checks import exit_code
from deploy.doctor.failures import Failure, row_of
from deploy.doctor.repairs import joined
from deploy.doctor.row import Row, ok
from deploy.stack import status
from deploy.stack.home import PROJECT, Home
from deploy.stack.observe import StackState
from deploy.stack.requested import REPAIR, RequestedState, write_requested
from deploy.stack.runtime import Runtime, ServiceRuntime, write_runtime
from streams.exit_codes import START_AGAIN


def test_without_a_stack_the_machine_is_checked_and_the_way_to_start_is_named(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))

    told = CliRunner().invoke(app, ["doctor", "--json"])
    shown = CliRunner().invoke(app, ["doctor"])

    rows = {row["name"]: row for row in json.loads(told.stdout)}
    lines = shown.stdout.splitlines()
    assert {told.exit_code, shown.exit_code} <= {1, 2}
    assert rows["stack"]["verdict"] == "warning"
    assert "inventory up" in rows["stack"]["repair"]
    assert f"repair stack: {rows['stack']['repair']}" in lines  # in one line, for copying
    assert {"python", "java", "memory", "disk"} <= {name.lower() for name in rows}


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [((), 0), (("ok",), 0), (("ok", "warning"), 1), (("warning", "failure", "ok"), 2)],
)
def test_the_worst_row_is_the_exit_code(verdicts, code) -> None:
    assert exit_code([Row("row", verdict, "") for verdict in verdicts]) == code


def test_a_failing_row_has_its_repair_and_its_kind() -> None:
    failing = Failure.SERVICE_DOWN.row("11 of 12", service="web")
    mild = Failure.LITTLE_DISK.row("1 GB", repair="make room")
    both = row_of("two", [(Failure.SERVICE_STARTS, "a"), (Failure.SERVICE_DOWN, "b")])

    assert ok("disk", "9 GB") == Row("disk", "ok", "9 GB")
    assert (failing.name, failing.mark, failing.repair) == (
        "services",
        "✘",
        "inventory restart web",
    )
    assert (mild.mark, mild.kinds) == ("!", ("little_disk",))
    assert (both.verdict, both.repair, both.kinds) == (
        "failure",
        "a ; b",
        ("service_starts", "service_down"),
    )


def ended(home: Home, **entries: ServiceRuntime) -> None:
    runtime = Runtime()
    runtime.services = {name.replace("_", "-"): entry for name, entry in entries.items()}
    write_runtime(home, runtime)


def test_a_halted_worker_is_reported_with_its_reason_and_repair(tmp_path) -> None:
    home = Home(tmp_path)
    ended(
        home,
        worker_1=ServiceRuntime(state="restarting", last_exit=66),
        worker_2=ServiceRuntime(state="running", last_exit=-9, restarts=9),
        web=ServiceRuntime(state="restarting", last_exit=1),
    )
    halted = running.workers(home)
    ended(home, worker_1=ServiceRuntime(state="restarting", last_exit=124))
    other = running.workers(home)
    ended(home, worker_1=ServiceRuntime(state="restarting", last_exit=70))
    contradicted = running.workers(home)
    ended(home, worker_1=ServiceRuntime(state="restarting", last_exit=65))
    unknown = running.workers(home)
    ended(
        home,
        worker_1=ServiceRuntime(state="running", last_exit=66, started_at=0.0, ends_in_a_row=3),
    )

    assert halted.verdict == "failure"
    meaning = "a topic was deleted, recreated, truncated or got more partitions"
    assert halted.found == f"worker-1: {meaning}"
    assert halted.repair == "inventory workers rebuild --yes"
    assert unknown.repair == f"{REPAIR}  # or start the newer code that wrote it"
    assert (other.repair, contradicted.repair) == ("inventory restart worker-1", REPAIR)
    assert running.workers(home).verdict == "ok"


@pytest.mark.parametrize("state", ["paused", "stopping", "starting"])
def test_a_worker_that_a_person_ended_has_not_failed(tmp_path, state: str) -> None:
    home = Home(tmp_path)
    ended(home, worker_1=ServiceRuntime(state=state, last_exit=69, restarts=1, started_at=0.0))

    assert running.workers(home).verdict == "ok"


@pytest.mark.parametrize(
    ("paused", "states", "repair"),
    [
        ([], {"worker_2": "restarting"}, "inventory restart worker-2"),
        ([], {"web": "suspended"}, "inventory restart web"),
        ([], {"web": "no answer"}, "inventory restart web"),
        (["worker-2"], {"worker_2": "paused"}, "inventory workers start worker-2"),
        (["worker-1", "worker-2"], {"worker_1": "paused", "worker_2": "paused"}, REPAIR),
        (
            ["projector", "worker-2"],
            {"projector": "paused", "worker_2": "paused", "web": "restarting"},
            f"{REPAIR} ; inventory restart web",
        ),
    ],
)
def test_a_service_that_does_not_run_is_reported_with_its_repair(
    tmp_path, paused: list[str], states: dict[str, str], repair: str
) -> None:
    home = Home(tmp_path)
    write_requested(home, RequestedState(2, paused=paused))
    names = ("worker_1", "worker_2", "projector", "web")
    ended(home, **{n: ServiceRuntime() for n in names})
    seen = {name.replace("_", "-"): states.get(name, "running") for name in names}

    row = running.services(home, StackState(Runtime(), "running", seen))

    assert (row.verdict, row.repair) == ("failure", repair)


def test_a_starting_service_is_a_warning_and_its_repair_is_inventory_up(tmp_path) -> None:
    seen = {"worker-1": "starting", "worker-2": "not ready", "web": "running"}

    row = running.services(Home(tmp_path), StackState(Runtime(), "running", seen))

    assert (row.verdict, row.repair) == ("warning", "inventory up --detach")
    assert row.found == "1 of 3 running; not ready: worker-1 (starting), worker-2 (not ready)"


def test_a_suspended_supervisor_is_a_failure_although_all_services_serve(tmp_path) -> None:
    row = running.services(Home(tmp_path), StackState(Runtime(), "suspended", {"web": "running"}))

    assert (row.verdict, row.repair) == ("failure", "inventory down && inventory up --detach")
    assert row.found == "1 of 1 running; not ready: supervisor (suspended)"


def test_an_earlier_crash_is_ok_after_the_worker_has_run_long_enough(tmp_path) -> None:
    home = Home(tmp_path)
    now = time.time()
    life = ServiceRuntime(state="running", last_exit=69, ends_in_a_row=5, lived_s=3.0)
    ended(home, worker_1=replace(life, started_at=now - 10.0))
    early = running.workers(home)
    ended(home, worker_1=replace(life, started_at=now - 25.0))
    later = running.workers(home)

    assert early.verdict == "failure"
    assert (later.verdict, later.repair) == ("ok", "")
    assert later.found.startswith(
        "no service keeps ending; earlier: worker-1 ended with the broker could not"
    )


def test_joined_repairs_have_no_duplicates_and_one_comment_at_the_end() -> None:
    several = ("inventory restart web", "inventory x  # why", "inventory restart web", "# note")

    assert joined(several) == "inventory restart web ; inventory x  # why note"


def test_another_python_is_replaced_by_the_installed_one(tmp_path, monkeypatch) -> None:
    """`make install` keeps an existing `.venv`, and uses `python3` if PYTHON isn't set."""
    monkeypatch.setattr("sys.version_info", (3, 10, 1))
    monkeypatch.setattr("os.geteuid", lambda: 0)

    row = machine.python(Home(tmp_path))

    assert row.kinds == ("other_python",)
    assert row.repair == (
        "apt-get install -y python3.11 python3.11-venv"
        f" && cd {shlex.quote(str(PROJECT))} && rm -rf .venv && make install PYTHON=python3.11"
    )


@pytest.mark.parametrize(("owner", "repair"), [(0, "chmod u+rwx "), (7, "sudo chown ")])
def test_the_repair_of_an_unwritable_home_is_chmod_or_chown(
    owner: int, repair: str, tmp_path, monkeypatch
) -> None:
    home = Home(tmp_path / "two words")
    home.path.mkdir()
    monkeypatch.setattr("os.access", lambda _path, _mode: False)
    monkeypatch.setattr("os.geteuid", lambda: home.path.stat().st_uid + owner)

    row = machine.settings(home)

    assert row.repair.startswith(repair)
    assert row.repair.endswith(f" '{home.path}'")


@pytest.mark.parametrize(
    ("services", "repair"),
    [
        (
            ("worker-1", "actuator"),
            "inventory workers restart --rolling ; inventory restart actuator",
        ),
        (("worker-1",), f"inventory workers restart --rolling ; {START_AGAIN}"),
        (("kafka", "postgres"), START_AGAIN),
    ],
)
def test_a_reader_that_was_never_started_is_not_restarted(
    services, repair, tmp_path, monkeypatch
) -> None:
    """`inventory up --only` leaves services out. Rows about their earlier lag remain."""
    home = Home(tmp_path)
    ended(home, **{name: ServiceRuntime(state="running") for name in services})
    urls = dict.fromkeys(("INVENTORY_KAFKA_BOOTSTRAP", "INVENTORY_READ_DATABASE_URL"), "")
    monkeypatch.setattr(running, "environment_of", lambda _home: urls)
    behind = {name: {"records": 20_000, "seconds": 90.0} for name in (APP_ID, "actuator")}
    monkeypatch.setattr(status, "lags", lambda *_: behind)
    monkeypatch.setattr(status, "freshness", lambda _url: 99.0)
    monkeypatch.setattr(running, "_answer", lambda *_: 1.0)

    assert running.lag(home).repair == repair
    assert running.freshness(home).repair == repair


def test_a_path_with_the_sign_of_a_comment_stays_one_path() -> None:
    moved = "inventory down && inventory move '/srv/disk #2/home' && inventory up --detach"

    row = Failure.FULL_DISK.row("0.1 GB free", repair=moved)

    assert row.repair == moved


def test_the_last_log_line_of_a_worker_adds_its_problem_and_repair(tmp_path) -> None:
    home = Home(tmp_path)
    home.logs.mkdir(parents=True)
    says = {"event": "worker can't start", "problem": "stock.events begins at 9", "exit_code": 66}
    lines = (
        json.dumps(says | {"problem": "another time"}),
        json.dumps(says | {"repair": "inventory down && inventory generation --yes"}),
        json.dumps(says | {"exit_code": 69}),
        json.dumps([66]),
        "a traceback of a library",
    )
    home.log_of("worker-1").write_text("\n".join(lines), encoding="utf-8")
    log = str(home.log_of("worker-1"))
    ended(home, worker_1=ServiceRuntime(state="restarting", last_exit=66, log=log))

    row = running.workers(home)

    assert row.found.endswith("truncated or got more partitions: stock.events begins at 9")
    assert row.repair == "inventory down && inventory generation --yes"


def test_the_log_of_an_earlier_crash_does_not_explain_a_later_one(tmp_path) -> None:
    home = Home(tmp_path)
    home.logs.mkdir(parents=True)
    log = home.log_of("archiver")
    says = {"exit_code": 1, "problem": "damaged", "repair": REPAIR}
    log.write_text(json.dumps(says | {"timestamp": "2026-01-01T08:00:00Z"}), encoding="utf-8")
    then = datetime(2026, 1, 1, 8, tzinfo=UTC).timestamp()
    life: dict[str, Any] = {"state": "restarting", "last_exit": 1, "lived_s": 5.0, "log": str(log)}

    ended(home, archiver=ServiceRuntime(**life, started_at=then - 2))
    of_it = running.workers(home)
    ended(home, archiver=ServiceRuntime(**life, started_at=then + 3600))
    later = running.workers(home)

    assert (of_it.verdict, of_it.found, of_it.repair) == ("failure", "archiver: damaged", REPAIR)
    assert later.verdict == "ok"


def test_a_service_that_keeps_crashing_is_reported_with_the_repair_from_its_log(
    tmp_path,
) -> None:
    home = Home(tmp_path)
    home.logs.mkdir(parents=True)
    log = home.log_of("archiver")
    says = {"exit_code": 1, "problem": "written by a former release", "repair": "inventory x"}
    log.write_text(json.dumps(says), encoding="utf-8")
    ended(home, archiver=ServiceRuntime(state="restarting", last_exit=1, log=str(log)))

    away = running.services(home, StackState(Runtime(), "running", {"archiver": "restarting"}))

    assert away.repair == "inventory x"


def test_a_worker_that_crashed_twice_in_a_row_is_reported_while_it_runs(tmp_path) -> None:
    home = Home(tmp_path)
    now = time.time()
    ended(
        home,
        worker_1=ServiceRuntime(state="running", last_exit=124, ends_in_a_row=2, started_at=now),
        worker_2=ServiceRuntime(state="running", last_exit=75, restarts=9, started_at=now),
    )

    found = running.workers(home).found
    assert found == "worker-1: records or partitions waited without progress"


@pytest.mark.parametrize(
    ("topic", "setting", "way"),
    [
        (STOCK_EVENTS, "partitions", "inventory generation --yes"),
        (ON_HAND_CHANGELOG, "partitions", "inventory workers rebuild --yes"),
        (STOCK_EVENTS, "retention.ms", "inventory down && inventory up --detach"),
        (STOCK_LATE, "partitions", "inventory generation --yes"),
        (STOCK_LATE, "topic", "inventory down && inventory up --detach"),
        (STOCK_EVENTS, "topic", "inventory generation --yes"),
        (ON_HAND_CHANGELOG, "topic", "inventory workers rebuild --yes"),
    ],
)
def test_the_repair_of_topic_drift_depends_on_topic_and_setting(
    topic, setting, way, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(running, "environment_of", lambda _: {"INVENTORY_KAFKA_BOOTSTRAP": ""})
    monkeypatch.setattr(running, "topic_drift", lambda _: (Drift(topic, setting, "12", "13"),))

    row = running.topics(Home(tmp_path))

    assert row.found == f"{topic} {setting}: expected 12, found 13"
    assert way in row.repair


def test_topics_that_differ_in_several_ways_are_all_repaired(tmp_path, monkeypatch) -> None:
    drift = (
        Drift(STOCK_LATE, "retention.ms", "-1", "60000"),
        Drift(ON_HAND_CHANGELOG, "topic", "exists", "missing"),
    )
    monkeypatch.setattr(running, "environment_of", lambda _: {"INVENTORY_KAFKA_BOOTSTRAP": ""})
    monkeypatch.setattr(running, "topic_drift", lambda _: drift)

    row = running.topics(Home(tmp_path))

    assert row.repair == "inventory down && inventory up --detach ; inventory workers rebuild --yes"
