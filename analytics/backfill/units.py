"""The lines of a run's manifest: one finished unit each, checked when they are read."""

import os
from pathlib import Path

from analytics.backfill.plan import Plan, damaged
from analytics.backfill.seal import RUN_MANIFEST
from analytics.engines.commits import COMMITS, rows_of
from analytics.engines.results import refuse_damaged
from analytics.engines.unit import ArchiveUnit, ManifestRow, line_of, manifest_row
from cdc.contracts.versions import UnreadableRecord


def finished_units(directory: Path, plan: Plan) -> dict[str, ManifestRow]:
    """Return the finished units of the run by name. Ignore an incomplete last line.

    Raises:
        UnknownRun: a line was changed or repeated, belongs to no unit of `plan`, or another release
            wrote it.
    """
    path = directory / RUN_MANIFEST
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    planned = {unit.name: unit for unit in plan.units}
    found: dict[str, ManifestRow] = {}
    for number, line in enumerate(lines, 1):
        position = f"run {plan.run} can't be continued: {path} line {number}"
        try:
            row = manifest_row(line)
        except UnreadableRecord as error:
            problem = f"{position}: {error}"
            raise damaged(directory, problem) from error
        problem = _problem(row, planned, found)
        if problem:
            raise damaged(directory, f"{position}: {problem}")
        found[row.unit] = row
    return found


def list_committed(directory: Path, plan: Plan, finished: dict[str, ManifestRow]) -> None:
    """Add to the manifest the committed units that a killed driver has not listed.

    Raises:
        UnknownRun: a commit was changed or is of another plan.
        DamagedResult: files of a committed unit are missing or changed.
    """
    commits = directory / COMMITS
    planned = {unit.name: unit for unit in plan.units}
    try:
        rows = list(rows_of([name for name in planned if name not in finished], commits))
    except UnreadableRecord as error:
        problem = f"run {plan.run} can't be continued: {commits} has an unreadable commit: {error}"
        raise damaged(directory, problem) from error
    for row in rows:
        problem = _problem(row, planned, finished)
        if problem:
            raise damaged(directory, f"run {plan.run} can't be continued: {commits}: {problem}")
    refuse_damaged(rows)
    for row in rows:
        append(directory, row)
        finished[row.unit] = row


def append(directory: Path, row: ManifestRow) -> None:
    """Append the line of a finished unit, whose result files are already on disk."""
    path = directory / RUN_MANIFEST
    _cut_torn_tail(path)
    with path.open("ab") as stream:
        stream.write(line_of(row) + b"\n")
        stream.flush()
        os.fsync(stream.fileno())


def _problem(
    row: ManifestRow, planned: dict[str, ArchiveUnit], found: dict[str, ManifestRow]
) -> str:
    unit = planned.get(row.unit)
    if unit is None:
        return f"{row.unit} is no unit of the plan"
    if row.unit in found:
        return f"{row.unit} is listed twice"
    if (row.input_digest, row.code, row.end) != (unit.input_digest, unit.code, unit.end):
        return f"{row.unit} was computed from other records or by other rules"
    return ""


def _cut_torn_tail(path: Path) -> None:
    """Cut off an incomplete last line, which a killed process left, before a line is added."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole != len(content):
        os.truncate(path, whole)
