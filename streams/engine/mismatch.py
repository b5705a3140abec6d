"""Checks that topics and restored state belong together, with repair commands if they don't.

A broker answers without an error if a topic was deleted and created again, or truncated. A worker
that continued with such a topic would compute wrong states. The worker therefore stops.
"""

from collections.abc import Mapping
from typing import Final

from cdc.contracts.progress import Progress
from cdc.contracts.topics import ON_HAND_CHANGELOG, PARTITIONS, STOCK_EVENTS
from inventory.errors import BrokenInvariant
from inventory.model.value import value
from inventory.revision import LOGIC_REVISION
from streams.engine.records import TopicIds
from streams.exit_codes import NEW_GENERATION, REBUILD, START_AGAIN

REPAIR: Final = f"`{REBUILD}` computes the changelogs again from {STOCK_EVENTS}"
LOST: Final = "history is missing: restore the topic itself, or begin a new generation"
_RETIRE: Final = f"inventory revision retire {LOGIC_REVISION} --delete"


class LogMismatch(Exception):
    """A topic was deleted, created again or truncated, so that it contradicts the state.

    `repair` is the command that an operator should run.
    """

    def __init__(self, problem: str, repair: str = REBUILD) -> None:
        super().__init__(problem)
        self.repair = repair


class UnfinishedPublication(LogMismatch):
    """The changelogs come from an unfinished publication of a recomputation.

    The command in `repair` deletes the changelogs of a logic revision. The command refuses to
    delete those of the stack's own workers. For these, the command is in `repair_of_own`.
    """

    repair_of_own = REBUILD

    def __init__(self, problem: str) -> None:
        super().__init__(problem, _RETIRE)


class TornChangelogs(BrokenInvariant):
    """One of the two changelogs has lost records, so the other changelog is ahead.

    A worker writes to both in the same transactions.
    """

    repair = REBUILD


class OldRecords(BrokenInvariant):
    """Many records in a row are older than the dedupe ring. A replay would stop at them again."""

    repair = f"{NEW_GENERATION}  # if Postgres was restored from a backup"


@value
class Topics:
    """The topics of one partition at the beginning of a restore: source and changelogs.

    `ids` are read before everything else. If a topic is created again during the restore, its new
    id differs from its id here. `bounds` has each topic's first offset, and the offset after its
    last record.
    """

    ids: TopicIds
    bounds: Mapping[str, tuple[int, int]]


def refuse_other_counts(partitions: Mapping[str, int], expected: int) -> None:
    """Raise `LogMismatch` if a topic has another number of partitions than `expected`.

    With another number, the next records of most keys go to a partition without their states.
    """
    is_known = expected == PARTITIONS
    for topic, found in partitions.items():
        if found != expected:
            wanted = f"{expected}" if is_known else f"{expected} (INVENTORY_PARTITIONS)"
            problem = f"{topic} has {found} partitions, but its keys were divided among {wanted}"
            raise LogMismatch(problem, repair_of_topic(topic) if is_known else START_AGAIN)


def repair_of_topic(topic: str) -> str:
    """Return the repair command for a topic that was deleted, created again or truncated."""
    return NEW_GENERATION if topic == STOCK_EVENTS else REBUILD


def repair_phrase(topic: str) -> str:
    """Return the repair of a deleted, recreated or truncated topic, as the end of a message."""
    return LOST if topic == STOCK_EVENTS else REPAIR


def refuse_truncated_levels(number: int, first: int) -> None:
    """Raise `LogMismatch` if the level changelog begins after offset 0.

    Compaction leaves the first offset unchanged, so the topic was truncated.
    """
    if first > 0:
        problem = (
            f"{ON_HAND_CHANGELOG}[{number}] begins at offset {first}: it was truncated; {REPAIR}"
        )
        raise LogMismatch(problem)


def refuse_unfinished(number: int, progress: Progress | None) -> None:
    """Raise `UnfinishedPublication` if the changelogs come from a publication that isn't finished.

    Until a publication is finished, its levels have a progress with next offset 0. No worker writes
    such a progress.
    """
    if progress is not None and progress.next_offset == 0:
        problem = (
            f"{ON_HAND_CHANGELOG}[{number}] holds an incomplete published backfill; "
            "finish it with the same `inventory backfill publish`, or remove it"
        )
        raise UnfinishedPublication(problem)


def refuse_other_generation(number: int, own_generation: int, found: int | None) -> None:
    """Raise `LogMismatch` if the state comes from another generation than `own_generation`.

    `found` is None for changelogs without a progress. The generation is part of every position and
    id, and any position of a later generation is newer. So a state must not mix generations.
    """
    if found not in (None, own_generation):
        problem = (
            f"{ON_HAND_CHANGELOG}[{number}] is of generation {found}, but this worker is of "
            f"generation {own_generation} (INVENTORY_GENERATION)"
        )
        raise LogMismatch(problem, START_AGAIN)


def refuse_other_source(number: int, progress: Progress, topics: Topics) -> None:
    """Raise `LogMismatch` if the state comes from another source topic than `topics` has.

    Raise it also if the source topic lacks the state's next offset.
    """
    found, known = topics.ids[STOCK_EVENTS], progress.source_topic_id
    if known not in (None, found):
        problem = (
            f"{STOCK_EVENTS}[{number}] has the id {found}, but the state comes from {known}: the "
            f"topic was deleted and recreated; {LOST}"
        )
        raise LogMismatch(problem, NEW_GENERATION)
    first, end = topics.bounds[STOCK_EVENTS]
    if not first <= progress.next_offset <= end:
        problem = (
            f"{STOCK_EVENTS}[{number}] has offsets {first}..{end}, but the state continues at "
            f"{progress.next_offset}: the topic was truncated or recreated; {LOST}"
        )
        raise LogMismatch(problem, NEW_GENERATION)


def refuse_truncated_source(number: int, progress: Progress, first: int) -> None:
    """Raise `LogMismatch` if the source topic begins after the first record of the dedupe ring.

    `first` is the topic's first offset. A worker would miss records that it needs to recognise
    re-sent records.
    """
    if first > progress.ring_from:
        problem = (
            f"{STOCK_EVENTS}[{number}] begins at offset {first}: it was truncated. Records from "
            f"offset {progress.ring_from} on are needed to recognise re-sent records; {LOST}"
        )
        raise LogMismatch(problem, NEW_GENERATION)
