"""Checks of a run before workers start from it instead of a replay, and its history by partition.

Workers continue from a publication and never check it again. So this module refuses every run of
another history or of other rules, and names the reason.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analytics import kafka
from analytics.archive.checked import refuse_damaged, refuse_unlisted
from analytics.archive.manifest import Manifest
from analytics.archive.source import refuse_changed_source, source_id
from analytics.backfill.history import PartitionHistory
from analytics.backfill.plan import (
    Plan,
    directory_of,
    load,
    make_plan,
    partial_text,
    refuse_changed,
)
from analytics.backfill.run import runs_dir
from analytics.backfill.seal import load_report, refuse_unsealed
from analytics.backfill.units import finished_units
from analytics.damage import Damage
from analytics.engines import results
from analytics.engines.code import code_hash, uncommitted
from analytics.engines.unit import ManifestRow, units_of
from cdc.contracts.topics import STOCK_EVENTS
from cdc.settings import Connections
from inventory.revision import LOGIC_REVISION

KEPT: Final = "nothing was published"
STEP: Final = (
    "correct archive or rules if they are wrong, then compute a run with `inventory backfill run`"
)
_TAIL_WAIT_S: Final = 3.0  # an archiver writes the head within milliseconds of a line
_POLL_S: Final = 0.1
_NAMED: Final = 3  # number of files listed in a message about uncommitted ones


class NotPublishable(Damage, ValueError):
    """The run is unfinished, of other rules, or of another log."""

    def __init__(self, problem: str, kept: str = KEPT, step: str = STEP) -> None:
        super().__init__(problem, kept, step)


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
    """
    directory = directory_of(runs_dir(settings), name)
    plan = load(directory)
    _refuse_part(plan)
    _refuse_other_rules(plan)
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
    settings: Connections, directory: Path, plan: Plan, *, tail_wait_s: float = _TAIL_WAIT_S
) -> tuple[Manifest, tuple[ManifestRow, ...]]:
    """Return archive and units of a run, after each of their files was read and compared.

    Only these files are read, so the cost is one pass over their bytes.

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
    _refuse_tail(archive, tail_wait_s)
    refuse_unlisted(archive)
    refuse_damaged(archive, plan.ends)
    results.refuse_damaged(rows)
    return archive, rows


def _refuse_tail(archive: Manifest, tail_wait_s: float) -> None:
    """Raise `NotPublishable` if the manifest still has bytes that its head doesn't cover."""
    deadline = time.monotonic() + tail_wait_s
    while archive.behind_head():
        if time.monotonic() > deadline:
            problem = (
                f"{archive.path}: has {archive.behind_head()} bytes that its head doesn't cover"
            )
            raise NotPublishable(problem, step="`inventory up`: its archiver truncates them")
        time.sleep(_POLL_S)
        archive.refresh()


def _refuse_part(plan: Plan) -> None:
    """Raise `NotPublishable` for a run of some keys, or of some records.

    Changelogs hold every key, and the windows and rejected records of the complete history.
    """
    if plan.base is not None:
        raise NotPublishable(partial_text(plan), step="`inventory backfill run` without --from")
    if not plan.selection.is_all:
        problem = f"run {plan.run} holds {plan.selection.text()} only"
        raise NotPublishable(problem, step="`inventory backfill run` without a filter")


def _refuse_other_rules(plan: Plan) -> None:
    if plan.logic_revision != LOGIC_REVISION:
        problem = (
            f"run {plan.run} has logic revision {plan.logic_revision}, but this code has "
            f"{LOGIC_REVISION}: name the source tree of the other revision with --code"
        )
        raise NotPublishable(problem)
    if plan.code != code_hash():
        problem = (
            f"run {plan.run} was computed by other rules (code {plan.code}, here {code_hash()}): "
            "compute it again with the rules here"
        )
        raise NotPublishable(problem)
    changed = uncommitted()
    if changed:
        names = ", ".join(changed[:_NAMED]) + (", …" if len(changed) > _NAMED else "")
        problem = f"uncommitted changes of rules can't be published: {names}"
        raise NotPublishable(problem)


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
        problem = f"run {plan.run} has no history of partitions {missing}"
        raise NotPublishable(problem)
    found = source_id(settings.archive_dir)
    if plan.source_topic_id is None or plan.source_topic_id != found:
        problem = (
            f"run {plan.run} is of the {STOCK_EVENTS} with id {plan.source_topic_id}, "
            f"{settings.archive_dir} of the one with id {found}: compute it again"
        )
        raise NotPublishable(problem)
    manifest = Manifest(settings.archive_dir)
    if not manifest.covers(plan.ends):
        problem = f"{settings.archive_dir} ends before the ends of run {plan.run}"
        raise NotPublishable(problem)
    archived = {unit.name: unit for unit in units_of(manifest, plan.ends, buckets=plan.buckets)}
    for unit in plan.units:
        now = archived[unit.name]
        if now.input_digest != unit.input_digest:
            problem = f"{settings.archive_dir} has other records of {unit.name} than {plan.run}"
            raise NotPublishable(problem)
        if now.generation != settings.generation:
            problem = (
                f"{settings.archive_dir} has generation {now.generation}, but the stack has "
                f"{settings.generation}"
            )
            raise NotPublishable(problem)
    return manifest


def refuse_other_log(settings: Connections, plan: Plan) -> None:
    """Raise `NotPublishable` unless the broker holds the run's topic, complete up to its ends."""
    topic = settings.kafka_bootstrap, STOCK_EVENTS
    topic_id = kafka.topic_id(*topic)
    if topic_id != plan.source_topic_id:
        problem = (
            f"run {plan.run} read the {STOCK_EVENTS} with id {plan.source_topic_id}, the broker's "
            f"topic has id {topic_id}: the topic was deleted and recreated"
        )
        raise NotPublishable(problem)
    first = kafka.start_offsets(*topic, settings.partitions)
    last = kafka.end_offsets(*topic, settings.partitions)
    for number, end in plan.ends.items():
        if first[number] > 0 or last[number] < end:
            problem = (
                f"{STOCK_EVENTS}[{number}] holds offsets {first[number]} to {last[number]}, "
                f"but {plan.run} was computed from 0 to {end}"
            )
            raise NotPublishable(problem)
