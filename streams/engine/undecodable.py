"""The limit of undecodable records in a partition.

A single undecodable record is bad data and is rejected. Many of them mean that the producer's
schema has changed, and the worker stops. The worker counts undecodable records among the last 1,000
offsets, not per chunk, because a chunk may have a single record. After a restart, the restore
takes the undecodable offsets from the snapshot and reads only later records again. Without a usable
snapshot, it reads at least the last 1,000 records again.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final

from cdc.contracts.topics import STOCK_EVENTS

RECENT: Final = 1_000
PERMILLE: Final = 10  # default limit: more than 1 % of the last 1,000 records


class SchemaBreak(Exception):
    """Too many of a partition's last records can't be decoded: the schema has changed."""


class Undecodable:
    """The offsets of undecodable records among a partition's last `RECENT` offsets.

    The limit is `permille`/1000 · `RECENT` undecodable records. With 10 ‰, the 11th one stops the
    worker, even if the partition has fewer than 1,000 records.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._offsets: deque[int] = deque()
        self.permille = PERMILLE

    @property
    def offsets(self) -> tuple[int, ...]:
        """Return the offsets of the undecodable records, oldest first."""
        return tuple(self._offsets)

    def remember(self, offsets: Iterable[int]) -> None:
        """Add offsets from before a restart, oldest first."""
        for offset in offsets:
            self._take(offset)

    def add(self, offset: int, detail: str) -> None:
        """Add the offset of a record that can't be decoded because of `detail`.

        Raises:
            SchemaBreak: the limit is exceeded.
        """
        self._take(offset)
        found = len(self._offsets)
        if found * 1_000 > self.permille * RECENT:
            problem = (
                f"{STOCK_EVENTS}[{self._number}]: {found} of the last {RECENT} records up to "
                f"offset {offset} can't be decoded as Debezium's envelope (limit "
                f"{self.permille / 10:g} %); the last one: {detail}"
            )
            raise SchemaBreak(problem)

    def _take(self, offset: int) -> None:
        self._offsets.append(offset)
        while self._offsets[0] <= offset - RECENT:
            self._offsets.popleft()
