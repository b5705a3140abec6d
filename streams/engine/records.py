"""Input and output of the engine: source records, sends, and the broker that acknowledges them.

The broker is a protocol. Tests run the engine against `streams.engine.memory`, a worker against
transactional producers, with the same code in between.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Protocol

from inventory.model.value import value


@value
class SourceRecord:
    """One record of `stock.events` as the broker delivered it."""

    offset: int
    key: bytes | None
    value: bytes | None


def unbroken(chunk: Sequence[SourceRecord]) -> Iterator[Sequence[SourceRecord]]:
    """Yield parts of the chunk that skip no offset. There are several if two fetches met in it.

    A consumer that was moved to another offset delivers what it finds there. The missed offsets
    would otherwise lie within a chunk, where no check finds them.
    """
    begin = 0
    for index in range(1, len(chunk)):
        if chunk[index].offset > chunk[index - 1].offset + 1:
            yield chunk[begin:index]
            begin = index
    yield chunk[begin:]


@value
class Send:
    """One record to write into the partition that the source record came from."""

    topic: str
    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


Stage = Sequence[Send]
TopicIds = Mapping[str, str]  # topic -> id that the broker gave it at its creation
Positions = Mapping[str, int]  # topic -> offset after the last record, in one partition


@value
class FoundTopic:
    """A topic's id and number of partitions, from the broker."""

    id: str
    partitions: int


class Fenced(Exception):
    """Another worker owns the partition now: this process may not write to it any more."""


class Broker(Protocol):
    """Writes to one partition, atomically and in stages."""

    async def acknowledged(self, partition: int, stages: Sequence[Stage]) -> Positions:
        """Return once all stages are committed, in order, all or none.

        The positions after the last record of each topic come from the broker's answer. The end of
        the log is no substitute: it may hold another owner's records.

        Raises:
            Fenced: another worker initialised the partition's producer after this one.
        """
        ...


@value
class LogRecord:
    """One committed record of any topic, read by offset."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    at_ms: int = 0  # time of writing, by the writer's clock


class Log(Protocol):
    """A reader of committed records of one partition by offset."""

    async def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset, and the offset after the last committed record or marker."""
        ...

    async def topic_ids(self, topics: Sequence[str]) -> TopicIds:
        """Return the topic ids. A topic that was deleted and created again has another id."""
        ...

    def read(
        self, topic: str, partition: int, start: int, end: int
    ) -> AsyncIterator[Sequence[LogRecord]]:
        """Yield the records of [start, end), in order and in batches."""
        ...
