"""`clean` lists what killed tasks left, and deletes it on request, but no file in use."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from analytics.backfill.clean import Orphans, clean
from analytics.backfill.live_files import abandoned, delete, live_directory
from analytics.backfill.lock import only_run
from analytics.backfill.plan import make_plan
from analytics.backfill.run import execute
from analytics.engines import local
from analytics.engines.commits import COMMITS
from analytics.engines.results import refuse_damaged
from analytics.engines.task import attempt, recompute
from deploy.cli.main import app
from tests.analytics.histories import PARTITIONS, archived, generate

LATER_S = 3_600.0
COMPARISON = """
import sys
from pathlib import Path
from analytics.backfill.live_files import live_directory

with live_directory(Path(sys.argv[1])) as directory:
    (directory / "states.parquet").write_bytes(b"half")
    print("reading", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(name="runs")
def some_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the directory of one finished run in a home, with a left-over file of each kind."""
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))
    here = lambda units, results: (attempt(unit, results) for unit in units)  # noqa: E731 -- a pool costs seconds
    monkeypatch.setattr(local, "run_units", here)
    manifest = archived(tmp_path / "archive", generate(seed=7, records=40))
    ends = {number: manifest.next_offset(number) for number in range(PARTITIONS)}
    report = execute(make_plan(manifest, engine="local", ends=ends), tmp_path / "backfill" / "runs")
    recompute(report.plan.units[0], report.directory / "results")
    (report.directory / COMMITS).mkdir()
    (report.directory / COMMITS / ".0123.tmp").write_bytes(b"half a li")
    for job, status in (("done", "appstatus_done"), ("killed", "appstatus_killed.inprogress")):
        log = report.directory / "spark-events" / f"eventlog_v2_{job}"
        log.mkdir(parents=True)
        (log / status).touch()
    (report.directory / "spark" / "blockmgr").mkdir(parents=True)
    yield report.directory.parent
    refuse_damaged(report.rows)
    assert execute(report.plan, report.directory.parent).units_computed == 0


def found(runs: Path, *, delete: bool = False, after_s: float = LATER_S) -> Orphans:
    return clean(runs, delete=delete, clock=lambda: time.time() + after_s)


def kinds(orphans: Orphans) -> list[str]:
    return [orphan.path.name.partition("-")[0] for orphan in orphans.found]


def test_attempts_and_files_of_killed_tasks_are_listed_and_deleted(runs: Path) -> None:
    listed = found(runs)

    assert kinds(listed) == ["attempt", ".0123.tmp", "eventlog_v2_killed", "spark"]
    assert listed.found[0].bytes > listed.found[1].bytes == len(b"half a li")
    assert found(runs, delete=True) == listed
    assert found(runs) == Orphans((), ())


def test_clean_leaves_out_recent_attempts(runs: Path) -> None:
    assert kinds(found(runs, after_s=0.0)) == ["spark"]


def test_a_run_in_use_is_left_out(runs: Path) -> None:
    [run] = runs.iterdir()

    with only_run(run):
        listed = found(runs, delete=True)

    assert listed.found == ()
    assert "is in use by process" in listed.skipped[0]
    assert (run / "spark").exists()


def killed_comparison(parent: Path) -> Path:
    """Kill a process that reads live states. Return the directory that it leaves."""
    command = [sys.executable, "-c", COMPARISON, str(parent)]
    known = set(parent.glob("live-*"))
    with subprocess.Popen(  # noqa: S603 -- our own code
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reading:
        assert reading.stdout is not None
        assert reading.stdout.readline() == "reading\n"
        reading.send_signal(signal.SIGKILL)
    [left] = set(parent.glob("live-*")) - known
    return left


def test_live_states_of_a_killed_comparison_are_removed(runs: Path) -> None:
    left = killed_comparison(runs.parent)

    with live_directory(runs.parent) as used:
        assert not left.exists(), "the next comparison removes what a killed one left"
        (used / "states.parquet").write_bytes(b"half")
        assert kinds(found(runs, after_s=0.0)) == ["spark"], "a directory in use is no orphan"
    assert not used.exists()

    again = killed_comparison(runs.parent)
    listed = found(runs, after_s=0.0)
    assert kinds(listed) == ["spark", "live"]
    assert listed.found[1].path == again
    assert again.exists()
    assert found(runs, delete=True, after_s=0.0) == listed
    assert not again.exists()


def test_live_states_stay_locked_while_their_owner_deletes_them(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proper = shutil.rmtree
    seen: list[list[Path]] = []

    def watched(path: Path, *, ignore_errors: bool = False) -> None:
        seen.append(list(abandoned(runs.parent)))
        proper(path, ignore_errors=ignore_errors)

    with live_directory(runs.parent) as used:
        monkeypatch.setattr(shutil, "rmtree", watched)
    monkeypatch.undo()

    assert seen == [[]], "no other process may delete them at the same time"
    assert not used.exists()


def test_live_states_without_a_lock_file_are_abandoned_after_an_hour(runs: Path) -> None:
    made = runs.parent / "live-of-an-earlier-release"
    made.mkdir()

    assert list(abandoned(runs.parent)) == []
    assert not (made / "lock").exists()
    os.utime(made, (time.time() - 3_700.0,) * 2)
    assert list(abandoned(runs.parent)) == [made]


def test_clean_continues_if_abandoned_live_states_are_already_deleted(runs: Path) -> None:
    left = killed_comparison(runs.parent)
    [again] = abandoned(runs.parent)
    shutil.rmtree(left)

    delete(again)

    assert not left.exists()


SIMULATION = """
import sys
from pathlib import Path
from analytics.simulation.engine import _scratch

with _scratch(Path(sys.argv[1]) / "simulations" / "simulation-0123456789ab") as parts:
    (parts / "keys.parquet").write_bytes(b"half")
    print("simulating", flush=True)
    sys.stdin.read()
"""


def test_files_of_a_killed_simulation_are_listed_and_deleted(runs: Path) -> None:
    home = runs.parents[1]
    command = [sys.executable, "-c", SIMULATION, str(home)]
    with subprocess.Popen(  # noqa: S603 -- our own code
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as simulating:
        assert simulating.stdout is not None
        assert simulating.stdout.readline() == "simulating\n"
        [left] = (home / "simulations").iterdir()
        assert kinds(found(runs, delete=True, after_s=0.0)) == ["spark"], "one in use is no orphan"
        assert left.exists()
        simulating.send_signal(signal.SIGKILL)

    listed = found(runs, after_s=0.0)
    assert [orphan.path for orphan in listed.found] == [left]
    assert listed.found[0].bytes > len(b"half")
    assert found(runs, delete=True, after_s=0.0) == listed
    assert not left.exists()


def test_clean_continues_if_a_jvm_deletes_a_listed_file(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [scratch] = runs.glob("*/spark")
    (scratch / "one").touch()
    proper, raced = shutil.rmtree, []

    def race(path: Path) -> None:
        """Delete a file that the cleaning has listed already, as another process may do."""
        raced.append(path)
        if path == scratch and (scratch / "one").exists():
            (scratch / "one").unlink()
            raise FileNotFoundError(path)
        proper(path)

    monkeypatch.setattr(shutil, "rmtree", race)
    cleaned = found(runs, delete=True)
    monkeypatch.undo()

    assert raced.count(scratch) == 2
    assert kinds(cleaned) == ["attempt", ".0123.tmp", "eventlog_v2_killed", "spark"]
    assert not scratch.exists()


def test_the_clean_command_lists_files_and_deletes_them_only_with_yes(runs: Path) -> None:
    asked = CliRunner().invoke(app, ["backfill", "clean"])
    listed = json.loads(CliRunner().invoke(app, ["backfill", "clean", "--json"]).stdout)
    done = CliRunner().invoke(app, ["backfill", "clean", "--yes"])

    assert (
        "1 unused file or directory, 0.0 MB in runs: kept; `inventory backfill clean --yes`"
        in asked.output
    )
    assert [Path(row["path"]).name for row in listed["runs"]] == ["spark"]
    assert "1 unused file or directory, 0.0 MB in runs: removed" in done.output
    assert "0 unused files or directories, 0.0 MB in runs: nothing to remove" in (
        CliRunner().invoke(app, ["backfill", "clean"]).output
    )
