"""Runs disturbed by a killed pool process, by changed sources, and by a second start."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from analytics.archive.manifest import BrokenArchive, Manifest
from analytics.backfill.lock import TAKEN
from analytics.backfill.plan import Plan, make_plan, named
from analytics.backfill.run import execute
from analytics.engines.commits import COMMITS
from analytics.engines.failure import EngineFailed
from deploy.stack.home import PROJECT
from deploy.stack.processes import wait_until
from tests.analytics.histories import PARTITIONS, archived, generate

pytestmark = pytest.mark.engines

WITHIN_S = 180.0
BUCKETS = 4
RULE = Path("inventory") / "replenishment" / "quantity.py"
LINE = "return level.order_up_to_units - base_units"
# Arguments: archive, runs and engine. The driver plans, reads a line from its input and computes.
DRIVER = """
import sys
from pathlib import Path
from analytics.archive.manifest import BrokenArchive, Manifest
from analytics.backfill.plan import make_plan
from analytics.backfill.run import execute
from analytics.damage import Damage

if __name__ == "__main__":
    manifest = Manifest(Path(sys.argv[1]))
    ends = {number: manifest.next_offset(number) for number in range(3)}
    plan = make_plan(manifest, engine=sys.argv[3], ends=ends, buckets=4)
    print("planned", flush=True)
    sys.stdin.readline()
    try:
        print(execute(plan, Path(sys.argv[2])).digest)
    except Damage as error:
        raise SystemExit(str(error))
"""


@pytest.fixture(name="manifest", scope="module")
def an_archive(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    directory = tmp_path_factory.mktemp("disturbed") / "archive"
    return archived(directory, generate(seed=8, records=2_000), roll_every=2_000)


@pytest.fixture(name="digest", scope="module")
def an_undisturbed_digest(manifest: Manifest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return execute(plan_of(manifest), tmp_path_factory.mktemp("undisturbed")).digest


@pytest.fixture(name="tree")
def a_copy_of_the_sources(tmp_path: Path) -> Path:
    for package in ("inventory", "cdc", "analytics"):
        shutil.copytree(PROJECT / package, tmp_path / "tree" / package)
    (tmp_path / "tree" / "driver.py").write_text(DRIVER)
    return tmp_path / "tree"


def plan_of(manifest: Manifest) -> Plan:
    ends = {number: manifest.next_offset(number) for number in range(PARTITIONS)}
    return make_plan(manifest, engine="local", ends=ends, buckets=BUCKETS)


def test_a_plan_beyond_the_archive_is_refused_with_both_ends(manifest: Manifest) -> None:
    end = manifest.next_offset(1)

    with pytest.raises(BrokenArchive) as refused:
        make_plan(manifest, engine="local", ends={1: end + 1})
    assert f"archived up to {{1: {end}}}, not up to {{1: {end + 1}}}" in str(refused.value)
    assert "nothing was computed or published" in str(refused.value)


def pool_processes() -> Iterator[int]:
    """Yield the pool processes of this process."""
    me = os.getpid()
    for child in Path(f"/proc/{me}/task/{me}/children").read_text().split():
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
            yield int(child)


def test_a_killed_pool_process_ends_the_run_and_its_next_start_completes_it(
    manifest: Manifest, digest: str, tmp_path: Path
) -> None:
    plan = plan_of(manifest)

    def kill_one(_done: int, _planned: int, _unit: str) -> None:
        for pid in list(pool_processes())[:1]:
            os.kill(pid, signal.SIGKILL)

    with pytest.raises(EngineFailed, match="a process of the pool ended without a result") as ended:
        execute(plan, tmp_path / "runs", progress=kill_one)
    again = execute(plan, tmp_path / "runs")

    assert f"of {len(plan.units)} units are finished and kept in" in ended.value.kept
    assert "start the same command again" in ended.value.step
    assert list(pool_processes()) == []
    assert 0 < again.units_computed < len(plan.units)
    assert again.digest == digest


def change_the_rule(tree: Path) -> None:
    """Edit the sources below `tree`, so that each need has 6 units more."""
    text = (tree / RULE).read_text()
    assert text.count(LINE) == 1
    (tree / RULE).write_text(text.replace(LINE, f"{LINE} + 6"))


@pytest.mark.soak
def test_a_killed_jvm_is_reported_and_the_next_run_starts_a_new_one(
    manifest: Manifest, digest: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from pyspark import SparkContext  # noqa: PLC0415 -- loads pyspark

    plan = named(replace(plan_of(manifest), engine="spark"))
    capfd.readouterr()

    def kill_it(_done: int, _planned: int, _unit: str) -> None:
        gateway = SparkContext._gateway
        if gateway is not None:
            gateway.proc.kill()  # in local mode the JVM is also the executor

    with pytest.raises(EngineFailed, match="its JVM ended with code -9: it was killed") as ended:
        execute(plan, tmp_path, progress=kill_it)
    printed = capfd.readouterr()
    again = execute(plan, tmp_path)

    assert "finished units are kept; start the same command again" in str(ended.value)
    assert "Traceback" not in printed.out + printed.err
    assert 0 < again.units_computed < len(plan.units)
    assert again.digest == digest


def start(tree: Path, manifest: Manifest, runs: Path, engine: str) -> subprocess.Popen[str]:
    """Start the driver of `tree`. Return its process when the plan is made."""
    driver = subprocess.Popen(  # noqa: S603 -- the script of this module
        [sys.executable, "driver.py", str(manifest.directory), str(runs), engine],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert driver.stdout is not None
    assert driver.stdout.readline() == "planned\n"
    return driver


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.soak)])
def test_rules_that_change_between_plan_and_run_compute_no_unit(
    tree: Path, manifest: Manifest, digest: str, tmp_path: Path, engine: str
) -> None:
    before = (tree / RULE).read_text()
    driver = start(tree, manifest, tmp_path / "runs", engine)
    change_the_rule(tree)

    printed, _ = driver.communicate("\n", WITHIN_S)

    assert driver.returncode == 1
    assert "stage start: this process runs code" in printed
    assert "the plan's code is" in printed
    assert f"0 of {PARTITIONS * BUCKETS} units are finished and kept" in printed
    assert "Traceback" not in printed
    (tree / RULE).write_text(before)
    printed, _ = start(tree, manifest, tmp_path / "runs", engine).communicate("\n", WITHIN_S)
    assert printed.splitlines()[-1] == digest


@pytest.mark.soak
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_rules_that_change_during_a_run_are_not_mixed_into_it(
    tree: Path, manifest: Manifest, digest: str, tmp_path: Path, engine: str
) -> None:
    before = (tree / RULE).read_text()
    driver = start(tree, manifest, tmp_path / "runs", engine)
    assert driver.stdin is not None
    driver.stdin.write("\n")
    driver.stdin.flush()
    commits = f"*/{COMMITS}/partition*.json"
    assert wait_until(lambda: any((tmp_path / "runs").glob(commits)), timeout_s=WITHIN_S)
    change_the_rule(tree)

    printed, _ = driver.communicate(timeout=WITHIN_S)

    assert driver.returncode == 0 or "the plan's code is" in printed
    (tree / RULE).write_text(before)
    printed, _ = start(tree, manifest, tmp_path / "runs", engine).communicate("\n", WITHIN_S)
    assert printed.splitlines()[-1] == digest


@pytest.mark.soak
def test_a_second_command_for_a_run_in_use_ends_with_its_own_exit_code(
    manifest: Manifest, digest: str, tmp_path: Path
) -> None:
    (tmp_path / "archive").symlink_to(manifest.directory)
    command = [sys.executable, "-m", "deploy.cli.main", "backfill", "run", "--until", "archived"]
    mine = {"INVENTORY_HOME": str(tmp_path), "INVENTORY_PARTITIONS": str(PARTITIONS)}

    def begin() -> subprocess.Popen[str]:
        return subprocess.Popen(  # noqa: S603 -- our own command
            [*command, "--buckets", str(BUCKETS)],
            cwd=PROJECT,
            env=os.environ | mine,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    first = begin()
    attempts = "backfill/runs/*/results/*/*/attempt-*"
    assert wait_until(lambda: any(tmp_path.glob(attempts)), timeout_s=WITHIN_S)
    first.send_signal(signal.SIGSTOP)  # it keeps the lock, and its pool may finish its units
    second = begin()
    _, refused = second.communicate(timeout=WITHIN_S)
    first.send_signal(signal.SIGCONT)
    printed, errors = first.communicate(timeout=WITHIN_S)

    assert second.returncode == TAKEN
    assert f"is in use by process {first.pid}" in refused
    assert "this command changed nothing" in refused
    assert first.returncode == 0, errors
    assert digest in printed
