"""Files of killed attempts and jobs, which no reader uses: found, and deleted on request.

A killed task leaves the directory of its attempt, and a killed driver leaves Spark's scratch files.
Readers follow commits and manifests only. So these files cost disk space and nothing else. A killed
comparison leaves the live states that it has read.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analytics.backfill.live_files import abandoned
from analytics.backfill.live_files import delete as delete_live
from analytics.backfill.lock import RunInUse, only_run
from analytics.backfill.plan import PLAN_FILE, UnknownRun, load
from analytics.backfill.run import RESULTS
from analytics.backfill.units import finished_units
from analytics.engines.commits import COMMITS, rows_of
from analytics.engines.spark import SCRATCH
from cdc.contracts.versions import UnreadableRecord

# An executor ends some seconds after its driver. Until then it may write and commit.
_SETTLED_S: Final = 600.0

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Orphan:
    """A file or directory that no reader uses."""

    path: Path
    bytes: int
    reason: str


@dataclass(frozen=True, slots=True)
class Orphans:
    """The orphans of all runs, and why a run was left out."""

    found: tuple[Orphan, ...]
    skipped: tuple[str, ...]


def clean(runs: Path, *, delete: bool, clock: Clock = time.time) -> Orphans:
    """Return the orphans of all runs and comparisons, after they are deleted if `delete`.

    A run that another process computes is left out, and so is a damaged one.
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
    for path in abandoned(runs.parent):
        found.append(_orphan(path, "live states of a comparison that was killed"))
        if delete:
            delete_live(path)
    return Orphans(tuple(found), tuple(skipped))


def _orphans(run: Path, settled_s: float) -> Iterator[Orphan]:
    used = _used(run)
    for attempt in sorted((run / RESULTS).glob("*/*/attempt-*")):
        if attempt not in used and _newest_s(attempt) < settled_s:
            yield _orphan(attempt, "no line of the run lists this attempt")
    for file in sorted([*(run / COMMITS).glob(".*.tmp"), *(run / COMMITS).glob("failed-*.json")]):
        if _newest_s(file) < settled_s:
            yield _orphan(file, "a killed task left it")
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
    return Orphan(path, sum(file.stat().st_size for file in _files(path)), reason)


def _newest_s(path: Path) -> float:
    return max(file.stat().st_mtime for file in (path, *_files(path)))


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
