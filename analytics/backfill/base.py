"""Start a run from the states of a finished run (the base) instead of from the first record.

The new run folds only records after the end offsets of the base. So a nightly proof folds one day.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from analytics.archive.manifest import Manifest
from analytics.backfill.finished import finished_of, finished_rows
from analytics.backfill.plan import BaseRun, Plan, load, make_plan, named
from analytics.backfill.seal import seal_of_run
from analytics.damage import Damage
from analytics.engines.unit import ManifestRow, continued_unit

_KEPT: Final = "nothing was computed"
_STEP: Final = "leave out --from for a run from the first record on"
_UNUSABLE: Final = 2  # exit code; 1 means that a comparison found a difference


class UnusableBase(Damage, ValueError):
    """The run can't be the base of another run."""

    exit_code = _UNUSABLE


class BaseAhead(UnusableBase):
    """The base ends at a later offset than the new run.

    For example, a proof has the last proof as its base, and ends at the offsets that the workers
    have reached. While the workers restore, these offsets can be lower than the end of the base.
    """


@dataclass(frozen=True, slots=True)
class Base:
    """A finished run with unchanged files. `seal` is the hash of its report."""

    plan: Plan
    seal: str
    rows: tuple[ManifestRow, ...]


def base_of(runs: Path, name: str) -> Base:
    """Check every file of the run `name`. Return the run.

    Raises:
        UnusableBase: no such run exists, or it is unfinished or damaged.
    """
    try:
        directory = finished_of(runs, name)[0]
        plan = load(directory)
        rows = finished_rows(directory, plan)
        return Base(plan, seal_of_run(directory), rows)
    except Damage as error:
        raise UnusableBase(error.problem, _KEPT, error.step or _STEP) from error


def plan_from(manifest: Manifest, ends: Mapping[int, int], *, base: Base, engine: str) -> Plan:
    """Return the plan for records from the ends of `base` to `ends`, with the buckets of `base`.

    Raises:
        UnusableBase: base and plan differ in rules, topic, generation or keys, or the id of the
            topic is unknown.
        BaseAhead: the base ends after `ends`.
    """
    return continued(make_plan(manifest, engine=engine, ends=ends, buckets=base.plan.buckets), base)


def continued(plan: Plan, base: Base) -> Plan:
    """Return `plan` under a new name, changed so that its run starts from the states of `base`.

    Raises:
        UnusableBase: for the reasons in `plan_from`, or because `plan` selects keys by supplier.
        BaseAhead: the base ends after `plan`.
    """
    refused = f"run {base.plan.run} can't be the base: "
    if problem := _difference(plan, base.plan):
        raise UnusableBase(refused + problem, _KEPT, _STEP)
    if problem := _later_end(plan, base.plan):
        raise BaseAhead(refused + problem, _KEPT, _STEP)
    rows = {row.unit: row for row in base.rows}
    units = (continued_unit(unit, rows.get(unit.name), base.seal) for unit in plan.units)
    started = replace(plan, units=tuple(units), base=BaseRun(base.plan.run, base.seal))
    return named(started)


def _difference(plan: Plan, base: Plan) -> str:
    """Return the reason why `plan` can't start from `base`, or an empty text."""
    chosen = plan.selection
    pairs = (
        ("of logic revision", base.logic_revision, plan.logic_revision),
        ("of code", base.code, plan.code),
        ("of the topic with id", base.source_topic_id, plan.source_topic_id),
        ("of generation", _generation(base), _generation(plan)),
        ("of", base.selection.text(), chosen.text()),
        ("of bucket count", base.buckets, plan.buckets),
    )
    for what, found, expected in pairs:
        if found != expected:
            return f"it is {what} {found}, expected {expected}"
    if plan.source_topic_id is None:
        return "its archive doesn't state the id of its topic"
    if chosen.suppliers:
        return (
            "the new run selects keys by supplier, so it also needs the policy rows before the "
            "end of the base"
        )
    return ""


def _later_end(plan: Plan, base: Plan) -> str:
    for number, end in sorted(base.ends.items()):
        if end > plan.ends.get(number, 0):
            wanted = plan.ends.get(number, 0)
            return (
                f"it ends at offset {end} of partition {number}, later than the new run, which "
                f"ends at {wanted}"
            )
    return ""


def _generation(plan: Plan) -> int:
    return max((unit.generation for unit in plan.units), default=0)
