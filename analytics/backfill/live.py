"""Write the live workers' states into files like those of a run: one file per partition.

A file is sorted by key. Only one partition is in memory at a time, because all partitions of a
million keys would need gigabytes. Each partition has its own end offset, as in a run.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from analytics.engines.results import STATES, ResultFile, read_unlisted
from analytics.live_state import LiveState
from cdc.contracts.state import encode_state
from cdc.settings import Connections


@dataclass(frozen=True, slots=True)
class LivePartition:
    """The live states of one partition, made of its records before `end`.

    `digest` is computed as in a run's manifest, so equal states have equal digests.
    """

    number: int
    end: int
    directory: Path
    digest: int
    open_reorders: int

    def states(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield key and complete state of every item, sorted by key."""
        return ((key, content) for key, _offset, content in read_unlisted(self.directory, STATES))


def live_partitions(settings: Connections, directory: Path) -> tuple[LivePartition, ...]:
    """Write each partition's states from the changelogs into files below `directory`.

    Return the partitions that have states, in order.

    Raises:
        UnreadableRecord: another version of this code wrote a record. The error has its offset.
    """
    found = (_taken(settings, number, directory) for number in range(settings.partitions))
    return tuple(part for part in found if part is not None)


def _taken(settings: Connections, number: int, directory: Path) -> LivePartition | None:
    live = LiveState(settings, only=number)
    live.refresh()
    if number not in live.positions:
        return None
    target = directory / f"partition={number}"
    target.mkdir(parents=True)
    file, open_reorders = ResultFile(target, STATES), 0
    keys = live.keys()
    for key in keys:
        state = live.state(key)
        open_reorders += state.episode.state == "open"
        file.write(key.encode(), state.position.offset, encode_state(state))
    file.close()
    return LivePartition(number, live.positions[number] + 1, target, file.digest, open_reorders)
