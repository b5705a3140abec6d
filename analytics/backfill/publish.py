"""Check a run before workers start from its states instead of replaying the log.

Workers continue from a publication and never check it again. So this module refuses every run of
another history or of other rules, and names the reason.
"""

from dataclasses import dataclass
from pathlib import Path

from analytics.archive.checked import refuse_damaged, refuse_unlisted
from analytics.archive.manifest import Manifest
from analytics.archive.source import refuse_changed_source, source_id
from analytics.backfill.history import PartitionHistory
from analytics.backfill.plan import (
    Plan,
    directory_of,
    load,
    make_plan,
    refuse_changed,
)
from analytics.backfill.publish_refusals import (
    TAIL_WAIT_S,
    NotPublishable,
    refuse_other_log,
    refuse_other_rules,
    refuse_part,
    refuse_tail,
)
from analytics.backfill.run import runs_dir
from analytics.backfill.seal import load_report, refuse_unsealed
from analytics.backfill.units import finished_units
from analytics.engines import results
from analytics.engines.unit import ManifestRow, units_of
from cdc.contracts.topics import STOCK_EVENTS
from cdc.settings import Connections


@dataclass(frozen=True, slots=True)
class Publishable:
    """A finished run of this code's rules over the broker's current log."""

    run: str
    code: str
    directory: Path
    histories: tuple[PartitionHistory, ...]


def publishable(settings: Connections, name: str) -> Publishable:
    """Return the run `name`, or the newest for `last`, after all checks have passed.

    Raises:
        UnknownRun: no such run exists, or another release wrote it.
        NotPublishable: a check failed; the message names it.
        BrokenArchive, DamagedResult: a file of the archive or of the run was changed.
    """
    directory = directory_of(runs_dir(settings), name)
    plan = load(directory)
    refuse_part(plan)
    refuse_other_rules(plan)
    archive, rows = examined(settings, directory, plan)
    refuse_other_log(settings, plan)
    histories = tuple(
        PartitionHistory(
            number,
            settings.generation,
            end,
            tuple(row for row in rows if row.partition == number),
            archive,
        )
        for number, end in sorted(plan.ends.items())
        if end > 0
    )
    return Publishable(plan.run, plan.code, directory, histories)


def examined(
    settings: Connections, directory: Path, plan: Plan, *, tail_wait_s: float = TAIL_WAIT_S
) -> tuple[Manifest, tuple[ManifestRow, ...]]:
    """Compare every file of a run and of its archive with its checksum. Return archive and units.

    The cost is one pass over the bytes of these files.

    Raises:
        NotPublishable: the run is unfinished, or was computed from another archive.
        UnknownRun: plan, units or report were changed.
        BrokenArchive: manifest, head or files of the archive were changed.
        DamagedResult: a result file was changed.
    """
    rows = _finished(directory, plan)
    archive = _archive_of(settings, plan)
    again = make_plan(archive, engine=plan.engine, ends=plan.ends, buckets=plan.buckets)
    refuse_changed(directory, again)
    refuse_changed_source(archive.directory)
    refuse_tail(archive, tail_wait_s)
    refuse_unlisted(archive)
    refuse_damaged(archive, plan.ends)
    results.refuse_damaged(rows)
    return archive, rows


def _finished(directory: Path, plan: Plan) -> tuple[ManifestRow, ...]:
    """Return the run's units in the plan's order."""
    found = finished_units(directory, plan)
    missing = [unit.name for unit in plan.units if unit.name not in found]
    if missing or load_report(directory) is None:
        problem = (
            f"run {plan.run} is unfinished: {len(missing)} of {len(plan.units)} units are missing"
        )
        raise NotPublishable(problem, step="repeat the command that began the run")
    refuse_unsealed(directory)
    return tuple(found[unit.name] for unit in plan.units)


def _archive_of(settings: Connections, plan: Plan) -> Manifest:
    """Return the manifest of the archive that the run was computed from."""
    missing = sorted(set(range(settings.partitions)) - plan.ends.keys())
    if missing:
        problem = f"run {plan.run} was computed without partitions {missing}"
        raise NotPublishable(problem)
    found = source_id(settings.archive_dir)
    if plan.source_topic_id is None or plan.source_topic_id != found:
        problem = (
            f"run {plan.run} was computed from {STOCK_EVENTS} with id {plan.source_topic_id}, but "
            f"{settings.archive_dir} holds records of {STOCK_EVENTS} with id {found}"
        )
        raise NotPublishable(problem)
    manifest = Manifest(settings.archive_dir)
    if not manifest.covers(plan.ends):
        problem = f"{settings.archive_dir} ends at earlier offsets than run {plan.run}"
        raise NotPublishable(problem)
    archived = {unit.name: unit for unit in units_of(manifest, plan.ends, buckets=plan.buckets)}
    for unit in plan.units:
        now = archived[unit.name]
        if now.input_digest != unit.input_digest:
            problem = (
                f"{settings.archive_dir} holds other records of {unit.name} than those that run "
                f"{plan.run} read"
            )
            raise NotPublishable(problem)
        if now.generation != settings.generation:
            problem = (
                f"{settings.archive_dir} holds generation {now.generation}, but the stack's log is "
                f"generation {settings.generation}"
            )
            raise NotPublishable(problem)
    return manifest
