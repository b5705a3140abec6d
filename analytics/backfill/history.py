"""A finished run as whoever writes changelogs from it needs it: partition by partition, decoded.

Nothing is held but the rows of one batch: a partition may have millions of keys.
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
    """What one partition's records before `end` have come to.

    `rows` are its units, `archive` holds the records.
    """

    number: int
    generation: int
    end: int
    rows: tuple[ManifestRow, ...]
    archive: Manifest

    @property
    def newest_commit_us(self) -> int | None:
        """The newest commit time that the dedupe ring has seen."""
        return _newest(row.newest_commit_us for row in self.rows)

    @property
    def highest_lsn(self) -> int | None:
        """The highest lsn that it has seen."""
        return _newest(row.highest_lsn for row in self.rows)

    @property
    def streamed(self) -> bool:
        """Whether a change has ended the snapshot phase."""
        return any(row.streamed for row in self.rows)

    def ring_from(self) -> int:
        """Where the dedupe ring is replayed from; reads the end of the archive."""
        ring = ring_at(
            self.archive,
            self.number,
            self.end,
            newest_commit_us=self.newest_commit_us,
            streamed=self.streamed,
        )
        return ring.replayed_from(self.end)

    def states(self) -> Iterator[KeyState]:
        """Every key's whole state, the partition's own heartbeat last."""
        for kind in (STATES, HEARTBEATS):
            for _key, _offset, content in self._read(kind):
                yield decode_state(content)

    def beats(self) -> dict[InvKey, Beat]:
        """The newest content of each heartbeat."""
        found: dict[InvKey, Beat] = {}
        for key, _offset, content in self._read(BEATS):
            beat = beat_in([(BEAT_HEADER, content)])
            if beat is not None:
                found[InvKey(key.decode())] = beat
        return found

    def expired(self) -> Iterator[Expired]:
        """Window rows that no state holds any more, as they were last."""
        for _key, _offset, content in self._read(EXPIRED):
            key, row, _position = decode_window(content)
            yield key, row.start_us, content

    def lates(self) -> Iterator[Late]:
        """Sales that no window counts, in the order of the log."""
        return (decode_late(content) for _key, _offset, content in self._merged(LATE))

    def rejections(self) -> Iterator[Rejection]:
        """Records without effect, in the order of the log."""
        return (decode_rejection(content) for _key, _offset, content in self._merged(REJECTED))

    def _read(self, kind: str) -> Iterator[Row]:
        for row in self.rows:
            yield from read_rows(row, kind)

    def _merged(self, kind: str) -> Iterator[Row]:
        """The rows of all buckets in the order of their offsets, which each bucket has."""
        parts = [read_rows(row, kind) for row in self.rows]
        return heapq.merge(*parts, key=lambda row: row[1])


def _newest(found: Iterable[int | None]) -> int | None:
    return max((number for number in found if number is not None), default=None)
