"""What a log must hold for a state to go on in it, and what a person can do where it doesn't.

A broker gives a topic that was deleted and made anew, or cut off, without a word. Whoever goes on
then has a part of the history in a state that looks like all of it, so nobody does (fault F16).
"""

from collections.abc import Mapping
from typing import Final

from cdc.contracts.progress import Progress
from cdc.contracts.topics import ON_HAND_CHANGELOG, PARTITIONS, STOCK_EVENTS
from inventory.errors import BrokenInvariant
from inventory.model.value import value
from inventory.revision import LOGIC_REVISION
from streams.endings import NEW_GENERATION, REBUILD
from streams.engine.records import TopicIds

REPAIR: Final = f"`{REBUILD}` makes the changelogs from {STOCK_EVENTS} again"
LOST: Final = "history is missing: bring the topic itself back, or begin a new generation"
_START_AGAIN: Final = "inventory down && inventory up --detach"
_RETIRE: Final = f"inventory revision retire {LOGIC_REVISION} --delete"


class LogMismatch(Exception):
    """Topic and changelog don't belong together: deleted, recreated or cut off (fault F16).

    `repair` is the command that helps.
    """

    def __init__(self, problem: str, repair: str = REBUILD) -> None:
        super().__init__(problem)
        self.repair = repair


class TornChangelogs(BrokenInvariant):
    """One changelog goes on where the other has ended, although chunks write both together."""

    repair = REBUILD


@value
class Topics:
    """Source and changelogs of one partition at the beginning of a restore.

    `ids` are asked for first of all, so that a topic made anew from then on has another id than the
    state; `bounds` are the first offset and the one behind the last record.
    """

    ids: TopicIds
    bounds: Mapping[str, tuple[int, int]]


def refuse_other_counts(partitions: Mapping[str, int], expected: int) -> None:
    """Raise `LogMismatch` unless each topic has as many partitions as keys were divided among.

    With one more, nearly every key's next record comes into another partition than those before.
    """
    is_known = expected == PARTITIONS
    for topic, found in partitions.items():
        if found != expected:
            told = f"{expected}" if is_known else f"{expected} (INVENTORY_PARTITIONS)"
            problem = f"{topic} has {found} partitions, keys are divided among {told}"
            raise LogMismatch(problem, repair_of(topic) if is_known else _START_AGAIN)


def repair_of(topic: str) -> str:
    """The command for a topic that is not what it was."""
    return NEW_GENERATION if topic == STOCK_EVENTS else REBUILD


def way_of(topic: str) -> str:
    """What a person can do about it, in words."""
    return LOST if topic == STOCK_EVENTS else REPAIR


def refuse_cut_levels(number: int, first: int) -> None:
    """Raise `LogMismatch` unless the levels are whole: compaction never takes their beginning."""
    if first > 0:
        problem = f"{ON_HAND_CHANGELOG}[{number}] begins at {first}, it was cut off; {REPAIR}"
        raise LogMismatch(problem)


def refuse_unfinished(number: int, told: Progress | None) -> None:
    """Raise `LogMismatch` if the levels are a publication that was cut off: no chunk ends at 0."""
    if told is not None and told.next_offset == 0:
        problem = (
            f"{ON_HAND_CHANGELOG}[{number}] holds a published backfill that is not whole; "
            "the same `inventory backfill publish` finishes it, "
            f"`{_RETIRE}` removes it"
        )
        raise LogMismatch(problem, _RETIRE)


def refuse_other_generation(number: int, ours: int, found: int | None) -> None:
    """Raise `LogMismatch` if the state was made from another generation of the log.

    Its number stands in every position and id, so nothing of ours would be newer than it is, or
    everything.
    """
    if found not in (None, ours):
        problem = (
            f"{ON_HAND_CHANGELOG}[{number}] is of generation {found}, this worker of {ours} "
            "(INVENTORY_GENERATION)"
        )
        raise LogMismatch(problem, _START_AGAIN)


def refuse_other_source(number: int, progress: Progress, topics: Topics) -> None:
    """Raise `LogMismatch` unless the source topic is the one whose offset `progress` tells."""
    found, known = topics.ids[STOCK_EVENTS], progress.source_topic_id
    if known not in (None, found):
        problem = (
            f"{STOCK_EVENTS}[{number}] has the id {found}, but the state comes from {known}: the "
            f"topic was deleted and made anew; {LOST}"
        )
        raise LogMismatch(problem, NEW_GENERATION)
    first, end = topics.bounds[STOCK_EVENTS]
    if not first <= progress.next_offset <= end:
        problem = (
            f"{STOCK_EVENTS}[{number}] has offsets {first}..{end}, but the state goes on at "
            f"{progress.next_offset}: the topic was cut off or made anew; {LOST}"
        )
        raise LogMismatch(problem, NEW_GENERATION)


def refuse_cut_ring(number: int, progress: Progress, first: int) -> None:
    """Raise `LogMismatch` if the source topic begins behind what the dedupe ring has to know."""
    if first > progress.ring_from:
        problem = (
            f"{STOCK_EVENTS}[{number}] begins at {first}, it was cut off: records from "
            f"{progress.ring_from} on that are sent again could not be told from new ones; {LOST}"
        )
        raise LogMismatch(problem, NEW_GENERATION)
