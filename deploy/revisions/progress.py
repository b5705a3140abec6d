"""Progress of a logic revision's workers in `stock.events`, from their committed state.

The committed offsets of a consumer group don't show this progress, because they may be ahead of the
state. In each partition of the on-hand changelog, the last level of the newest chunk has a header
with the first offset that the state doesn't include. The code of every revision writes this header
in the same form.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from analytics import kafka
from cdc.contracts.progress import Progress as CommittedProgress
from cdc.contracts.progress import progress_in
from cdc.contracts.topics import STOCK_EVENTS, output_topics
from cdc.settings import Connections
from deploy.errors import StackError
from deploy.time_left import TimeLeft
from inventory.explain.formatting import counted_text

# Number of offsets to read at the end of a partition. They include the newest header, and the
# marker that ends its transaction.
_TAIL: Final = 64
_EVERY_S: Final = 0.5

Offsets = Mapping[int, int]
Progress = Callable[[str], None]  # argument: one line of text to print


def no_report(_line: str) -> None:
    """Ignore a line of progress. It is for callers that print no progress."""


def ends(settings: Connections) -> dict[int, int]:
    """Return a map from partition to the offset after the newest record of `stock.events`."""
    return kafka.end_offsets(settings.kafka_bootstrap, STOCK_EVENTS, settings.partitions)


def reached(settings: Connections, revision: int, *, tail: int = _TAIL) -> dict[int, int]:
    """Return a map from partition to the first offset that the revision's state doesn't include."""
    states = committed_progress(settings, revision, tail=tail)
    return {
        number: states[number].next_offset if number in states else 0
        for number in range(settings.partitions)
    }


def committed_progress(
    settings: Connections, revision: int, *, tail: int = _TAIL
) -> dict[int, CommittedProgress]:
    """Return the newest progress header of each partition that has one.

    Only the last `tail` offsets of each partition are read. They contain the header, unless
    records of an aborted transaction fill them. There is no time limit while records arrive,
    because a caller may read whole changelogs: the states of a million keys are many GB.
    """
    topic = output_topics(revision).on_hand_changelog
    asked = settings.kafka_bootstrap, topic, settings.partitions
    first, last = kafka.start_offsets(*asked), kafka.end_offsets(*asked)
    begin = {number: max(first[number], last[number] - tail) for number in last}
    found: dict[int, CommittedProgress] = {}
    reader = kafka.Tail(*asked, next_offsets=begin)
    for message in reader.read_until(last):
        progress = None if message.error() else progress_in(message.headers() or ())
        if progress is not None:
            found[message.partition()] = progress
    return found


@dataclass(slots=True)
class CatchingUp:
    """Texts about workers that catch up: the number of missing records, and the time left."""

    revision: int
    left: TimeLeft = field(default_factory=TimeLeft)

    def line(self, missing: int, now_s: float) -> str:
        """Return the text for `missing` records at `now_s`, a time of the monotonic clock."""
        after = self.left.text(-missing, 0, now_s)
        return f"logic revision {self.revision}: {counted_text(missing, 'record')} behind{after}"


def behind(positions: Offsets, barrier: Offsets) -> int:
    """Return the number of offsets from `positions` to `barrier`, summed over all partitions."""
    return sum(max(0, end - positions.get(number, 0)) for number, end in barrier.items())


def wait_past(
    settings: Connections,
    barrier: Offsets,
    revision: int,
    deadline: float,
    *,
    report: Progress = no_report,
) -> None:
    """Wait until the revision's state includes all records before `barrier`, in each partition.

    Raises:
        StackError: the state still lacks records at `deadline`. The message has their number.
    """
    catching_up = CatchingUp(revision)
    while missing := behind(reached(settings, revision), barrier):
        report(catching_up.line(missing, time.monotonic()))
        if time.monotonic() > deadline:
            message = f"logic revision {revision} is {counted_text(missing, 'record')} behind"
            raise StackError(message, repair="inventory revision list")
        time.sleep(_EVERY_S)


def wait_past_moment(
    settings: Connections, moment_us: int, numbers: Collection[int], revision: int, deadline: float
) -> None:
    """Wait until the states of the partitions `numbers` include all commits before `moment_us`.

    The state of a partition includes them once it includes a record that was committed at
    `moment_us` or later. Without trade, the next heartbeat is such a record.

    Raises:
        StackError: at `deadline`, some partitions have no such record. The message names them.
    """
    while waiting := _before(moment_us, committed_progress(settings, revision), numbers):
        if time.monotonic() > deadline:
            message = (
                f"logic revision {revision} has not read the newest records of partitions "
                f"{', '.join(map(str, waiting))}; nothing was changed"
            )
            raise StackError(message, repair="inventory restart heartbeat")
        time.sleep(_EVERY_S)


def _before(
    moment_us: int, states: Mapping[int, CommittedProgress], numbers: Collection[int]
) -> list[int]:
    """Return the partitions whose state has no record committed at `moment_us` or later."""
    newest = {
        number: states[number].newest_commit_us or 0 for number in numbers if number in states
    }
    return sorted(number for number in numbers if newest.get(number, 0) < moment_us)
