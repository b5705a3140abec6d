"""A failing unit ends with one message. A killed driver leaves no process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ALL_COMPLETED, Future, wait
from pathlib import Path
from threading import Thread

import pytest

from analytics.archive.manifest import Manifest
from analytics.backfill.plan import Plan, load, make_plan, save
from analytics.backfill.run import execute
from analytics.backfill.units import finished_units
from analytics.engines import local
from analytics.engines.failure import EngineFailed, UnitFailed
from analytics.engines.local import UNITS_PER_PROCESS, run_units
from analytics.engines.spark import cause_of, short_errors
from analytics.engines.task import attempt
from analytics.engines.unit import units_of
from deploy.stack.home import PROJECT
from inventory.fold.partition import Partition
from inventory.fold.record import FoldResult
from inventory.log.dedupe import Admission
from inventory.model.record import Record
from tests.analytics.histories import PARTITIONS, archived, generate

WITHIN_S = 120.0
LONGEST = 1_000
DRIVER = """
import sys
from pathlib import Path
from analytics.backfill.plan import load
from analytics.backfill.run import execute

if __name__ == "__main__":
    execute(load(Path(sys.argv[1])), Path(sys.argv[1]).parent)
"""


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    return archived(tmp_path / "archive", generate(seed=4, records=60))


def plan_of(manifest: Manifest, *, engine: str = "local") -> Plan:
    ends = {number: manifest.next_offset(number) for number in range(PARTITIONS)}
    return make_plan(manifest, engine=engine, ends=ends)


def failure(manifest: Manifest, results: Path) -> UnitFailed:
    unit = units_of(manifest, {1: manifest.next_offset(1)}, buckets=1)[0]
    found = attempt(unit, results)
    assert isinstance(found, UnitFailed)
    assert len(found.problem) < LONGEST
    assert "\n" not in found.problem
    return found


def test_a_rule_that_raises_is_named_with_record_key_and_line(
    manifest: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = Partition.apply_admitted

    def broken(self: Partition, record: Record, admission: Admission) -> FoldResult:
        if record.offset >= 7:
            raise ZeroDivisionError
        return apply(self, record, admission)

    monkeypatch.setattr(Partition, "apply_admitted", broken)
    found = failure(manifest, tmp_path / "results")

    assert found.problem.startswith("unit partition=1/bucket=0of1, stage fold, stock.events[1]@")
    assert "key L" in found.problem
    assert "ZeroDivisionError" in found.problem
    assert "tests/analytics/test_failing_units.py:" in found.problem
    assert "start the same command again" in found.step


def missing(path: Path) -> str:
    path.unlink()
    return "No such file or directory"


def cut_off(path: Path) -> str:
    path.write_bytes(path.read_bytes()[:-1])
    return "bytes, expected"


@pytest.mark.parametrize("spoil", [missing, cut_off])
def test_a_missing_or_truncated_file_is_named_with_partition_offsets_and_path(
    manifest: Manifest, tmp_path: Path, spoil: Callable[[Path], str]
) -> None:
    file = manifest.files(1)[0]
    unit = units_of(manifest, {1: file.next_offset}, buckets=1)[0]
    reason = spoil(manifest.directory / file.file)

    found = attempt(unit, tmp_path / "results")

    assert isinstance(found, UnitFailed)
    assert found.problem.startswith("unit partition=1/bucket=0of1, stage read: ")
    assert f"{file.file} (stock.events[1]@0 to {file.next_offset}): " in found.problem
    assert reason in found.problem
    assert "`inventory backfill rearchive --yes`" in found.step


def test_an_unwritable_results_directory_is_named(manifest: Manifest, tmp_path: Path) -> None:
    (tmp_path / "results").write_bytes(b"a file, where a directory is needed")

    found = failure(manifest, tmp_path / "results")

    assert "NotADirectoryError" in found.problem or "FileExistsError" in found.problem
    assert str(tmp_path / "results") in found.step


def test_a_failed_unit_ends_a_run_with_waiting_units(manifest: Manifest, tmp_path: Path) -> None:
    """The pool cancels the waiting units. The driver must not wait for a cancelled one."""
    (tmp_path / "results").write_bytes(b"a file, where a directory is needed")
    ends = {number: manifest.next_offset(number) for number in range(PARTITIONS)}
    units = units_of(manifest, ends, buckets=8)
    found: list[object] = []
    reader = Thread(
        target=lambda: found.extend(run_units(units, tmp_path / "results", processes=1)),
        daemon=True,
    )

    reader.start()
    reader.join(WITHIN_S)

    assert not reader.is_alive()
    assert 1 <= len(found) <= UNITS_PER_PROCESS < len(units)
    assert all(isinstance(each, UnitFailed) for each in found)


def test_few_units_run_after_a_failure_that_the_driver_detects_late(
    manifest: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine, the pool may run all units it has got before the driver sees a failure."""

    def late(waiting: set[Future[object]], return_when: str) -> object:
        return wait(waiting, return_when=ALL_COMPLETED)

    monkeypatch.setattr(local, "wait", late)
    (tmp_path / "results").write_bytes(b"a file, where a directory is needed")
    ends = {number: manifest.next_offset(number) for number in range(PARTITIONS)}
    units = units_of(manifest, ends, buckets=8)

    found = list(run_units(units, tmp_path / "results", processes=1))

    assert len(found) == UNITS_PER_PROCESS


def test_every_unit_runs_once_when_units_outnumber_the_pool(
    manifest: Manifest, tmp_path: Path
) -> None:
    ends = {number: manifest.next_offset(number) for number in range(PARTITIONS)}
    units = units_of(manifest, ends, buckets=8)

    rows = [
        row for row in run_units(units, tmp_path / "results") if not isinstance(row, UnitFailed)
    ]

    assert sorted(row.unit for row in rows) == sorted(unit.name for unit in units)


@pytest.mark.engines
@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.soak)])
def test_a_failed_run_prints_one_message_and_keeps_finished_units(
    manifest: Manifest, tmp_path: Path, engine: str, capfd: pytest.CaptureFixture[str]
) -> None:
    plan = plan_of(manifest, engine=engine)
    path = manifest.directory / manifest.files(2)[0].file
    path.write_bytes(path.read_bytes()[:-7] + b"changed")
    capfd.readouterr()

    with pytest.raises(EngineFailed) as refused:
        execute(plan, tmp_path / "runs")
    printed = capfd.readouterr()

    assert "unit partition=2/bucket=0of1, stage read: " in str(refused.value)
    assert (
        f"of {PARTITIONS} units are finished and kept in {tmp_path / 'runs'}" in refused.value.kept
    )
    assert "Traceback" not in printed.out + printed.err
    assert len(finished_units(tmp_path / "runs" / plan.run, plan)) < PARTITIONS


@pytest.mark.engines
def test_a_killed_driver_leaves_no_pool_process_and_its_run_goes_on(tmp_path: Path) -> None:
    manifest = archived(tmp_path / "archive", generate(seed=4, records=6_000), roll_every=3_000)
    plan = plan_of(manifest)
    runs = tmp_path / "runs"
    directory = save(plan, runs)
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    driver = subprocess.Popen(  # noqa: S603 -- the script above
        [sys.executable, str(script), str(directory)], cwd=PROJECT, env=paths()
    )
    try:
        until(lambda: any((directory / "results").glob("*/*/attempt-*")), "a unit to begin")
        pool = children(driver.pid)
        assert pool
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait(WITHIN_S)

    until(lambda: not any(map(alive, pool)), "pool processes to end")
    report = execute(plan, runs)
    assert len(finished_units(directory, load(directory))) == len(report.rows) == PARTITIONS


def paths() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(PROJECT)}


def until(holds: Callable[[], bool], wanted: str) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < deadline, f"waited {WITHIN_S} s for {wanted}"
        time.sleep(0.05)


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


PY4J = """An error occurred while calling o42.collect.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed
\tat org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:2856)
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/x/worker.py", line 1247, in main
    process()
ModuleNotFoundError: No module named 'analytics'
\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:572)
\t... 1 more
"""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (PY4J, "ModuleNotFoundError: No module named 'analytics'"),
        ("\n  \n[JAVA_GATEWAY_EXITED] Java gateway process exited", "[JAVA_GATEWAY_EXITED] Java "),
        ("", "no reason given"),
    ],
)
def test_errors_of_spark_are_reduced_to_their_cause(text: str, cause: str) -> None:
    assert cause_of(text).startswith(cause)


def test_an_error_of_spark_names_master_cause_and_next_step() -> None:
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415 -- loads pyspark

    error = PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    text = r"master 'spark://x:7077': \[JAVA_GATEWAY"
    with pytest.raises(EngineFailed, match=text) as refused, short_errors("spark://x:7077"):
        raise error
    assert "finished units are kept" in str(refused.value)

    with pytest.raises(KeyError), short_errors("local[2]"):
        raise KeyError
