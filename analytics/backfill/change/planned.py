"""`backfill plan`: the size of a run, its effect on policy rows, and obstacles to its publication.

No record is folded. `backfill run` with the same options makes a run with the same name and units.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from analytics.archive.checked import checked_content
from analytics.archive.entries import Source
from analytics.archive.manifest import Manifest
from analytics.backfill.change.changed import Change
from analytics.backfill.change.effect import OverlayEffect, effect_of
from analytics.backfill.plan import PLAN_FILE, Plan, load, partial_text
from analytics.backfill.seal import load_report
from analytics.backfill.units import finished_units
from analytics.damage import Damage
from analytics.engines.unit import ArchiveUnit

_LEAST_RECORDS: Final = 1_000  # in shorter runs, starting the processes takes most of the time


class NotPublishableLater(Damage, ValueError):
    """The run could be computed, but never published."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Rate:
    """Records per second of a finished run, from its first unit to its last."""

    run: str
    records_per_s: int


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with its size, its effect on policy rows, and the obstacles to its publication."""

    plan: Plan
    change: Change
    records: int
    bytes: int
    units_finished: int
    rate: Rate | None
    effect: OverlayEffect | None
    problems: tuple[str, ...]

    @property
    def records_new(self) -> int:
        """Return an estimate of the records in the units that are not finished yet."""
        units = len(self.plan.units)
        return 0 if not units else self.records * (units - self.units_finished) // units

    @property
    def seconds(self) -> int | None:
        """Return the expected seconds at the measured rate; None without a measurement."""
        return None if self.rate is None else -(-self.records_new // self.rate.records_per_s)

    def as_json(self) -> dict[str, Any]:
        """Return the plan as a JSON object."""
        plan, rate = self.plan, self.rate
        return {
            "run": plan.run,
            "engine": plan.engine,
            "logic_revision": plan.logic_revision,
            "changes": self.change.text,
            "code": plan.code,
            "tree": str(self.change.tree),
            "keys": plan.selection.text(),
            "ends": {str(number): end for number, end in plan.ends.items()},
            "records": self.records,
            "bytes": self.bytes,
            "units": len(plan.units),
            "units_finished": self.units_finished,
            "records_new": self.records_new,
            "records_per_s": None if rate is None else rate.records_per_s,
            "rate_of": None if rate is None else rate.run,
            "seconds_expected": self.seconds,
            **({} if self.effect is None else self.effect.as_json()),
            "publishable": not self.problems,
            "problems": list(self.problems),
        }


def planned(manifest: Manifest, plan: Plan, change: Change, runs: Path) -> Planned:
    """Return the plan with its size, its effect on policy rows, and the obstacles to publication.

    Raises:
        BrokenArchive: a file of the archive is missing or was changed.
    """
    sources = _sources(plan.units)
    effect = _effect(manifest, plan, change)
    return Planned(
        plan=plan,
        change=change,
        records=_records(manifest, plan, sources),
        bytes=sum(source.bytes for source in sources),
        units_finished=_finished(runs / plan.run, plan),
        rate=measured_rate(runs, plan.engine),
        effect=effect,
        problems=tuple(_problems(plan, change, effect)),
    )


def measured_rate(runs: Path, engine: str) -> Rate | None:
    """Return the rate of this engine's newest run that computed all units without a restart.

    Ignore small runs and runs with a base. Return None if no run is left.
    """
    newest = sorted(runs.glob(f"*/{PLAN_FILE}"), key=lambda path: -path.stat().st_mtime_ns)
    for directory in (path.parent for path in newest):
        try:
            report, base = load_report(directory), load(directory).base
        except Damage:
            continue
        # A run with a base spends most of its time on states, so its rate doesn't predict others.
        if report is None or base or report["engine"] != engine or report["units_skipped"]:
            continue
        if report["records"] >= _LEAST_RECORDS and report["seconds"] > 0:
            return Rate(report["run"], max(1, int(report["records"] / report["seconds"])))
    return None


def refuse_unpublishable(manifest: Manifest, plan: Plan, change: Change) -> None:
    """Raise `NotPublishableLater` if a run of this change could not be published.

    A run of this code's own rules needs no publication, because the stack's workers have these
    rules already. So it is refused only if these rules give other results than those recorded for
    their revision.
    """
    if change.is_own:
        problems = tuple(filter(None, [change.unnumbered()]))
    else:
        problems = tuple(_problems(plan, change, _effect(manifest, plan, change)))
    if problems:
        problem = f"a run of this change could not be published: {'; '.join(problems)}"
        step = "correct the change, or add --what-if for a run that only answers questions"
        raise NotPublishableLater(problem, "nothing was computed", step)


def _effect(manifest: Manifest, plan: Plan, change: Change) -> OverlayEffect | None:
    if not change.overlay:
        return None
    return effect_of(manifest, plan.ends, change.overlay, plan.selection)


def _problems(plan: Plan, change: Change, effect: OverlayEffect | None) -> Iterator[str]:
    yield from change.problems()
    if not plan.selection.is_all:
        yield f"it holds {plan.selection.text()} only"
    if plan.base is not None:
        yield partial_text(plan)
    if plan.source_topic_id is None:
        yield "the archive doesn't state the id of its topic"
    if effect is not None and effect.problem:
        yield effect.problem
    if effect is not None and not effect.rows_changed:
        yield f"no policy row matches, or each has these values already: {change.text}"


def _finished(directory: Path, plan: Plan) -> int:
    if not (directory / PLAN_FILE).exists():
        return 0
    try:
        return len(finished_units(directory, plan))
    except Damage:
        return 0  # `backfill run` reports the damage


def _sources(units: Sequence[ArchiveUnit]) -> list[Source]:
    """Return the files of a plan, each once."""
    return list({source.file: source for unit in units for source in unit.sources}.values())


def _records(manifest: Manifest, plan: Plan, sources: Sequence[Source]) -> int:
    """Return the number of records of selected keys before the plan's end offsets."""
    chosen = plan.selection
    if not chosen.is_all:
        return sum(_selected(manifest, plan, source) for source in sources)
    return sum(
        source.rows
        if source.next_offset <= plan.ends[source.partition]
        else _selected(manifest, plan, source)
        for source in sources
    )


def _selected(manifest: Manifest, plan: Plan, source: Source) -> int:
    """Return the number of the file's records before the plan's end whose keys are selected.

    A selection of suppliers is ignored here, because a record's key names no supplier.
    """
    end, content = plan.ends[source.partition], checked_content(manifest.storage, source)
    columns = pq.read_table(pa.BufferReader(content), columns=["offset", "key"]).to_pydict()
    return sum(
        offset < end and plan.selection.has_key(key)
        for offset, key in zip(columns["offset"], columns["key"], strict=True)
    )
