"""The share of undecodable records in a partition: one is bad data, many are a changed schema.

It is counted over records. A chunk may hold a single record when trade is slow, and a trickle of
undecodable records must stop a worker like a flood. A restore counts them again.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final

from cdc.contracts.topics import STOCK_EVENTS

RECENT: Final = 1_000
PERMILLE: Final = 10  # records of a changed schema come by the hundred, accidents do not


class SchemaBreak(Exception):
    """Too many records can't be decoded: the producer's schema has changed."""


class Undecodable:
    """The offsets of undecodable records among a partition's last records.

    More than `permille` of `RECENT` are too many, also in a partition with fewer records.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._offsets: deque[int] = deque()
        self.permille = PERMILLE

    @property
    def offsets(self) -> tuple[int, ...]:
        """Return the known offsets, oldest first."""
        return tuple(self._offsets)

    def remember(self, offsets: Iterable[int]) -> None:
        """Add offsets from before a restart, oldest first."""
        for offset in offsets:
            self._take(offset)

    def add(self, offset: int, detail: str) -> None:
        """Add the next offset, which can't be decoded because of `detail`.

        Raises:
            SchemaBreak: there were too many lately.
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
