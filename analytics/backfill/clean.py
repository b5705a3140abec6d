"""Find files that no reader uses and that killed processes left. Delete them on request.

A killed task leaves the directory of its attempt. A killed driver leaves Spark's scratch files, and
a killed JVM leaves an event log without an end. A killed comparison leaves the live states that it
has read, and a killed simulation its unfinished files. Readers open only files that commits and
manifests list, so these files only cost disk space.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analytics.backfill.live_files import abandoned
from analytics.backfill.live_files import delete as delete_live
from analytics.backfill.lock import RunInUse, only_run
from analytics.backfill.plan import PLAN_FILE, UnknownRun, load
from analytics.backfill.run import RESULTS
from analytics.backfill.simulations import FOLDER, UNFINISHED
from analytics.backfill.units import finished_units
from analytics.engines.commits import COMMITS, rows_of
from analytics.engines.spark import EVENTS, SCRATCH
from cdc.contracts.versions import UnreadableRecord

# Spark's executors end some seconds after their driver and may write until then. So `clean` leaves
# files that changed in the last ten minutes.
_SETTLED_S: Final = 600.0
_SIMULATION: Final = "unfinished files of a simulation that was killed"

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Orphan:
    """A file or directory that no reader uses."""

    path: Path
    bytes: int
    reason: str


@dataclass(frozen=True, slots=True)
class Orphans:
    """All orphans (files that no reader uses), and one reason for each run that was left out."""

    found: tuple[Orphan, ...]
    skipped: tuple[str, ...]


def clean(runs: Path, *, delete: bool, clock: Clock = time.time) -> Orphans:
    """Return the orphans of all runs, comparisons and simulations. With `delete`, delete them.

    Damaged runs, and runs that another process computes, are left out.
    """
    found: list[Orphan] = []
    skipped: list[str] = []
    for plan in sorted(runs.glob(f"*/{PLAN_FILE}")):
        directory = plan.parent
        try:
            with only_run(directory):
                orphans = list(_orphans(directory, clock() - _SETTLED_S))
                for orphan in orphans if delete else ():
                    _delete(orphan.path)
                found += orphans
        except (RunInUse, UnknownRun, UnreadableRecord) as problem:
            skipped.append(str(problem))
    home = runs.parents[1]  # runs are in home/backfill/runs
    for path, reason in (
        *((path, "live states of a comparison that was killed") for path in abandoned(runs.parent)),
        *((path, _SIMULATION) for path in abandoned(home / FOLDER, UNFINISHED)),
    ):
        found.append(_orphan(path, reason))
        if delete:
            delete_live(path)
    return Orphans(tuple(found), tuple(skipped))


def _orphans(run: Path, settled_s: float) -> Iterator[Orphan]:
    used = _used(run)
    for attempt in sorted((run / RESULTS).glob("*/*/attempt-*")):
        if attempt not in used and _newest_s(attempt) < settled_s:
            yield _orphan(attempt, "the run doesn't use the results of this attempt")
    for file in sorted([*(run / COMMITS).glob(".*.tmp"), *(run / COMMITS).glob("failed-*.json")]):
        if _newest_s(file) < settled_s:
            yield _orphan(file, "a killed task left it")
    for log in sorted({status.parent for status in (run / EVENTS).glob("*/*.inprogress")}):
        if _newest_s(log) < settled_s:
            yield _orphan(log, "the event log of a Spark job that was killed")
    if (run / SCRATCH).is_dir():
        yield _orphan(run / SCRATCH, "scratch files of a Spark job that has ended")


def _used(run: Path) -> set[Path]:
    plan = load(run)
    rows = [
        *finished_units(run, plan).values(),
        *rows_of([unit.name for unit in plan.units], run / COMMITS),
    ]
    return {Path(row.directory) for row in rows}


def _orphan(path: Path, reason: str) -> Orphan:
    return Orphan(
        path, sum(found.st_size for found in _stats(path, with_directories=False)), reason
    )


def _newest_s(path: Path) -> float:
    """Return the newest modification time (s since 1970 UTC); 0 if the path is gone."""
    return max((found.st_mtime for found in _stats(path, with_directories=True)), default=0.0)


def _stats(path: Path, *, with_directories: bool) -> Iterator[os.stat_result]:
    """Yield `stat` of the path and of all files below. Skip those that a JVM deletes meanwhile."""
    paths = [path] if with_directories or path.is_file() else []
    for directory, names, files in os.walk(path):
        found = [*files, *names] if with_directories else files
        paths += [Path(directory) / name for name in found]
    for each in paths:
        with suppress(FileNotFoundError):
            yield each.stat()


def _delete(path: Path) -> None:
    while path.exists():
        with suppress(FileNotFoundError):  # a JVM that is ending deleted a file; delete the rest
            shutil.rmtree(path) if path.is_dir() else path.unlink()
