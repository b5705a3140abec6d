"""Checks that a log fits the restored state, and repair commands where it does not.

A broker serves a topic that was deleted and created again, or truncated, without an error. A worker
that continued would have incomplete history in a state that looks complete. It therefore stops
(fault F16).
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

REPAIR: Final = f"`{REBUILD}` makes the changelogs from {STOCK_EVENTS} again"
LOST: Final = "history is missing: bring the topic itself back, or begin a new generation"
_RETIRE: Final = f"inventory revision retire {LOGIC_REVISION} --delete"


class LogMismatch(Exception):
    """Topic and changelog don't belong together: deleted, recreated or truncated (fault F16).

    `repair` is the command that an operator should run.
    """

    def __init__(self, problem: str, repair: str = REBUILD) -> None:
        super().__init__(problem)
        self.repair = repair


class TornChangelogs(BrokenInvariant):
    """One changelog is ahead of the other, although each chunk writes both in one transaction."""

    repair = REBUILD


@value
class Topics:
    """Source and changelogs of one partition at the beginning of a restore.

    `ids` are read first of all. A topic that is created again afterwards then has another id than
    the state. `bounds` are the first offset and the offset after the last record.
    """

    ids: TopicIds
    bounds: Mapping[str, tuple[int, int]]


def refuse_other_counts(partitions: Mapping[str, int], expected: int) -> None:
    """Raise `LogMismatch` unless each topic has the `expected` number of partitions.

    With one more, nearly every key's next record goes to another partition than those before.
    """
    is_known = expected == PARTITIONS
    for topic, found in partitions.items():
        if found != expected:
            wanted = f"{expected}" if is_known else f"{expected} (INVENTORY_PARTITIONS)"
            problem = f"{topic} has {found} partitions, keys are divided among {wanted}"
            raise LogMismatch(problem, repair_of_topic(topic) if is_known else START_AGAIN)


def repair_of_topic(topic: str) -> str:
    """Return the repair command for a topic that is not the same as before."""
    return NEW_GENERATION if topic == STOCK_EVENTS else REBUILD


def repair_phrase(topic: str) -> str:
    """Return the repair of a topic as a phrase for messages."""
    return LOST if topic == STOCK_EVENTS else REPAIR


def refuse_truncated_levels(number: int, first: int) -> None:
    """Raise `LogMismatch` if the levels lack their beginning. Compaction never removes it."""
    if first > 0:
        problem = f"{ON_HAND_CHANGELOG}[{number}] begins at {first}, it was truncated; {REPAIR}"
        raise LogMismatch(problem)


def refuse_unfinished(number: int, progress: Progress | None) -> None:
    """Raise `LogMismatch` if the levels are an interrupted publication: no chunk ends at 0."""
    if progress is not None and progress.next_offset == 0:
        problem = (
            f"{ON_HAND_CHANGELOG}[{number}] holds an incomplete published backfill; "
            "the same `inventory backfill publish` finishes it, "
            f"`{_RETIRE}` removes it"
        )
        raise LogMismatch(problem, _RETIRE)


def refuse_other_generation(number: int, own_generation: int, found: int | None) -> None:
    """Raise `LogMismatch` if the state was made from another generation of the log.

    The generation is part of every position and id. Positions of a later generation compare as
    newer than all of an earlier one, so a state must not mix two generations.
    """
    if found not in (None, own_generation):
        problem = (
            f"{ON_HAND_CHANGELOG}[{number}] is of generation {found}, this worker of "
            f"{own_generation} (INVENTORY_GENERATION)"
        )
        raise LogMismatch(problem, START_AGAIN)


def refuse_other_source(number: int, progress: Progress, topics: Topics) -> None:
    """Raise `LogMismatch` unless the source topic is the one whose offset `progress` holds."""
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
    """Raise `LogMismatch` if the source topic begins after the records that the ring needs."""
    if first > progress.ring_from:
        problem = (
            f"{STOCK_EVENTS}[{number}] begins at {first}, it was truncated: records from "
            f"{progress.ring_from} on that are sent again could not be told from new ones; {LOST}"
        )
        raise LogMismatch(problem, NEW_GENERATION)
