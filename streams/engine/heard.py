"""A log as a restore reads it: of any length, it shows that it moves and lets others have a turn.

Other partitions of the worker are folded and queried meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from streams.engine.records import Log, LogRecord, TopicIds

SLICE: Final = 500  # records between two turns of others


class HeardLog:
    """Implements `Log` with another one, and calls `heard` after each batch of records."""

    def __init__(self, log: Log, heard: Callable[[], None]) -> None:
        self._log = log
        self._heard = heard

    async def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """As the other log says."""
        return await self._log.bounds(topic, partition)

    async def topic_ids(self, topics: Sequence[str]) -> TopicIds:
        """As the other log says."""
        return await self._log.topic_ids(topics)

    async def read(
        self, topic: str, partition: int, start: int, end: int
    ) -> AsyncIterator[Sequence[LogRecord]]:
        """What the other log gives, in batches that take milliseconds."""
        async for batch in self._log.read(topic, partition, start, end):
            for begin in range(0, len(batch), SLICE):
                if begin > 0:
                    await asyncio.sleep(0)
                yield batch[begin : begin + SLICE]
            self._heard()
