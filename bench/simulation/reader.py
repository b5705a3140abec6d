"""Topic reader of a simulated worker: each read is an effect at which the process may end."""

from collections.abc import AsyncIterator, Sequence
from typing import Self

from streams.engine.memory import EffectHook, MemoryBroker
from streams.engine.records import LogRecord, TopicIds


class Reader:
    """A reader of committed records; each access to the broker is a separate effect."""

    def __init__(self, broker: MemoryBroker, before_effect: EffectHook) -> None:
        self._broker = broker
        self._before_effect = before_effect

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset, and the offset after the last record."""
        await self._before_effect(f"bounds {topic}")
        return await self._broker.bounds(topic, partition)

    async def topic_ids(self, topics: Sequence[str]) -> TopicIds:
        """Return the ids of topics; the deletion of a topic changes its id."""
        await self._before_effect("topic ids")
        return await self._broker.topic_ids(topics)

    async def read(
        self, topic: str, partition: int, start: int, end: int
    ) -> AsyncIterator[Sequence[LogRecord]]:
        """Yield the records of [start, end) in batches."""
        await self._before_effect(f"read {topic}")
        async for batch in self._broker.read(topic, partition, start, end):
            yield batch
