"""How many of a partition's last records can't be decoded: one is bad, many are another language.

Counted over records and not over a chunk, which holds a single record where there is little trade:
a trickle of garbage stops a worker like a flood of it. A restore counts them again.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final

from cdc.contracts.topics import STOCK_EVENTS

RECENT: Final = 1_000
PERMILLE: Final = 10  # facts of a schema that changed come by the hundred, accidents do not


class SchemaBreak(Exception):
    """Too many records can't be decoded: the producer speaks another language now."""


class Undecodable:
    """The offsets of those among the last records of a partition that can't be decoded.

    More than `permille` of `RECENT` are too many, be it that the partition has fewer records yet.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._offsets: deque[int] = deque()
        self.permille = PERMILLE

    @property
    def offsets(self) -> tuple[int, ...]:
        """Those that are known, oldest first."""
        return tuple(self._offsets)

    def remember(self, offsets: Iterable[int]) -> None:
        """Take offsets that were refused in an earlier life, oldest first."""
        for offset in offsets:
            self._take(offset)

    def add(self, offset: int, detail: str) -> None:
        """Take the next one, which can't be decoded because of `detail`.

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
