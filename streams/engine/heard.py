"""A log that tells of each batch that it gives: a restore of any length shows that it moves."""

from collections.abc import AsyncIterator, Callable, Sequence

from streams.engine.records import Log, LogRecord, TopicIds


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

    async def offset_at(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        """As the other log says."""
        return await self._log.offset_at(topic, partition, timestamp_ms)

    async def read(
        self, topic: str, partition: int, start: int, end: int
    ) -> AsyncIterator[Sequence[LogRecord]]:
        """What the other log gives."""
        async for batch in self._log.read(topic, partition, start, end):
            yield batch
            self._heard()
