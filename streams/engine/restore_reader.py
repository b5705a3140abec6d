"""A changelog reader for restores that reports progress and yields to the event loop.

A long restore therefore doesn't block folds and queries of other partitions.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from streams.engine.records import Log, LogRecord, TopicIds

SLICE: Final = 500  # records between two yields to the event loop


class RestoreReader:
    """A `Log` that wraps another `Log` and calls `on_progress` after each batch of records."""

    def __init__(self, log: Log, on_progress: Callable[[], None]) -> None:
        self._log = log
        self._on_progress = on_progress

    async def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset and the end offset, from the wrapped log."""
        return await self._log.bounds(topic, partition)

    async def topic_ids(self, topics: Sequence[str]) -> TopicIds:
        """Return the topic ids from the wrapped log."""
        return await self._log.topic_ids(topics)

    async def read(
        self, topic: str, partition: int, start: int, end: int
    ) -> AsyncIterator[Sequence[LogRecord]]:
        """Yield the wrapped log's records in batches of at most `SLICE`.

        The event loop gets control between two batches.
        """
        async for batch in self._log.read(topic, partition, start, end):
            for begin in range(0, len(batch), SLICE):
                if begin > 0:
                    await asyncio.sleep(0)
                yield batch[begin : begin + SLICE]
            self._on_progress()
