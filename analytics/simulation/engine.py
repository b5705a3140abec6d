"""`backfill simulate`: plan units, compute them and write a report, without Kafka and Postgres.

Tasks are split by items and not by scenarios. So a task decodes and folds an item's history once
for all scenarios.
"""

import errno
import hashlib
import json
import os
import shutil
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from analytics.archive.manifest import open_manifest
from analytics.archive.storage import Location
from analytics.backfill.lock import LOCK
from analytics.backfill.simulations import FOLDER, MARK, PREFIX
from analytics.digest import add
from analytics.engines import local, spark
from analytics.engines.code import code_hash
from analytics.engines.failure import EngineFailed, UnitFailed
from analytics.engines.selection import EVERYTHING, Selection
from analytics.engines.tasks import RunTasks
from analytics.engines.unit import ArchiveUnit, units_of
from analytics.exchange import exchange
from analytics.locks import exclusive
from analytics.simulation.assumptions import Assumptions
from analytics.simulation.lead_times import Seconds, experience_of
from analytics.simulation.refusals import refused
from analytics.simulation.report import Report
from analytics.simulation.scenarios import Scenario
from analytics.simulation.unit_task import (
    Plan,
    Surveyed,
    UnitSimulated,
    longer,
    simulate_unit,
    survey,
)
from inventory.revision import LOGIC_REVISION

ENGINES: Final = ("local", "spark")
DEFAULT_MASTER: Final = spark.DEFAULT_MASTER
_HAS_FILES: Final = (errno.ENOTEMPTY, errno.EEXIST)
_UNIT_RECORDS: Final = 150_000  # rows of one unit are in memory as bytes: some hundred megabytes
Progress = Callable[[int, int, float], None]  # units done, units planned, seconds since the start


@dataclass(frozen=True, slots=True)
class Request:
    """A requested simulation.

    If `out` is None, the result is written into a directory below `home`. If `archive` is None, the
    archive in `home` is read.
    """

    home: Path
    scenarios: tuple[Scenario, ...]
    assumptions: Assumptions = field(default_factory=Assumptions)
    selection: Selection = EVERYTHING
    engine: str = "local"
    master: str = DEFAULT_MASTER
    buckets: int | None = None
    processes: int | None = None
    out: Path | None = None
    archive: Location | None = None


def simulate(request: Request, progress: Progress) -> Report:
    """Simulate all scenarios over the archive. Return the report; the files are in its directory.

    Raises:
        SimulationRefused: no archive, no item, or `out` holds files that no simulation wrote.
        BrokenArchive: the archive is damaged.
        EngineFailed: a unit failed.
    """
    started = time.monotonic()
    units = units_for(request)
    name = _name(request, units)
    directory = _directory(request, name)
    with _scratch(directory) as parts, _engine(request, parts, len(units)) as run_tasks:
        plan = _plan(request, _all(run_tasks(units, survey)), parts)
        found = UnitSimulated("")
        runs = run_tasks(units, partial(simulate_unit, plan=plan))
        for done, one in enumerate(_all(runs), 1):
            _merge(found, one)
            progress(done, len(units), time.monotonic() - started)
        report = Report(name, directory, request.scenarios, request.assumptions, found)
        if not found.groups:
            raise _nothing(request, found)
        _keep(parts, directory, report)
    return report


def units_for(request: Request) -> tuple[ArchiveUnit, ...]:
    """Return the units of the archive, by default with at most about 150,000 records each."""
    manifest = open_manifest(request.archive or request.home / "archive")
    if not manifest.all_files():
        problem = f"{manifest.storage}: no archive of stock.events"
        raise refused(problem, "`inventory backfill run` writes it from a running stack")
    numbers = sorted({file.partition for file in manifest.all_files()})
    ends = {number: manifest.fact_end(number) for number in numbers}
    buckets = request.buckets or max(1, -(-max(ends.values(), default=0) // _UNIT_RECORDS))
    return units_of(manifest, ends, buckets=buckets, selection=request.selection)


def _name(request: Request, units: Sequence[ArchiveUnit]) -> str:
    """Return the name: a digest of history, rules, scenarios and assumptions."""
    files = sorted(
        {(source.file, source.sha256, unit.end) for unit in units for source in unit.sources}
    )
    content = [files, *_request_json(request), code_hash(), LOGIC_REVISION]
    return PREFIX + hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]


def _request_json(request: Request) -> list[Any]:
    return [
        [scenario.as_json() for scenario in request.scenarios],
        request.assumptions.as_json(),
        asdict(request.selection),
    ]


def _directory(request: Request, name: str) -> Path:
    # Resolve the path for two reasons. The scratch directory is named after this directory, and `.`
    # has no name. `rmtree` refuses symbolic links.
    directory = request.home / FOLDER / name if request.out is None else request.out.resolve()
    if directory.exists() and not (directory / MARK).exists() and any(directory.iterdir()):
        problem = f"{directory} holds files that no simulation wrote"
        raise refused(problem, "name an empty or new directory with --out")
    return directory


@contextmanager
def _scratch(directory: Path) -> Iterator[Path]:
    """Yield a temporary directory beside `directory`. Delete it afterwards if it still exists.

    The lock in it shows `backfill clean` that the directory is in use.
    """
    # The directory of a killed process may remain. In a container, the next process may have the
    # same process id. So the name also has random digits.
    parts = directory.with_name(f".{directory.name}.{os.getpid()}-{uuid.uuid4().hex[:12]}.tmp")
    parts.mkdir(parents=True)
    try:
        with exclusive(parts / LOCK):
            yield parts
    finally:
        shutil.rmtree(parts, ignore_errors=True)


@contextmanager
def _engine(request: Request, parts: Path, units: int) -> Iterator[RunTasks]:
    if request.engine == "spark":
        with spark.opened_session(parts / "engine", spark.Cluster(request.master)) as run_tasks:
            yield run_tasks
    else:
        with local.opened_pool(units, processes=request.processes) as run_tasks:
            yield run_tasks


def _plan(request: Request, surveys: Iterator[Surveyed], parts: Path) -> Plan:
    seconds: dict[str, Seconds] = {}
    newest_us = 0
    for one in surveys:
        newest_us = max(newest_us, one.newest_commit_us)
        for source, counted in one.seconds.items():
            seconds.setdefault(source, Counter()).update(counted)
    return Plan(
        scenarios=request.scenarios,
        assumptions=request.assumptions,
        experience=experience_of(seconds),
        newest_commit_us=newest_us,
        parts=str(parts.resolve()),
    )


def _all(results: Iterator[Any]) -> Iterator[Any]:
    """Yield the results. After all begun units have ended, raise the first failure, if any."""
    failures: list[UnitFailed] = []
    for one in results:
        if isinstance(one, UnitFailed):
            failures.append(one)
        else:
            yield one
    if failures:
        raise EngineFailed(failures[0].problem, "no file was kept", failures[0].step)


def _merge(found: UnitSimulated, one: UnitSimulated) -> None:
    for key, outcome in one.groups.items():
        known = found.groups.get(key)
        if known is None:
            found.groups[key] = outcome
        else:
            known.add(outcome)
    found.left_out += one.left_out
    found.answered_minutes += one.answered_minutes
    found.never_replenished += one.never_replenished
    found.off_us += one.off_us
    found.changed.update(one.changed)
    found.period = longer(found.period, one.period)
    found.digest = add(found.digest, one.digest)
    for scenario, problem in one.problems.items():
        found.problems[scenario] = min(problem, found.problems.get(scenario, problem))


def _nothing(request: Request, found: UnitSimulated) -> Exception:
    reasons = ", ".join(
        f"{count} with {reason}" for reason, count in sorted(found.left_out.items())
    )
    problem = f"no item can be simulated: {reasons or 'the archive has none that was selected'}"
    return refused(problem, f"choose other items than {request.selection.text()}")


def _keep(parts: Path, directory: Path, report: Report) -> None:
    """Write the report into `parts`. Replace an earlier result in `directory` by `parts`."""
    shutil.rmtree(parts / "engine", ignore_errors=True)
    text = json.dumps(report.as_json(), indent=1, sort_keys=True)
    (parts / MARK).write_text(text + "\n", encoding="utf-8")
    directory.parent.mkdir(parents=True, exist_ok=True)
    (parts / LOCK).unlink()
    _replace(parts, directory)


def _replace(parts: Path, directory: Path) -> None:
    """Move `parts` to `directory`. An earlier result in `directory` moves to `parts`.

    If the file system can't exchange two paths, the earlier result is deleted instead. An equal
    simulation may end at the same time, so `directory` can appear at any moment.

    Raises:
        OSError: the first rename failed, but not with ENOTEMPTY or EEXIST. Nothing was moved.
    """
    try:
        parts.rename(directory)
    except OSError as error:
        if error.errno not in _HAS_FILES:
            raise
    else:
        return
    try:
        exchange(parts, directory)
    except OSError:  # the file system can't exchange paths
        shutil.rmtree(directory)
        parts.rename(directory)
