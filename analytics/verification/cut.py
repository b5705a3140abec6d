"""The cut of a comparison: the records that the read model included at the snapshot.

The projector writes rows and positions in one transaction. So one snapshot of the database has
rows, positions and facts of the same moment. The workers' states and the sums over the facts are
computed at this cut, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import psycopg

from inventory.model.ids import InvKey
from inventory.model.state import KeyState

_POSITIONS: Final = "SELECT sink, topic, partition, next_offset FROM read_model.sink_position"


@dataclass(frozen=True, slots=True)
class Positions:
    """The next offset of each sink in each topic and partition; 0 where it has read nothing."""

    at: Mapping[tuple[str, str, int], int]

    def of(self, sink: str, topic: str, partitions: int) -> dict[int, int]:
        """Return the next offset by partition."""
        return {number: self.at.get((sink, topic, number), 0) for number in range(partitions)}


@dataclass(frozen=True, slots=True)
class Cut:
    """The records of `stock.events` that the read model included at the time of a snapshot.

    `next_offset` is the end of each partition's last complete chunk (records of one transaction).
    If the projector has applied a part of the next chunk, the keys of that part are further ahead.
    Each key's level (state record in `levels`) has its own offset.
    """

    next_offset: Mapping[int, int] = field(default_factory=dict)
    levels: Mapping[InvKey, KeyState] = field(default_factory=dict)

    def holds(self, key: str, partition: int, offset: int) -> bool:
        """Return True if the record at this offset, with this key, comes before the cut."""
        if offset < self.next_offset.get(partition, 0):
            return True
        level = self.levels.get(InvKey(key))
        return level is not None and offset <= level.position.offset


def read_positions(connection: psycopg.Connection) -> Positions:
    """Return the positions of all sinks, as the connection's transaction sees them."""
    rows = connection.execute(_POSITIONS)
    return Positions({(sink, topic, number): at for sink, topic, number, at in rows})
