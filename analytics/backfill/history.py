"""A finished run, partition by partition and decoded, for code that writes changelogs from it.

Only the rows of one batch are in memory: a partition may have millions of keys.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from analytics.archive.manifest import Manifest
from analytics.archive.ring import ring_at
from analytics.engines.results import (
    BEATS,
    EXPIRED,
    HEARTBEATS,
    LATE,
    REJECTED,
    STATES,
    read_rows,
)
from analytics.engines.unit import ManifestRow
from cdc.contracts.progress import BEAT_HEADER, Beat, beat_in
from cdc.contracts.rejects import Late, Rejection, decode_late, decode_rejection
from cdc.contracts.state import decode_state, decode_window
from inventory.model.ids import InvKey
from inventory.model.state import KeyState

Row = tuple[bytes, int, bytes]  # key, offset, content
Expired = tuple[InvKey, int, bytes]  # key, start of the window, its last record


@dataclass(frozen=True, slots=True)
class PartitionHistory:
    """The recomputed result of one partition's records before `end`.

    `rows` are the results of the run's units of this partition, one for each key bucket. `archive`
    holds the records.
    """

    number: int
    generation: int
    end: int
    rows: tuple[ManifestRow, ...]
    archive: Manifest

    @property
    def newest_commit_us(self) -> int | None:
        """Return the newest commit time that the dedupe ring has seen."""
        return _newest(row.newest_commit_us for row in self.rows)

    @property
    def highest_lsn(self) -> int | None:
        """Return the highest LSN that the dedupe ring has seen."""
        return _newest(row.highest_lsn for row in self.rows)

    @property
    def streamed(self) -> bool:
        """Return True if a change (op c, u or d) has ended Debezium's snapshot."""
        return any(row.streamed for row in self.rows)

    def ring_from(self) -> int:
        """Return the offset from which a worker must replay to rebuild its dedupe ring at `end`."""
        ring = ring_at(
            self.archive,
            self.number,
            self.end,
            newest_commit_us=self.newest_commit_us,
            streamed=self.streamed,
        )
        return ring.replayed_from(self.end)

    def states(self) -> Iterator[KeyState]:
        """Yield every item's complete state, then the states of the partition's heartbeat keys."""
        for kind in (STATES, HEARTBEATS):
            for _key, _offset, content in self._read(kind):
                yield decode_state(content)

    def beats(self) -> dict[InvKey, Beat]:
        """Return number and commit time of the newest heartbeat, by heartbeat key."""
        found: dict[InvKey, Beat] = {}
        for key, _offset, content in self._read(BEATS):
            beat = beat_in([(BEAT_HEADER, content)])
            if beat is not None:
                found[InvKey(key.decode())] = beat
        return found

    def expired(self) -> Iterator[Expired]:
        """Yield key, start (µs since 1970 UTC) and encoded row of each window removed from a state.

        A window is ten minutes of a key's sales. A state drops the windows of days before its
        horizon.
        """
        for _key, _offset, content in self._read(EXPIRED):
            key, row, _position = decode_window(content)
            yield key, row.start_us, content

    def lates(self) -> Iterator[Late]:
        """Yield sales that no window counts, in offset order."""
        return (decode_late(content) for _key, _offset, content in self._merged(LATE))

    def rejections(self) -> Iterator[Rejection]:
        """Yield the rejected records, in offset order."""
        return (decode_rejection(content) for _key, _offset, content in self._merged(REJECTED))

    def _read(self, kind: str) -> Iterator[Row]:
        for row in self.rows:
            yield from read_rows(row, kind)

    def _merged(self, kind: str) -> Iterator[Row]:
        """Return the rows of all buckets in offset order, merged from sorted buckets."""
        parts = [read_rows(row, kind) for row in self.rows]
        return heapq.merge(*parts, key=lambda row: row[1])


def _newest(found: Iterable[int | None]) -> int | None:
    return max((number for number in found if number is not None), default=None)
