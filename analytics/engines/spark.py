"""The Spark engine: the same task over the same units, on any master.

Spark only distributes units over machines and repeats lost ones. Grouping and sorting by Spark cost
several times as much when measured, and would need another proof of the order.

The tasks read the archive and write results by path, so on a cluster both are shared storage.
"""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from analytics.engines.code import write_zip
from analytics.engines.failure import EngineFailed, UnitFailed
from analytics.engines.task import attempt
from analytics.engines.unit import ArchiveUnit, ManifestRow

DEFAULT_MASTER: Final = "local[2]"
LOOPBACK: Final = "127.0.0.1"
_WAVES: Final = 2  # units per core and wave
_LONGEST: Final = 400
_SPARKS: Final = ("py4j", "pyspark")
_FRAME: Final = re.compile(r"\s+at |\s+File |\s*\.\.\. \d+ more|Driver stacktrace")
_ERROR: Final = re.compile(r"(Caused by: |: )?[\w.$]+(Error|Exception)\b: ?\S")


def run_units(
    units: Sequence[ArchiveUnit], results: Path, *, master: str = DEFAULT_MASTER
) -> Iterator[ManifestRow | UnitFailed]:
    """Yield one result per unit. The Spark session lives as long as the iteration.

    Raises:
        EngineFailed: Spark itself failed; the message is its cause, without the trace.
    """
    if not units:
        return
    with short_errors(master):
        yield from _run(units, results, master)


def _run(
    units: Sequence[ArchiveUnit], results: Path, master: str
) -> Iterator[ManifestRow | UnitFailed]:
    session = _session(master, results)
    try:
        context = session.sparkContext
        context.addPyFile(str(write_zip(results.parent / "code")))
        # Waves, so that finished units are listed while the rest runs. An iterator over the job's
        # partitions was ruled out: it starts them one after another.
        wave = _WAVES * context.defaultParallelism
        for first in range(0, len(units), wave):
            part = list(units[first : first + wave])
            found = context.parallelize(part, len(part)).map(_Task(str(results))).collect()
            yield from found
            if any(isinstance(one, UnitFailed) for one in found):
                return
    finally:
        session.stop()


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
        kept = "finished units are kept"
        step = "start the same command again, or use `--engine local`"
        raise EngineFailed(problem, kept, step) from error


def cause_of(text: str) -> str:
    """Return the line that names the cause: the last error before Java's own frames."""
    lines = [line.strip() for line in text.splitlines() if not _FRAME.match(line)]
    named = [line for line in lines if _ERROR.match(line)]
    chosen = named[-1] if named else next((line for line in lines if line), "no reason given")
    return chosen[:_LONGEST]


class _Task:
    """A unit's recomputation for Spark to ship by name; importable from the shipped zip."""

    def __init__(self, results: str) -> None:
        self._results = results

    def __call__(self, unit: ArchiveUnit) -> ManifestRow | UnitFailed:
        return attempt(unit, Path(self._results))


def _is_on_this_machine(master: str) -> bool:
    return master.startswith("local") or f"//{LOOPBACK}:" in master


def _reachable(builder: Any, master: str) -> Any:  # noqa: ANN401 -- as below
    """Bind the driver to loopback, unless executors on other machines have to reach it."""
    if not _is_on_this_machine(master):
        return builder
    return builder.config("spark.driver.bindAddress", LOOPBACK).config(
        "spark.driver.host", LOOPBACK
    )


def _session(master: str, results: Path) -> Any:  # noqa: ANN401 -- pyspark builds its session class at run time
    # Without it, executors take the first python3 on PATH, which lacks this project's packages.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if _is_on_this_machine(master):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    from pyspark.sql import SparkSession  # noqa: PLC0415 -- slow, and reads the environment set above

    scratch = results.parent / "spark"
    return (
        _reachable(SparkSession.builder.master(master), master)
        .appName("inventory-backfill")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.local.dir", str(scratch))
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
