"""How far the workers of a logic revision are in `stock.events`, by what they have committed.

Group offsets are hints that may run ahead. The header on the last record of each changelog says
what the state includes, and any revision's code writes it in the same form.
"""

import time
from collections.abc import Collection, Mapping
from typing import Final

from analytics import kafka
from cdc.contracts.progress import Progress, progress_in
from cdc.contracts.topics import STOCK_EVENTS, written_by
from cdc.settings import Connections
from deploy.errors import StackError

_TAIL: Final = 64  # offsets: a chunk ends its levels with the header, then comes a marker
_EVERY_S: Final = 0.5

Offsets = Mapping[int, int]


def ends(settings: Connections) -> dict[int, int]:
    """Per partition the offset behind the newest record of `stock.events`."""
    return kafka.end_offsets(settings.kafka_bootstrap, STOCK_EVENTS, settings.partitions)


def reached(settings: Connections, revision: int, *, tail: int = _TAIL) -> dict[int, int]:
    """Per partition the first offset without effect on the revision's committed state."""
    states = told(settings, revision, tail=tail)
    return {
        number: states[number].next_offset if number in states else 0
        for number in range(settings.partitions)
    }


def told(settings: Connections, revision: int, *, tail: int = _TAIL) -> dict[int, Progress]:
    """What the revision's committed state says of itself, for partitions that have one.

    It stands in the last `tail` offsets, unless a transaction behind it was given up. However long
    reading them takes, it goes on while they arrive: a million whole levels are many GB.
    """
    topic = written_by(revision).on_hand_changelog
    asked = settings.kafka_bootstrap, topic, settings.partitions
    first, last = kafka.start_offsets(*asked), kafka.end_offsets(*asked)
    begin = {number: max(first[number], last[number] - tail) for number in last}
    found: dict[int, Progress] = {}
    reader = kafka.Tail(*asked, next_offsets=begin)
    for message in reader.read_until(last):
        progress = None if message.error() else progress_in(message.headers() or ())
        if progress is not None:
            found[message.partition()] = progress
    return found


def behind(positions: Offsets, barrier: Offsets) -> int:
    """Records that are missing up to the barrier."""
    return sum(max(0, end - positions.get(number, 0)) for number, end in barrier.items())


def wait_past(settings: Connections, barrier: Offsets, revision: int, deadline: float) -> None:
    """Return once the revision's state includes everything before the barrier.

    Raises:
        StackError: it does not in time; the message says by how much.
    """
    while missing := behind(reached(settings, revision), barrier):
        if time.monotonic() > deadline:
            message = f"logic revision {revision} is {missing} records behind"
            raise StackError(message, repair="inventory revision list")
        time.sleep(_EVERY_S)


def wait_past_moment(
    settings: Connections, moment_us: int, numbers: Collection[int], revision: int, deadline: float
) -> None:
    """Return once the revision's state of these partitions includes what committed before a moment.

    A record that was committed later, a heartbeat at the latest, comes behind it in the log.

    Raises:
        StackError: it does not in time; the message says which partitions.
    """
    while waiting := _before(moment_us, told(settings, revision), numbers):
        if time.monotonic() > deadline:
            message = (
                f"logic revision {revision} has seen no record of the last moments in partitions "
                f"{', '.join(map(str, waiting))}; nothing was changed"
            )
            raise StackError(message, repair="inventory restart heartbeat")
        time.sleep(_EVERY_S)


def _before(moment_us: int, states: Mapping[int, Progress], numbers: Collection[int]) -> list[int]:
    """Return the partitions whose state holds no record committed at the moment or later."""
    newest = {
        number: states[number].newest_commit_us or 0 for number in numbers if number in states
    }
    return sorted(number for number in numbers if newest.get(number, 0) < moment_us)
