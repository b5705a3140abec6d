"""Finished runs: their names, and their results after all of their files were checked."""

from pathlib import Path

from analytics.backfill.plan import Plan, UnknownRun, directories_of
from analytics.backfill.seal import RUN_FILE, load_report, refuse_unsealed
from analytics.backfill.units import finished_units
from analytics.engines import results
from analytics.engines.unit import ManifestRow


def finished_of(runs: Path, name: str) -> list[Path]:
    """Return the directories of the finished runs that `name` names, newest first; at least one.

    `name` is as in `directories_of`. Runs in progress and interrupted ones are skipped. If no run
    is finished, return the unfinished ones; `finished_rows` then raises `UnknownRun`.

    Raises:
        UnknownRun: no such run exists.
    """
    known = directories_of(runs, name)
    return [directory for directory in known if (directory / RUN_FILE).exists()] or known


def finished_rows(directory: Path, plan: Plan) -> tuple[ManifestRow, ...]:
    """Return the units of the run in the plan's order.

    Raises:
        UnknownRun: the run is unfinished, or plan, units or report were changed.
        DamagedResult: a result file was changed.
    """
    found = finished_units(directory, plan)
    missing = [unit.name for unit in plan.units if unit.name not in found]
    if missing or load_report(directory) is None:
        problem = (
            f"run {plan.run} is unfinished: {len(missing)} of {len(plan.units)} units are missing"
        )
        kept = "no file was changed"
        raise UnknownRun(problem, kept, "repeat the command that began the run")
    refuse_unsealed(directory)
    rows = tuple(found[unit.name] for unit in plan.units)
    results.refuse_damaged(rows)
    return rows
