"""Compare the decisions that the live workers published with those of a run, without recomputing.

The comparison is at the end offsets of the run. The workers must have passed these offsets. If a
record before the end offset caused a key's newest published decision, this decision was also valid
at the end offset. Keys with a later decision are left out and counted, because the topics don't
keep their earlier decisions.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import psycopg
from confluent_kafka import KafkaException

from analytics.archive.storage import Location
from analytics.backfill.diff.compared_runs import KEPT, ComparedRun, NotComparable, compared_run
from analytics.backfill.diff.comparison import Diff, Progress, counted, no_progress
from analytics.backfill.diff.pairing import A, B, Pair
from analytics.backfill.diff.pending import (
    Pending,
    commit_times,
    compared_keys,
    newest_of,
    pending,
)
from analytics.backfill.diff.published import Live, PublishedPartition, live_of, published
from analytics.backfill.diff.scratch import Scratch
from analytics.backfill.diff.sides import Side
from analytics.backfill.diff.stream import Entry, paired
from analytics.backfill.finished import finished_of
from analytics.backfill.run import runs_dir
from analytics.damage import Damage
from analytics.kafka import TopicUnreadable
from cdc.contracts.history_requests import LIVE
from cdc.contracts.topics import STOCK_EVENTS
from cdc.contracts.versions import UnreadableRecord
from cdc.settings import Connections

_NAMED: Final = 20
_UNREACHABLE: Final = (KafkaException, TopicUnreadable, psycopg.OperationalError)
_PENDING_ONLY: Final = (
    "Workers publish the newest decision of each key. So needs and price proposals that wait for "
    "an answer are compared, and closed ones are not."
)


@dataclass(slots=True)
class LiveSide:
    """The live state as one side of a comparison.

    `reached` holds the workers' next offset of each partition compared so far. `left_out` has
    entries such as `reorder DUBLIN|BED-1`: decisions that are not compared, because the workers
    decided again about the key after the run's end.
    """

    revision: int
    reached: dict[int, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Return the name for people, with the deciding revision."""
        return f"{LIVE} (revision {self.revision})"

    def as_json(self) -> dict[str, Any]:
        """Return revision, next offset by partition, and a summary of `left_out`.

        The summary has the number of entries, and the first 20 of them.
        """
        return {
            LIVE: True,
            "logic_revision": self.revision,
            "reached": {str(number): at for number, at in sorted(self.reached.items())},
            "left_out": len(self.left_out),
            "left_out_first": self.left_out[:_NAMED],
        }


@dataclass(frozen=True, slots=True)
class LiveAndRun:
    """The live state and a run, at the end offsets of the run.

    `archive` is the present location of the run's records.
    """

    live: LiveSide
    run: ComparedRun
    archive: Location
    is_live_a: bool

    @property
    def a(self) -> Side:
        """Return side A."""
        return self.live if self.is_live_a else self.run

    @property
    def b(self) -> Side:
        """Return side B."""
        return self.run if self.is_live_a else self.live

    def history(self) -> dict[str, object]:
        """Return topic, generation, end offsets, deciding revision and left-out decisions."""
        plan = self.run.plan
        return {
            "source_topic_id": plan.source_topic_id,
            "generation": max((unit.generation for unit in plan.units), default=0),
            "ends": {str(number): end for number, end in sorted(plan.ends.items())},
            LIVE: {"logic_revision": self.live.revision, "left_out": sorted(self.live.left_out)},
        }

    def notes(self) -> tuple[str, ...]:
        """Return a sentence about the compared decisions, and one about those left out, if any."""
        count = len(self.live.left_out)
        if not count:
            return (_PENDING_ONLY,)
        first = ", ".join(self.live.left_out[:3])
        left = (
            f"{count} decisions are left out, for example {first}: the workers decided about these "
            f"keys again after the end of {self.run.name}. A run up to now leaves out fewer."
        )
        return _PENDING_ONLY, left


def names_live(a: str, b: str) -> bool:
    """Return True if `a` or `b` names the live state."""
    return LIVE in (a, b)


def live_and_run(settings: Connections, a: str, b: str) -> tuple[Live, LiveAndRun]:
    """Check the run. Return the access to the live state, and the two sides of the comparison.

    The sides are the live state and the run.

    Raises:
        NotComparable: the message names the problem and the next step.
    """
    if a == b:
        problem = "A and B are both the live state"
        raise NotComparable(problem, KEPT, "name a run or a revision as the other side")
    with incomparable():
        run = compared_run(finished_of(runs_dir(settings), b if a == LIVE else a)[0])
        live = live_of(settings)
    return live, sides_of(live, run, settings.archive_location, is_live_a=a == LIVE)


def sides_of(live: Live, run: ComparedRun, archive: Location, *, is_live_a: bool) -> LiveAndRun:
    """Return the live state and the run as the two sides of the comparison.

    Raises:
        NotComparable: the topic was deleted and created again since the run read it.
    """
    if run.plan.source_topic_id != live.topic_id:
        problem = (
            f"run {run.name} read the {STOCK_EVENTS} with id {run.plan.source_topic_id}, the "
            f"broker's topic has id {live.topic_id}: the topic was deleted and recreated"
        )
        raise NotComparable(problem, KEPT, "`inventory backfill run` computes a run of this topic")
    return LiveAndRun(LiveSide(live.revision), run, archive, is_live_a)


def compare_with_live(
    live: Live, sides: LiveAndRun, scratch: Scratch, progress: Progress = no_progress
) -> Diff[LiveAndRun]:
    """Return the differences between pending decisions of the live state and of a run.

    Raises:
        NotComparable: the workers have not reached the run's end, or a topic lost decisions.
    """
    numbers = sorted(number for number, end in sides.run.plan.ends.items() if end > 0)
    return counted(sides, numbers, partial(pairs_with_live, live, sides), scratch, progress)


def pairs_with_live(live: Live, sides: LiveAndRun, number: int) -> Iterator[Pair]:
    """Yield the pairs of one partition: pending decisions of the live state and of the run."""
    yield from paired(_entries(pending_in(live, sides, number), sides))


@contextmanager
def incomparable() -> Iterator[None]:
    """Replace each error of archive, run, Kafka or Postgres in the block by `NotComparable`."""
    try:
        yield
    except NotComparable:
        raise
    except Damage as error:
        raise NotComparable(error.problem, KEPT, error.step) from error
    except UnreadableRecord as error:
        step = "use a release that can read the decisions of both sides"
        raise NotComparable(str(error), KEPT, step) from error
    except _UNREACHABLE as error:
        raise _unreachable(error) from error


def pending_in(live: Live, sides: LiveAndRun, number: int) -> Pending:
    """Return the pending decisions of one partition. Add left-out keys to `sides.live`.

    Raises:
        NotComparable: as `compare_with_live`.
    """
    with incomparable():
        found = published(live, number)
        _refuse_behind(sides, found)
        run, end = sides.run, sides.run.plan.ends[number]
        times = partial(commit_times, run, sides.archive, number)
        both = pending(newest_of(run, number), found, end, compared_keys(run, number), times)
    _refuse_lost(both)
    sides.live.reached[number] = found.next_offset
    sides.live.left_out.extend(f"{kind} {key.decode()}" for kind, key in both.left_out)
    return both


def _entries(both: Pending, sides: LiveAndRun) -> Iterator[Entry]:
    ours, theirs = (both.live, both.run) if sides.is_live_a else (both.run, both.live)
    sided = [*((A, one) for one in ours), *((B, one) for one in theirs)]
    for side, one in sorted(sided, key=lambda entry: (entry[1].offset, entry[0])):
        yield one.offset, side, one.event.at.inv_key.encode(), one


def _refuse_behind(sides: LiveAndRun, found: PublishedPartition) -> None:
    """Raise `NotComparable` if the workers are behind the run's end, or read another topic."""
    end, run = sides.run.plan.ends[found.number], sides.run
    if found.next_offset < end:
        problem = (
            f"the workers of revision {sides.live.revision} have published partition "
            f"{found.number} up to offset {found.next_offset}, run {run.name} ends at {end}"
        )
        step = "`inventory status` shows their lag; or compare with a run that ends earlier"
        raise NotComparable(problem, KEPT, step)
    read = None if found.progress is None else found.progress.source_topic_id
    if read not in (None, run.plan.source_topic_id):
        problem = (
            f"the workers read partition {found.number} of the {STOCK_EVENTS} with id {read}, run "
            f"{run.name} read the topic with id {run.plan.source_topic_id}"
        )
        raise NotComparable(problem, KEPT, "`inventory status` shows whether the workers run")


def _refuse_lost(both: Pending) -> None:
    if not both.lost:
        return
    names = ", ".join(f"{kind} {key.decode()}" for kind, key in both.lost[:3])
    problem = (
        f"the topics lack the newest published decision of {len(both.lost)} keys, for example "
        f"{names}: these decisions were deleted by the retention of 400 days, or by hand"
    )
    step = (
        "compare with a run that is limited to other keys (--key, --store, --item), or two runs "
        "with each other; `inventory backfill verify` compares the states, which are complete"
    )
    raise NotComparable(problem, KEPT, step)


def _unreachable(error: Exception) -> NotComparable:
    problem = f"Kafka or Postgres did not answer: {error}"
    step = "`inventory status` shows what runs; the live state needs a running stack"
    return NotComparable(problem, KEPT, step)
