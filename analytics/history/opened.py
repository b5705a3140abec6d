"""Open the tables of a history: those of its run and its log. Write absent tables first."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from analytics.archive.manifest import open_manifest
from analytics.backfill.diff.tables import SCHEMAS as DIFF_SCHEMAS
from analytics.backfill.finished import finished_of
from analytics.backfill.plan import PLAN_FILE, Plan, load, partial_text
from analytics.backfill.read_files import planned_files, present_files
from analytics.backfill.run import runs_dir
from analytics.backfill.seal import load_report, refuse_unsealed
from analytics.backfill.units import finished_units
from analytics.damage import Damage
from analytics.engines.unit import ManifestRow
from analytics.history.build import LogPart, Progress, digest_of, write_log, write_run
from analytics.history.catalogue import diff_name
from analytics.history.files import Group
from analytics.history.log_tables import LOG_TABLES
from analytics.history.run_tables import RUN_TABLES
from cdc.settings import Connections

KEPT: Final = "no table was written"
LAST: Final = "last"


class NoHistory(Damage, ValueError):
    """The run is unfinished or partial, nothing is archived, or there is no comparison."""


@dataclass(frozen=True, slots=True)
class Request:
    """The history that a person requests.

    If `run` is None, the tables of runs are left out. If `whole_archive` is True, the log is read
    up to its newest archived record, not up to the end of the run. `out` is a directory for the
    tables instead of the home. `diff` is a directory that `backfill diff --out` has written.
    """

    run: str | None = LAST
    whole_archive: bool = False
    out: Path | None = None
    diff: Path | None = None


@dataclass(frozen=True, slots=True)
class History:
    """The tables of a history, complete on disk, with the Parquet files of each table.

    `spill` is a directory for rows that don't fit into memory; it exists only while it is used.
    """

    run: str | None
    groups: tuple[Group, ...]
    diff: Path | None
    partitions_written: int
    spill: Path

    @property
    def files(self) -> dict[str, list[str]]:
        """Return the absolute paths of each table's files."""
        found = {table.name: group.files(table.name) for group in self.groups
                 for table in group.tables}  # fmt: skip
        if self.diff is not None:
            found |= {
                diff_name(name): [str((self.diff / f"{name}.parquet").resolve())]
                for name in DIFF_SCHEMAS
            }
        return found

    def as_json(self) -> dict[str, Any]:
        """Return names, rows and directories as a JSON object."""
        return {
            "run": self.run,
            "partitions_written": self.partitions_written,
            "bytes": sum(group.size() for group in self.groups),
            "rows": {name: rows for group in self.groups for name, rows in group.rows().items()},
            "directories": {group.name: str(group.directory) for group in self.groups},
        }


def no_progress(_group: str, _done: int, _missing: int) -> None:
    """Ignore the progress, for callers that print none."""


def open_history(
    settings: Connections, request: Request, progress: Progress = no_progress
) -> History:
    """Write those requested tables that are absent. Return all requested tables.

    If `request.run` is `last`, use the newest finished run. If it is a number, use the newest
    finished run of that logic revision. If no run exists, `last` gives only the tables of the log.

    Raises:
        NoHistory: the run is unfinished or has a base, nothing is archived, or `diff` holds no
            comparison.
        UnknownRun: no such run exists, or it is damaged.
        BrokenArchive: the archive is damaged.
        NoArchive: the named archive doesn't exist, or its server can't be used.
        DamagedResult: a file of the run is damaged.
    """
    _refuse_no_diff(request.diff)
    if request.run is None or (request.run == LAST and not _has_runs(settings)):
        part = _archived(settings)
        log = _log_group(settings, part, request.out)
        written = write_log(log, part, progress)
        return History(None, (log,), request.diff, written, _spill(settings))
    directory = finished_of(runs_dir(settings), request.run)[0]
    plan = load(directory)
    if plan.base is not None:
        step = "name a run from the first record on with `--run`"
        raise NoHistory(partial_text(plan), KEPT, step)
    units = _finished(directory, plan)
    part = _archived(settings) if request.whole_archive else _read_by(settings, plan, request.out)
    log = _log_group(settings, part, request.out)
    run = _run_group(directory, plan, units, request.out)
    written = write_log(log, part, progress) + write_run(run, units, progress)
    return History(plan.run, (run, log), request.diff, written, _spill(settings))


def _tables_dir(settings: Connections) -> Path:
    return settings.home / "backfill" / "tables"


def _spill(settings: Connections) -> Path:
    return (_tables_dir(settings) / f"spill-{os.getpid()}").resolve()


def _has_runs(settings: Connections) -> bool:
    return any(runs_dir(settings).glob(f"*/{PLAN_FILE}"))


def _finished(directory: Path, plan: Plan) -> tuple[ManifestRow, ...]:
    finished = finished_units(directory, plan)
    missing = [unit.name for unit in plan.units if unit.name not in finished]
    if missing or load_report(directory) is None:
        problem = (
            f"run {plan.run} is unfinished: {len(missing)} of {len(plan.units)} units are missing"
        )
        step = (
            "wait for the command that computes it, or repeat that command; `--run` names another "
            "run, `--run none` reads only the log"
        )
        raise NoHistory(problem, KEPT, step)
    refuse_unsealed(directory)
    return tuple(finished[unit.name] for unit in plan.units)


def _read_by(settings: Connections, plan: Plan, out: Path | None) -> LogPart:
    """Return the records that a run has read, with their files in the archive.

    The digest of the tables depends on the checksums of these files. If the tables exist for the
    files that the run's plan names, return these files, even if a compaction has merged them
    meanwhile. Otherwise return the files that hold the records now.
    """
    generation = max((unit.generation for unit in plan.units), default=0)
    part = LogPart(settings.archive_location, planned_files(plan), plan.ends, generation)
    if not _log_group(settings, part, out).missing():
        return part
    return replace(part, files=present_files(plan, settings.archive_location))


def _archived(settings: Connections) -> LogPart:
    manifest = open_manifest(settings.archive_location)
    listed = manifest.all_files()
    if not listed:
        problem = f"{manifest.storage}: nothing is archived yet"
        step = "`inventory backfill run` archives and recomputes the history of a running stack"
        raise NoHistory(problem, KEPT, step)
    partitions = sorted({file.partition for file in listed})
    files = {number: [one.source for one in manifest.files(number)] for number in partitions}
    ends = {number: manifest.next_offset(number) for number in partitions}
    return LogPart(settings.archive_location, files, ends, max(file.generation for file in listed))


def _log_group(settings: Connections, part: LogPart, out: Path | None) -> Group:
    content = part.content
    directory = out or _tables_dir(settings) / f"log-{content}"
    return Group("log", directory, LOG_TABLES, sorted(part.ends), content)


def _run_group(
    directory: Path, plan: Plan, units: Sequence[ManifestRow], out: Path | None
) -> Group:
    checksums = [sorted((kind, file.sha256) for kind, file in unit.files.items()) for unit in units]
    content = digest_of(RUN_TABLES, [plan.run, checksums])
    return Group("run", out or directory / "tables", RUN_TABLES, sorted(plan.ends), content)


def _refuse_no_diff(directory: Path | None) -> None:
    if directory is None:
        return
    for name in DIFF_SCHEMAS:
        path = directory / f"{name}.parquet"
        if not path.is_file():
            problem = f"{path}: no such file"
            raise NoHistory(problem, KEPT, "`inventory backfill diff A B --out DIR` writes it")
