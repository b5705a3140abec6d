"""`backfill run`: recompute history with one engine, unit by unit, so that it can be resumed.

Each finished unit is one line of the run's manifest. Equal input, logic revision and code mean an
equal plan. So a second start of a run computes only the missing units.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analytics.backfill.ends import Until, history
from analytics.backfill.lock import only_run
from analytics.backfill.plan import Plan, make_plan, save
from analytics.backfill.seal import is_sealed, refuse_unsealed, write_report
from analytics.backfill.units import append, finished_units, list_committed
from analytics.digest import as_hex, from_hex, total
from analytics.engines import local, spark
from analytics.engines.commits import COMMITS
from analytics.engines.failure import EngineFailed, UnitFailed, named_disk_errors
from analytics.engines.results import refuse_damaged
from analytics.engines.spark import LOCAL, Cluster
from analytics.engines.unit import ArchiveUnit, ManifestRow
from cdc.settings import Connections

RESULTS: Final = "results"
_COUNTS: Final = ("records", "keys", "outputs", "late", "rejected", "expired", "open_reorders")
_DIGESTS: Final = (
    "states_digest",
    "outputs_digest",
    "late_digest",
    "rejected_digest",
    "expired_digest",
)

Progress = Callable[[int, int, str], None]  # units done, units planned, name of the last one


def _no_progress(_done: int, _planned: int, _unit: str) -> None:
    """Do nothing: the default `progress` of callers that print none."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """A finished run: its history, its counts, and the digests on which two engines must agree."""

    plan: Plan
    rows: tuple[ManifestRow, ...]
    units_computed: int
    seconds: float
    directory: Path

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "run": self.plan.run,
            "engine": self.plan.engine,
            "logic_revision": self.plan.logic_revision,
            "code": self.plan.code,
            "ends": {str(number): end for number, end in self.plan.ends.items()},
            "units": len(self.plan.units),
            "units_computed": self.units_computed,
            "units_skipped": len(self.plan.units) - self.units_computed,
            "seconds": round(self.seconds, 3),
            **{name: sum(getattr(row, name) for row in self.rows) for name in _COUNTS},
            **{name: _total(self.rows, name) for name in _DIGESTS},
            "digest": as_hex(
                total(from_hex(getattr(row, name)) for row in self.rows for name in _DIGESTS)
            ),
            "directory": str(self.directory),
        }

    @property
    def digest(self) -> str:
        """Return one digest over states, outputs, late, rejected and expired rows of all units."""
        return str(self.as_json()["digest"])


def run(
    engine: str = "local",
    until: Until = None,
    *,
    settings: Connections | None = None,
    buckets: int | None = None,
    cluster: Cluster = LOCAL,
    progress: Progress = _no_progress,
) -> RunReport:
    """Recompute all keys from the first record up to `until`. Return the report of the run.

    `ends.history` describes `until`. By default the history ends after the last record that is not
    a heartbeat. So two runs have the same plan if no fact was committed between their starts.
    """
    known = settings or Connections()
    manifest, ends = history(known, until, runs=runs_dir(known))
    plan = make_plan(manifest, engine=engine, ends=ends, buckets=buckets)
    return execute(plan, runs_dir(known), cluster=cluster, progress=progress)


def execute(
    plan: Plan, runs: Path, *, cluster: Cluster = LOCAL, progress: Progress = _no_progress
) -> RunReport:
    """Compute the units of `plan` that no earlier start of the run has finished.

    Return the report of the complete run.

    Raises:
        RunInUse: another process computes the run.
        EngineFailed: a unit failed, or the engine, or the disk of the run.
    """
    with named_disk_errors(plan.run, lambda: _kept(plan, runs / plan.run)):
        return _executed(plan, runs, cluster, progress)


def _executed(plan: Plan, runs: Path, cluster: Cluster, progress: Progress) -> RunReport:
    started = time.monotonic()
    with only_run(runs / plan.run):
        directory = save(plan, runs)
        sealed = is_sealed(directory)
        finished = finished_units(directory, plan)
        refuse_damaged(finished.values())
        was_complete = len(finished) == len(plan.units)
        list_committed(directory, plan, finished)
        missing = [unit for unit in plan.units if unit.name not in finished]
        _compute(plan, missing, finished, directory, cluster, progress)
        rows = tuple(finished[unit.name] for unit in plan.units)
        report = RunReport(plan, rows, len(missing), time.monotonic() - started, directory)
        if was_complete and sealed:
            refuse_unsealed(directory)
        else:
            write_report(directory, report.as_json())
        # The sealed manifest has the lines of all commits. No reader needs the commits any more.
        shutil.rmtree(directory / COMMITS, ignore_errors=True)
    return report


def _compute(
    plan: Plan,
    missing: Sequence[ArchiveUnit],
    finished: dict[str, ManifestRow],
    directory: Path,
    cluster: Cluster,
    progress: Progress,
) -> None:
    """Compute the missing units. Add a line to the manifest for each unit that has succeeded.

    At the end, raise the first failure, if any.
    """
    failures: list[UnitFailed] = []
    for found in _computed(plan, _largest_first(missing), directory / RESULTS, cluster):
        if isinstance(found, UnitFailed):
            failures.append(found)
            continue
        append(directory, found)
        finished[found.unit] = found
        progress(len(finished), len(plan.units), found.unit)
    if failures:
        problem = f"run {plan.run}: {failures[0].problem}"
        raise EngineFailed(problem, _kept(plan, directory), failures[0].step)


def _kept(plan: Plan, directory: Path) -> str:
    """Return the number of finished units and their directory, for messages."""
    number = len(finished_units(directory, plan))
    return f"{number} of {len(plan.units)} units are finished and kept in {directory}"


def runs_dir(settings: Connections) -> Path:
    """Return the directory of all runs."""
    return settings.home / "backfill" / "runs"


def _computed(
    plan: Plan, units: Sequence[ArchiveUnit], results: Path, cluster: Cluster
) -> Iterator[ManifestRow | UnitFailed]:
    if plan.engine == "spark":
        return spark.run_units(units, results, cluster=cluster)
    return local.run_units(units, results)


def _largest_first(units: Sequence[ArchiveUnit]) -> list[ArchiveUnit]:
    """Return the units by descending size: a long unit that begins last leaves cores idle."""
    return sorted(units, key=lambda unit: -sum(source.bytes for source in unit.sources))


def _total(rows: Sequence[ManifestRow], name: str) -> str:
    return as_hex(total(from_hex(getattr(row, name)) for row in rows))
