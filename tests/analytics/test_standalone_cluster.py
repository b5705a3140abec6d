"""Runs on a cluster whose workers lack this project; ended drivers, executors and jobs."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from analytics.archive.manifest import open_manifest
from analytics.archive.source import write_source_id
from analytics.backfill.plan import Plan, make_plan, save
from analytics.backfill.run import execute
from analytics.backfill.units import finished_units
from analytics.engines.code import code_hash
from analytics.engines.commits import COMMITS
from analytics.engines.spark import EVENTS
from deploy.spark_cluster import standalone
from deploy.stack.home import PROJECT
from deploy.stack.processes import wait_until
from tests.analytics.hidden_project import python_without_project
from tests.analytics.histories import PARTITIONS, archived, generate
from tests.analytics.s3_server import running_server

pytestmark = [pytest.mark.soak, pytest.mark.engines]

WITHIN_S = 180.0
CORES = 2
BUCKETS = 4
# Arguments of a driver: the master, the directory of a run, properties as KEY=VALUE.
IMPORTABLE = """
import os
import sys
from importlib.util import find_spec
from pyspark.sql import SparkSession

os.environ["PYSPARK_PYTHON"] = sys.executable
session = SparkSession.builder.master(sys.argv[1]).config("spark.driver.host", "127.0.0.1")
context = session.config("spark.log.level", "ERROR").getOrCreate().sparkContext
found = context.parallelize([0]).map(lambda _: [find_spec(n) is not None for n in
    ("analytics", "inventory", "cdc", "orjson", "pyarrow")]).collect()
print(found[0])
"""
DRIVER = """
import sys
from pathlib import Path
from analytics.backfill.plan import load
from analytics.backfill.run import execute
from analytics.damage import Damage
from analytics.engines.spark import Cluster

if __name__ == "__main__":
    master, directory = sys.argv[1], Path(sys.argv[2])
    conf = dict(text.split("=") for text in sys.argv[3:])
    try:
        report = execute(load(directory), directory.parent, cluster=Cluster(master, conf),
            progress=lambda done, planned, name: print(done, planned, name, flush=True))
    except Damage as error:
        raise SystemExit(str(error))
    print(report.digest, flush=True)
"""


@pytest.fixture(name="scratch", scope="module")
def a_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(name="address", scope="module")
def a_master(scratch: Path) -> Iterator[str]:
    with standalone(scratch / "cluster", cores=CORES) as cluster:
        yield cluster.address


@pytest.fixture(name="start", scope="module")
def a_start(scratch: Path, address: str) -> Callable[..., subprocess.Popen[str]]:
    """Return a function that starts a driver. Its executors use a Python without this project."""
    python = python_without_project(scratch / "python")

    def start(
        program: str, *arguments: str, has_project: bool = True, master: str = ""
    ) -> subprocess.Popen[str]:
        script = scratch / "driver.py"
        script.write_text(program)
        variables = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        if has_project:
            variables["PYTHONPATH"] = str(PROJECT)
        return subprocess.Popen(  # noqa: S603 -- a script of this module
            [python, str(script), master or address, *arguments],
            cwd=scratch,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return start


def a_plan(directory: Path, *, records: int = 300, buckets: int = BUCKETS) -> Plan:
    manifest = archived(directory / "archive", generate(seed=5, records=records), roll_every=2_000)
    ends = {number: manifest.next_offset(number) for number in range(PARTITIONS)}
    return make_plan(manifest, engine="spark", ends=ends, buckets=buckets)


def local_digest(plan: Plan, runs: Path) -> str:
    return execute(replace(plan, engine="local"), runs).digest


def commits(run: Path) -> int:
    return len(list((run / COMMITS).glob("partition*.json")))


def test_workers_without_the_project_compute_with_the_shipped_code(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    plan = a_plan(tmp_path)
    run = save(plan, tmp_path / "runs")

    alone, _ = start(IMPORTABLE, has_project=False).communicate(timeout=WITHIN_S)
    printed, _ = start(DRIVER, str(run), "spark.speculation=true").communicate(timeout=WITHIN_S)

    assert alone.splitlines()[-1] == "[False, False, False, True, True]"
    assert printed.splitlines()[-1] == local_digest(plan, tmp_path / "local")
    assert len(finished_units(run, plan)) == BUCKETS * PARTITIONS
    assert commits(run) == 0
    assert any((run / EVENTS).iterdir())


def test_executors_refuse_code_that_is_not_the_plans(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    plan = a_plan(tmp_path)
    run = save(plan, tmp_path / "runs")
    text = (run / "plan.json").read_text()
    (run / "plan.json").write_text(text.replace(code_hash(), "0123456789abcdef"))

    printed, _ = start(DRIVER, str(run)).communicate(timeout=WITHIN_S)

    assert "stage start: this process runs code" in printed
    assert f"inventory-code-{code_hash()}.zip" in printed
    assert "the plan's code is 0123456789abcdef" in printed
    assert f"0 of {BUCKETS * PARTITIONS} units are finished" in printed


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_units_of_an_ended_driver_are_not_computed_again(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]], number: signal.Signals
) -> None:
    plan = a_plan(tmp_path, records=6_000, buckets=8)
    run = save(plan, tmp_path / "runs")
    driver = start(DRIVER, str(run))
    assert wait_until(lambda: commits(run) >= 2, timeout_s=WITHIN_S)

    driver.send_signal(number)
    driver.communicate(timeout=WITHIN_S)
    (run / "manifest.jsonl").unlink(missing_ok=True)  # as if killed before it listed a unit
    kept = commits(run)
    printed, _ = start(DRIVER, str(run)).communicate(timeout=WITHIN_S)

    assert 2 <= kept < len(plan.units)
    lines = [line for line in printed.splitlines() if "partition=" in line]
    assert len(lines) <= len(plan.units) - kept
    assert printed.splitlines()[-1] == local_digest(plan, tmp_path / "local")
    assert len(finished_units(run, plan)) == len(plan.units)


def test_a_lost_executor_costs_only_the_units_that_it_computed(
    tmp_path: Path, scratch: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    plan = a_plan(tmp_path, records=6_000, buckets=8)
    run = save(plan, tmp_path / "runs")
    driver = start(DRIVER, str(run))
    assert wait_until(lambda: commits(run) >= 2, timeout_s=WITHIN_S)

    executors = executors_below(scratch)
    assert executors
    for pid in executors:
        os.kill(pid, signal.SIGKILL)
    printed, _ = driver.communicate(timeout=WITHIN_S)

    assert printed.splitlines()[-1] == local_digest(plan, tmp_path / "local")
    assert len(finished_units(run, plan)) == len(plan.units)
    names = [
        json.loads(line)["unit"] for line in (run / "manifest.jsonl").read_bytes().splitlines()
    ]
    assert len(names) == len(set(names))


def test_executors_read_a_bucket_and_no_file_or_process_list_shows_the_credentials(
    tmp_path: Path,
    scratch: Path,
    start: Callable[..., subprocess.Popen[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_directory = a_plan(tmp_path)
    write_source_id(tmp_path / "archive", "id-of-the-topic")
    with running_server(tmp_path) as server:
        for name, text in server.variables.items():
            monkeypatch.setenv(name, text)
        archive = open_manifest(server.copy(tmp_path / "archive", "archive"))
        plan = make_plan(archive, engine="spark", ends=of_directory.ends, buckets=BUCKETS)
        for runs, master in ((tmp_path / "cluster", ""), (tmp_path / "local", "local[2]")):
            run = save(plan, runs)
            driver = start(DRIVER, str(run), master=master)
            seen = command_lines_until_the_end_of(driver)
            printed, _ = driver.communicate(timeout=WITHIN_S)

            assert printed.splitlines()[-1] == local_digest(of_directory, tmp_path / "here")
            assert b"driver.py" in seen
            for secret in (server.key.encode(), server.secret.encode()):
                assert secret not in seen
                assert files_with(secret, run, scratch) == []


def command_lines_until_the_end_of(driver: subprocess.Popen[str]) -> bytes:
    """Return the arguments of all processes while the driver runs, as every user can list them."""
    seen = set[bytes]()

    def has_ended() -> bool:
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                seen.add((process / "cmdline").read_bytes())
        return driver.poll() is not None

    assert wait_until(has_ended, timeout_s=WITHIN_S)
    return b"\n".join(seen)


def files_with(secret: bytes, *directories: Path) -> list[Path]:
    return [
        path
        for directory in directories
        for path in directory.rglob("*")
        if path.is_file() and secret in path.read_bytes()
    ]


def executors_below(scratch: Path) -> list[int]:
    """Return the pids of the executors' JVMs, whose working directory is below `scratch`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            directory = (process / "cwd").readlink()
        except OSError:
            continue
        is_executor = b"CoarseGrainedExecutorBackend" in command
        if is_executor and directory.is_relative_to(scratch / "cluster"):
            found.append(int(process.name))
    return found
