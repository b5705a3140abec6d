"""`backfill run`: recompute history with one engine, unit by unit, so that it can be continued.

A finished unit is one line of the run's manifest. Equal input, logic revision and code mean an
equal plan, so a second start of it computes only what is missing, and nothing if it was finished.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analytics import kafka
from analytics.archive.follow import archive_until
from analytics.archive.manifest import Manifest
from analytics.backfill.plan import Plan, UnknownRun, ends_of_run, make_plan, save
from analytics.digest import as_hex, from_hex, total
from analytics.engines import local, spark
from analytics.engines.unit import ArchiveUnit, ManifestRow, manifest_row
from cdc.contracts.topics import STOCK_EVENTS
from cdc.contracts.versions import UnreadableRecord, document_of, known
from cdc.settings import Connections

RUN_MANIFEST: Final = "manifest.jsonl"
RUN_FILE: Final = "_RUN.json"
RESULTS: Final = "results"
_COUNTS: Final = ("records", "keys", "outputs", "late", "rejected", "expired", "open_reorders")
_DIGESTS: Final = (
    "states_digest",
    "outputs_digest",
    "late_digest",
    "rejected_digest",
    "expired_digest",
)

Progress = Callable[[int, int, str], None]  # units done, units planned, the last one's name


def _silent(_done: int, _planned: int, _unit: str) -> None:
    """No progress wanted."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """A finished run: its history, counts, and the digests that two engines must agree on."""

    plan: Plan
    rows: tuple[ManifestRow, ...]
    units_computed: int
    seconds: float
    directory: Path

    def as_json(self) -> dict[str, Any]:
        """The report for scripts."""
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
        """One digest over states, outputs, late, rejected and expired rows of all units."""
        return str(self.as_json()["digest"])


def run(
    engine: str = "local",
    until: str | Mapping[int, int] | None = None,
    *,
    settings: Connections | None = None,
    buckets: int = 1,
    master: str = spark.DEFAULT_MASTER,
    progress: Progress = _silent,
) -> RunReport:
    """Recompute all keys from the first record up to `until`.

    `until` is None for everything committed so far, the name of an earlier run (or `last`) for
    exactly that run's history, or end offsets by partition. Without it the history ends after the
    last record that is no heartbeat: so at rest two runs have the same plan.
    """
    known = settings or Connections()
    manifest, ends = _history(known, until)
    plan = make_plan(manifest, engine=engine, ends=ends, buckets=buckets)
    return execute(plan, runs_dir(known), master=master, progress=progress)


def execute(
    plan: Plan, runs: Path, *, master: str = spark.DEFAULT_MASTER, progress: Progress = _silent
) -> RunReport:
    """Compute the units of `plan` that no earlier start has finished."""
    started = time.monotonic()
    directory = save(plan, runs)
    reported = load_report(directory)
    finished = finished_units(directory, plan)
    missing = [unit for unit in plan.units if unit.name not in finished]
    for row in _computed(plan, missing, directory / RESULTS, master):
        _append(directory, row)
        finished[row.unit] = row
        progress(len(finished), len(plan.units), row.unit)
    rows = tuple(finished[unit.name] for unit in plan.units)
    report = RunReport(plan, rows, len(missing), time.monotonic() - started, directory)
    if missing or reported is None:
        _finish(report)
    return report


def runs_dir(settings: Connections) -> Path:
    """Where runs are kept."""
    return settings.home / "backfill" / "runs"


def load_report(directory: Path) -> dict[str, Any] | None:
    """What `RunReport.as_json` said when the run of this directory ended; None if it has not.

    Raises:
        UnknownRun: another release wrote it, or it is damaged.
    """
    path = directory / RUN_FILE
    if not path.exists():
        return None
    try:
        report = document_of("run", path.read_bytes(), unsaid=1)
    except UnreadableRecord as error:
        problem = f"{path}: {error}"
        raise UnknownRun(problem) from error
    del report["schema"]
    return report


def finished_units(directory: Path, plan: Plan) -> dict[str, ManifestRow]:
    """Finished units of the run whose input, revision and code are those of `plan`.

    Raises:
        UnknownRun: another release wrote them.
    """
    inputs = {unit.name: unit.input_digest for unit in plan.units}
    path = directory / RUN_MANIFEST
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    try:
        rows = [manifest_row(line) for line in lines]
    except UnreadableRecord as error:
        problem = f"run {plan.run} can't be continued, delete {directory}: {error}"
        raise UnknownRun(problem) from error
    return {
        row.unit: row
        for row in rows
        if (row.input_digest, row.logic_revision, row.code)
        == (inputs.get(row.unit), plan.logic_revision, plan.code)
    }


def _history(
    settings: Connections, until: str | Mapping[int, int] | None
) -> tuple[Manifest, dict[int, int]]:
    if isinstance(until, str):
        until = ends_of_run(runs_dir(settings), until)
    if until is not None:
        ends = dict(until)
        manifest = Manifest(settings.archive_dir)
        return (manifest if manifest.covers(ends) else archive_until(settings, ends)), ends
    all_ends = kafka.end_offsets(settings.kafka_bootstrap, STOCK_EVENTS, settings.partitions)
    manifest = archive_until(settings, all_ends)
    return manifest, {number: manifest.fact_end(number) for number in all_ends}


def _computed(
    plan: Plan, units: Sequence[ArchiveUnit], results: Path, master: str
) -> Iterator[ManifestRow]:
    if plan.engine == "spark":
        return spark.run_units(units, results, master=master)
    return local.run_units(units, results)


def _append(directory: Path, row: ManifestRow) -> None:
    path = directory / RUN_MANIFEST
    _cut_torn_tail(path)
    line = json.dumps(row.as_json(), sort_keys=True, separators=(",", ":"))
    with path.open("a") as stream:
        stream.write(line + "\n")
        stream.flush()
        os.fsync(stream.fileno())


def _cut_torn_tail(path: Path) -> None:
    """A start that was killed inside a line must not spoil the next one."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole != len(content):
        os.truncate(path, whole)


def _finish(report: RunReport) -> None:
    target = report.directory / RUN_FILE
    temporary = target.with_suffix(".tmp")
    row = {"schema": known("run")[-1], **report.as_json()}
    temporary.write_text(json.dumps(row, sort_keys=True, indent=1))
    temporary.replace(target)


def _total(rows: Sequence[ManifestRow], name: str) -> str:
    return as_hex(total(from_hex(getattr(row, name)) for row in rows))
