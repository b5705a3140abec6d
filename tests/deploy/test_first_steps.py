"""First commands of a newcomer: no stack yet, an invalid home, a stack that already runs."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from rich.console import Console

from analytics.backfill.plan import PLAN_FILE, Plan, save
from analytics.backfill.seal import RUN_FILE
from deploy import output
from deploy.cli.main import main
from deploy.cli.stack import demo, start_options
from deploy.errors import StackError
from deploy.stack.home import PROJECT, Home, write_json
from deploy.stack.processes import identify
from deploy.stack.proof import logins
from deploy.stack.runtime import (
    Runtime,
    ServiceRuntime,
    write_environment,
    write_runtime,
)
from inventory.revision import LOGIC_REVISION

NEED_A_STACK = (
    "workers",
    "workers restart worker-1",
    "workers scale 2",
    "workers rebuild",
    "query L|S",
    "simulate",
    f"import-sales {__file__}",
    f"import-codes {__file__}",
    "verify",
    "explain S --location L",
    "sales S --location L",
    "sql",
    "backfill run",
    "backfill verify",
    "backfill verify --from last-proven",
    "backfill prove",
    "rejected list",
    "rejected show 1-0-0",
    "rejected dismiss 1-0-0 --reason r",
    "rejected replay 1-0-0 --reason r",
    "revision list",
    "revision start 9 --code .",
    "revision compare 9",
    "revision promote 9",
    "revision retire 9",
    "bench pipeline",
    "bench rebalance",
    "bench faults",
    "bench verify",
    "people list",
    "audit verify",
    "capture pause",
    "capture resume",
    "restart kafka",
    "hold web",
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    found = Home(tmp_path / "home")
    monkeypatch.setenv("INVENTORY_HOME", str(found.path))
    monkeypatch.delenv("INVENTORY_KAFKA_BOOTSTRAP", raising=False)
    monkeypatch.delenv("INVENTORY_WEB_PORT", raising=False)
    monkeypatch.delenv("INVENTORY_JVM_COMPILERS", raising=False)
    # Set a width that fits any path. The default is the width of the terminal of the tests.
    monkeypatch.setattr(output, "console", Console(width=400, highlight=False))
    with mock.patch.dict(os.environ):  # restore it: commands add the stack's variables
        yield found


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def run(line: str) -> tuple[object, str]:
        """Run a command line. Return its exit code and its output, joined into one line."""
        monkeypatch.setattr(sys, "argv", ["inventory", *line.split()])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return ended.value.code, " ".join((told.out + told.err).split())

    return run


def runs(home: Home, *services: str) -> None:
    """Create a home whose files name this process as supervisor of a ready stack."""
    home.create()
    me = identify(os.getpid())
    runtime = Runtime(phase="ready", supervisor_pid=me.pid, supervisor_ticks=me.started)
    runtime.services = {name: ServiceRuntime(state="running") for name in services}
    write_environment(home, {})
    write_runtime(home, runtime)


@pytest.mark.parametrize("line", NEED_A_STACK)
def test_a_command_that_needs_the_stack_names_the_one_that_starts_it(line, home, typed) -> None:
    code, told = typed(line)

    # `verify` ends with 2, because its exit code 1 means a difference.
    assert code == (2 if line == "verify" else 1)
    assert told.startswith("error: no stack")
    assert told.endswith(f"in {home.path} repair: inventory up --detach")


def test_where_nothing_runs_nothing_is_stopped_shown_or_deleted(home, typed) -> None:
    code, told = typed("status")
    assert code == 1
    assert told.startswith(f"down · {home.path} · workers of logic revision {LOGIC_REVISION}")
    assert told.endswith("repair: inventory up --detach")
    assert typed("down") == (0, f"nothing was running in {home.path}")
    assert typed("reset") == (0, f"no files in {home.path}; nothing was deleted")
    code, told = typed("logs --follow")
    assert (code, "no stack was ever started there" in told) == (1, True)


def test_the_logs_command_names_existing_logs_and_prints_their_last_lines(home, typed) -> None:
    home.create()
    home.log_of("web").write_text("one\ntwo\nthree\n")
    home.log_of("kafka").write_text("four\n")

    code, told = typed("logs wbe")

    assert (code, told) == (
        1, f"error: no log of 'wbe' in {home.logs}: expected one of kafka, web",
    )  # fmt: skip
    assert typed("logs web -n 2") == (0, "two three")
    assert "four" in typed("logs")[1]


@pytest.mark.parametrize("line", ["status", "up --detach", "down", "logs", "reset --yes", "doctor"])
def test_a_home_that_is_a_file_is_refused(line, home, typed) -> None:
    home.path.write_text("a file")

    assert typed(line) == (
        1, f"error: INVENTORY_HOME='{home.path}': expected a directory, or the path of a new one",
    )  # fmt: skip
    assert home.path.read_text() == "a file"


def test_a_home_that_cannot_be_made_is_refused(home, typed, monkeypatch) -> None:
    monkeypatch.setenv("INVENTORY_HOME", "/proc/nowhere")

    code, told = typed("up --only postgres --detach")

    assert (code, told.startswith("error: INVENTORY_HOME='/proc/nowhere'")) == (1, True)


@pytest.mark.parametrize("text", ["{", "[]", '{"phase": "ready"}', '{"services": {}, "of": 2030}'])
def test_a_runtime_file_that_cannot_be_read_is_named(text, home, typed) -> None:
    home.create()
    home.runtime_file.write_text(text)

    code, told = typed("down")

    assert code == 1
    assert told.startswith(f"error: {home.runtime_file}: expected what this release")
    assert f"repair: rm {home.runtime_file}" in told


@pytest.mark.parametrize("port", ["http", "-1", "70000", "²"])
def test_an_invalid_port_is_refused(port, home, typed, monkeypatch) -> None:
    monkeypatch.setenv("INVENTORY_WEB_PORT", port)

    assert typed("up --detach") == (
        1, f"error: INVENTORY_WEB_PORT='{port}': expected 1 to 65535, or 0 for any port",
    )  # fmt: skip


def test_an_invalid_worker_setting_is_reported_before_anything_starts(
    home, typed, monkeypatch
) -> None:
    monkeypatch.setenv("INVENTORY_SNAPSHOT_S", "soon")

    code, told = typed("up --detach")

    assert (code, told.startswith("error: INVENTORY_SNAPSHOT_S='soon': ")) == (1, True)
    assert not home.path.exists()


def test_reset_does_not_delete_a_directory_that_is_no_home(home, typed) -> None:
    home.path.mkdir()
    (home.path / "thesis.txt").write_text("mine")

    for line in ("reset", "reset --yes"):
        code, told = typed(line)
        assert (code, "nothing was deleted" in told) == (1, True)
    assert (home.path / "thesis.txt").read_text() == "mine"


def test_a_home_is_deleted_after_it_was_shown(home, typed) -> None:
    home.create()
    (home.path / "supervisor.lock").touch()

    refused = typed("reset")
    done = typed("reset --yes")

    assert refused[0] == 1
    assert refused[1].endswith("repair: inventory reset --yes")
    assert done[0] == 0
    assert f"{home.logs}" in refused[1]
    assert not home.path.exists()


def test_up_reports_services_that_the_running_stack_lacks(home, typed) -> None:
    runs(home, "postgres", "web")

    code, told = typed("up --detach --seed-data demo --only postgres,migrate,kafka,web")

    assert code == 1
    assert told == (
        f"error: a stack runs already in {home.path}, without kafka, the demo retailer; nothing was"
        " changed repair: inventory down && inventory up --detach --seed-data demo"
        " --only postgres,migrate,kafka,web"
    )


def test_a_second_up_prints_the_address_of_each_service(home, typed) -> None:
    runs(home, "postgres")
    runtime = json.loads(home.runtime_file.read_text())
    runtime["services"]["postgres"]["url"] = "postgresql://127.0.0.1:5432"
    home.runtime_file.write_text(json.dumps(runtime))

    code, told = typed("up --detach --only postgres,migrate")

    assert (code, "postgres running postgresql://127.0.0.1:5432" in told) == (0, True)


@pytest.mark.parametrize(
    ("seeded", "given", "only", "data", "is_demo"),
    [
        (False, None, "", "none", False),
        (False, "demo", "", "demo", True),
        (True, None, "", "demo", True),
        (True, "none", "", "none", False),
        (True, None, "postgres,web", "none", True),
    ],
)
def test_a_demo_home_starts_as_a_demo_again(home, seeded, given, only, data, is_demo) -> None:
    home.create()
    if seeded:
        write_json(home.logins_file, {"buyer": "secret"})

    options = start_options(home, 2, only, given)

    assert (options.seed_data, options.demo) == (data, is_demo)


def test_the_compilers_of_the_jvms_can_be_chosen_and_no_other_is_accepted(
    home, typed, monkeypatch
) -> None:
    assert start_options(home, 2, "", None).jvm_compilers == "both"
    assert start_options(home, 2, "", "demo").jvm_compilers == "first"
    monkeypatch.setenv("INVENTORY_JVM_COMPILERS", "first")
    assert start_options(home, 2, "", None).jvm_compilers == "first"

    monkeypatch.setenv("INVENTORY_JVM_COMPILERS", "third")
    assert typed("up --detach") == (
        1, "error: INVENTORY_JVM_COMPILERS='third': expected first or both",
    )  # fmt: skip


def test_logins_without_a_demo_names_the_command_that_starts_one(home) -> None:
    with pytest.raises(StackError, match="no demo logins") as refused:
        logins(home)

    assert refused.value.repair == "inventory down && inventory demo"


def test_a_demo_behind_https_is_refused_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The demo logs in over HTTP to watch a sale, but with this setting pages redirect to HTTPS."""
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("INVENTORY_HTTPS", "1")
    monkeypatch.setattr("deploy.cli.stack.up", lambda **_: pytest.fail("a stack was started"))

    with pytest.raises(StackError, match="INVENTORY_HTTPS is set") as refused:
        demo()

    assert refused.value.repair == "env -u INVENTORY_HTTPS inventory demo"
    assert not (tmp_path / "home").exists()


def test_commands_need_no_supervisor_if_variables_hold_the_addresses(
    home, typed, monkeypatch
) -> None:
    """A container's variables do: `docker compose run --rm archiver inventory backfill status`."""
    for name in ("KAFKA_BOOTSTRAP", "READ_DATABASE_URL"):
        monkeypatch.setenv(f"INVENTORY_{name}", "postgresql://app_ro@127.0.0.1:1/retail")

    found, told = typed("backfill status")
    asked = typed("rejected list")[1]

    assert (found, "0 runs, newest first" in told) == (0, True)
    assert "127.0.0.1" in asked
    assert "no stack" not in asked


def test_backfill_status_lists_all_runs_even_if_some_are_unreadable(
    home, typed, monkeypatch
) -> None:
    for name in ("KAFKA_BOOTSTRAP", "READ_DATABASE_URL"):
        monkeypatch.setenv(f"INVENTORY_{name}", "postgresql://app_ro@127.0.0.1:1/retail")
    runs = home.path / "backfill" / "runs"
    for run in ("ours", "theirs", "torn"):
        plan = Plan(run, "local", {}, 1, logic_revision=LOGIC_REVISION, code="c", units=())
        save(plan, runs)
    (runs / "torn" / PLAN_FILE).write_text("{")
    (runs / "theirs" / RUN_FILE).write_text('{"schema": 9}')

    code, told = typed("backfill status")
    runs = json.loads(typed("backfill status --json")[1])["runs"]

    assert (code, "ours" in told) == (0, True)
    assert "_RUN.json: run record: schema 9 is unknown here; known: 1" in told
    assert "plan.json: not a plan of a run" in told
    finished = {entry["run"]: entry["finished"] for entry in runs}
    assert finished == {"ours": False, "theirs": None, "torn": None}


def test_an_unreachable_broker_or_database_is_reported_in_one_line(
    home, typed, monkeypatch
) -> None:
    runs(home, "postgres")
    nowhere = {
        "INVENTORY_KAFKA_BOOTSTRAP": "127.0.0.1:1",
        "INVENTORY_READ_DATABASE_URL": "postgresql://app_ro@127.0.0.1:1/retail",
    }
    (home.path / "environment.json").write_text(json.dumps(nowhere))

    code, told = typed("rejected list")

    assert code == 1
    assert "127.0.0.1" in told
    assert told.endswith("repair: inventory status")


def test_people_list_reports_an_unreachable_database_in_one_line(tmp_path: Path) -> None:
    """Uses another process, because Django can be set up only once."""
    mine = {key: value for key, value in os.environ.items() if not key.startswith("INVENTORY_")}
    nowhere = {
        "INVENTORY_HOME": str(tmp_path),
        "INVENTORY_KAFKA_BOOTSTRAP": "127.0.0.1:1",
        "INVENTORY_DATABASE_URL": "postgresql://app_rw@127.0.0.1:1/retail",
    }
    command = [sys.executable, "-m", "deploy.cli.main", "people", "list"]

    done = subprocess.run(  # noqa: S603 -- our own command
        command, cwd=PROJECT, env=mine | nowhere, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr.startswith("error: connection failed")
    assert done.stderr.endswith("repair: inventory status\n")


@pytest.mark.parametrize("line", ["status", "sql", "people list", "capture resume"])
@pytest.mark.parametrize("text", [None, "{"])
def test_a_missing_or_damaged_environment_file_is_reported_in_one_line(
    text, line, home, typed
) -> None:
    """A first start has no file of variables yet. A full disk may have truncated the file."""
    runs(home, "postgres")
    file = home.path / "environment.json"
    file.unlink()
    if text is not None:
        file.write_text(text)

    code, told = typed(line)

    assert code == 1
    assert "Traceback" not in told
    if line != "status":
        assert told.startswith(f"error: {file}: ")
        assert told.endswith("repair: inventory down && inventory up --detach")


def test_a_full_disk_is_reported_in_one_line(home, typed, monkeypatch) -> None:
    def full() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("deploy.cli.main.app", full)

    assert typed("up") == (1, "error: No space left on device repair: inventory status")
