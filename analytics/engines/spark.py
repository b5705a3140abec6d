"""The Spark engine: the same task over the same units, on any master.

Spark only distributes units over machines and repeats lost ones. The engine doesn't use Spark's
grouping and sorting: they took several times as long in a measurement, and don't promise to keep
the order of records.

All units are one job, so other cores compute further units while a long one runs. Tasks commit
their results themselves (`commits`), so a killed driver loses no finished unit. The driver reads
the commits while the job runs in a thread.

The tasks write results by path. So on a cluster the run's directory must be on shared storage. The
archive must be there, too, unless it is at a URL.
"""

import os
import re
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, Final

from analytics.engines import lost_jvm
from analytics.engines.access import WithAccess
from analytics.engines.code import write_zip
from analytics.engines.commits import CommitReader, commits_of
from analytics.engines.failure import EngineFailed, UnitFailed, read_failure, write_failure
from analytics.engines.task import attempt
from analytics.engines.tasks import Result, RunTasks, Task
from analytics.engines.unit import ArchiveUnit, ManifestRow

DEFAULT_MASTER: Final = "local[2]"
LOOPBACK: Final = "127.0.0.1"
_THIS_MACHINE: Final = {LOOPBACK, "localhost"}
EVENTS: Final = "spark-events"
SCRATCH: Final = "spark"
_POLL_S: Final = 0.2
_LONGEST: Final = 400
_SPARKS: Final = ("py4j", "pyspark")
_FRAME: Final = re.compile(r"\s+at |\s+File |\s*\.\.\. \d+ more|Driver stacktrace")
_ERROR: Final = re.compile(r"(Caused by: |: )?[\w.$]+(Error|Exception)\b: ?\S")


@dataclass(frozen=True, slots=True)
class Cluster:
    """The address of a Spark master, and properties that replace this engine's own."""

    master: str = DEFAULT_MASTER
    conf: Mapping[str, str] = field(default_factory=dict)


LOCAL: Final = Cluster()


def run_units(
    units: Sequence[ArchiveUnit], results: Path, *, cluster: Cluster = LOCAL
) -> Iterator[ManifestRow | UnitFailed]:
    """Yield one result per unit as units finish. After a failed unit no further unit starts.

    The Spark session ends when the iteration ends.

    Raises:
        EngineFailed: Spark itself failed; the message is its cause, without the trace.
    """
    if not units:
        return
    with _opened(results.parent, cluster) as context:
        yield from _results(context, units, results)


@contextmanager
def opened_session(home: Path, cluster: Cluster = LOCAL) -> Iterator[RunTasks]:
    """Start a Spark session with its files in `home`. Yield a function that runs tasks.

    Each call of the function is one job, which yields its results when it has ended.

    Raises:
        EngineFailed: Spark itself failed; the message is its cause, without the trace.
    """
    with _opened(home, cluster) as context:
        yield partial(_collected, context)


@contextmanager
def _opened(home: Path, cluster: Cluster) -> Iterator[Any]:
    """Yield the context of a session that has this code, with the session's files in `home`."""
    with short_errors(cluster.master), lost_jvm.without_traces():
        session = None
        try:
            session = _session(cluster, home)
            lost_jvm.silence_accumulators(session.sparkContext._accumulatorServer)  # noqa: SLF001 -- it has no other name
            session.sparkContext.addPyFile(str(write_zip(home / "code")))
            yield session.sparkContext
        except Exception as error:
            lost_jvm.refuse(cluster.master, error)
            raise
        finally:
            lost_jvm.stop(session)


def _collected(
    context: Any,  # noqa: ANN401 -- as in `_session`
    units: Sequence[ArchiveUnit],
    task: Task[Result],
) -> Iterator[Result | UnitFailed]:
    """Run the task over all units as one job. Yield the results when the job has ended.

    Executors import the task by name from the zip that the driver has shipped.
    """
    if units:
        job = context.parallelize(list(units), len(units)).map(WithAccess(task, units))
        yield from job.collect()


def _results(
    context: Any,  # noqa: ANN401 -- as in `_session`
    units: Sequence[ArchiveUnit],
    results: Path,
) -> Iterator[ManifestRow | UnitFailed]:
    """Run the units as one job. Yield each unit's row once, soon after its commit."""
    failure = commits_of(results) / f"failed-{uuid.uuid4().hex}.json"
    commits = CommitReader([unit.name for unit in units], commits_of(results))
    job = _Job(context, units, _Task(str(results), str(failure)))
    job.start()
    try:
        while job.is_running() and not failure.exists():
            yield from commits.new_rows()
    finally:
        job.cancel()  # also after Ctrl-C: the exception arrives in this thread
    yield from commits.new_rows()
    if failure.exists():
        yield read_failure(failure)
        failure.unlink()
        return
    # On a shared file system a listing may lag behind; the job's own results don't.
    yield from (commits.take(row) for row in job.rows() if commits.is_waiting(row.unit))


class _Job:
    """One Spark job in a thread. `cancel` ends it by the name of its job group."""

    def __init__(self, context: Any, units: Sequence[ArchiveUnit], task: "_Task") -> None:  # noqa: ANN401 -- as in `_session`
        self._context = context
        self._units = list(units)
        self._task = WithAccess(task, units)
        self._group = f"backfill-{uuid.uuid4().hex}"
        self._rows: list[ManifestRow] = []
        self._error: Exception | None = None
        self._thread = Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Submit the job."""
        self._thread.start()

    def is_running(self) -> bool:
        """Wait up to 0.2 s. Return False once the job has ended."""
        self._thread.join(_POLL_S)
        return self._thread.is_alive()

    def cancel(self) -> None:
        """End the job, if it runs, and wait for its thread.

        Repeat the request, because Spark ignores it until the thread has submitted the job.
        """
        while self._thread.is_alive():
            self._context.cancelJobGroup(self._group)
            self._thread.join(_POLL_S)

    def rows(self) -> list[ManifestRow]:
        """Return the results of the ended job, or raise its error."""
        if self._error is not None:
            raise self._error
        return self._rows

    def _run(self) -> None:
        try:
            self._context.setJobGroup(self._group, f"{len(self._units)} units")
            job = self._context.parallelize(self._units, len(self._units)).map(self._task)
            self._rows = [row for row in job.collect() if row is not None]
        except Exception as error:  # noqa: BLE001 -- raised in the driver's thread by `rows`
            self._error = error


@contextmanager
def short_errors(master: str) -> Iterator[None]:
    """Replace errors of Spark and of its Java bridge by their cause."""
    try:
        yield
    except Exception as error:
        # Compared by name: the classes exist only where Spark is installed, and the bridge is no
        # direct dependency.
        if type(error).__module__.partition(".")[0] not in _SPARKS:
            raise
        problem = f"Spark with master {master!r}: {cause_of(str(error))}"
        raise EngineFailed(problem, lost_jvm.KEPT, lost_jvm.STEP) from error


def cause_of(text: str) -> str:
    """Return the line of `text` that names the cause: the last error outside stack frames."""
    lines = [line.strip() for line in text.splitlines() if not _FRAME.match(line)]
    named = [line for line in lines if _ERROR.match(line)]
    chosen = named[-1] if named else next((line for line in lines if line), "no reason given")
    return chosen[:_LONGEST]


class _Task:
    """The task of a unit. Spark ships its name, and executors import it from the shipped zip."""

    def __init__(self, results: str, failure: str) -> None:
        self._results = results
        self._failure = failure

    def __call__(self, unit: ArchiveUnit) -> ManifestRow | None:
        """Return the committed row; None if this or another unit of the job failed."""
        failure = Path(self._failure)
        if failure.exists():
            return None
        found = attempt(unit, Path(self._results))
        if isinstance(found, UnitFailed):
            write_failure(failure, found)
            return None
        return found


def is_on_this_machine(master: str) -> bool:
    """Return True if driver and executors are processes of this machine.

    A standalone master at loopback has workers of this machine only. At a Kubernetes master such as
    `k8s://https://127.0.0.1:6443`, only the API server is on this machine, but not the executors.
    """
    if master.startswith("local"):
        return True
    scheme, _, addresses = master.partition("://")
    hosts = {address.rpartition(":")[0] for address in addresses.split(",")}
    return scheme == "spark" and hosts <= _THIS_MACHINE


def reachable(builder: Any, master: str) -> Any:  # noqa: ANN401 -- pyspark builds its session class at run time
    """Return `builder`. Bind the driver to loopback unless other machines have executors."""
    if not is_on_this_machine(master):
        return builder
    return builder.config("spark.driver.bindAddress", LOOPBACK).config(
        "spark.driver.host", LOOPBACK
    )


def choose_python() -> None:
    """Let executors use this interpreter, unless `PYSPARK_PYTHON` names another.

    By default, executors use the first python3 on PATH, which lacks this project's packages. An
    empty variable counts as not set.
    """
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        if not os.environ.get(name):
            os.environ[name] = sys.executable


def _session(cluster: Cluster, home: Path) -> Any:  # noqa: ANN401 -- pyspark builds its session class at run time
    master = cluster.master
    choose_python()
    if is_on_this_machine(master):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    from pyspark.sql import SparkSession  # noqa: PLC0415 -- slow, and reads the environment set above

    builder = reachable(SparkSession.builder.master(master), master)
    for name, value in {**_properties(home, master), **cluster.conf}.items():
        builder = builder.config(name, value)
    with _temporary_files_in(home / SCRATCH):
        return builder.getOrCreate()


@contextmanager
def _temporary_files_in(directory: Path) -> Iterator[None]:
    """Let pyspark create its temporary files in `directory`, where `backfill clean` finds them."""
    directory.mkdir(parents=True, exist_ok=True)
    former, tempfile.tempdir = tempfile.tempdir, str(directory)
    try:
        yield
    finally:
        tempfile.tempdir = former


def _serves_pages(master: str) -> bool:
    """Return True if only programs of this machine reach Spark's pages, which need no login.

    Spark serves them at the address in SPARK_LOCAL_IP, by default at all addresses.
    """
    return is_on_this_machine(master) and os.environ.get("SPARK_LOCAL_IP") == LOOPBACK


def _properties(home: Path, master: str) -> dict[str, str]:
    """Return this engine's properties; the files of its jobs lie in the run's directory `home`."""
    scratch, events = home / SCRATCH, home / EVENTS
    events.mkdir(parents=True, exist_ok=True)
    return {
        "spark.app.name": "inventory-backfill",
        "spark.ui.enabled": str(_serves_pages(master)).lower(),
        "spark.ui.killEnabled": "false",  # the pages need no login, so they can't end a job
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        # The JVM's temporary files. A killed JVM leaves them here, where `backfill clean` looks.
        "spark.driver.defaultJavaOptions": f'"-Djava.io.tmpdir={scratch}"',
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.log.level": "ERROR",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.resolve().as_uri(),
    }
