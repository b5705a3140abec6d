"""The engine's interfaces to a broker: records, and protocols to write and read them.

`streams.engine.memory` implements the protocols for tests, `transactions` and `kafka_log` for
workers.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Final, Protocol

from inventory.model.value import value

# Number of replayed records in a chunk. Each can cause the output of hundreds of window rows.
REPLAYED_AT_ONCE: Final = 100


@value
class SourceRecord:
    """One record of `stock.events` as the broker delivered it."""

    offset: int
    key: bytes | None
    value: bytes | None


def unbroken(chunk: Sequence[SourceRecord]) -> Iterator[Sequence[SourceRecord]]:
    """Split the chunk where offsets are missing: [5, 6, 9] gives [5, 6] and [9].

    Offsets can be missing if the consumer was moved to another offset between two fetches. The fold
    checks only a chunk's first offset, so it would not notice a gap within a chunk.
    """
    begin = 0
    for index in range(1, len(chunk)):
        if chunk[index].offset > chunk[index - 1].offset + 1:
            yield chunk[begin:index]
            begin = index
    yield chunk[begin:]


def with_small_replays(
    chunk: Sequence[SourceRecord], restored_offset: int
) -> Iterator[Sequence[SourceRecord]]:
    """Split off pieces of `REPLAYED_AT_ONCE` records while they begin below `restored_offset`.

    A worker sends all window rows of a replayed key again, in one transaction per piece.
    """
    begin = 0
    while begin < len(chunk) and chunk[begin].offset < restored_offset:
        yield chunk[begin : begin + REPLAYED_AT_ONCE]
        begin += REPLAYED_AT_ONCE
    if begin < len(chunk):
        yield chunk[begin:]


@value
class Send:
    """One record to write into `topic`.

    It is written into the partition with the number of the source partition.
    """

    topic: str
    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


Stage = Sequence[Send]  # records that must become visible before those of the next stage
TopicIds = Mapping[str, str]  # topic -> id that the broker gave it at its creation
Positions = Mapping[str, int]  # topic -> offset after the last record, in one partition


@value
class FoundTopic:
    """A topic's id and number of partitions, from the broker."""

    id: str
    partitions: int


class Fenced(Exception):
    """Another process has initialised the partition's producer, so this process can't write."""


class Broker(Protocol):
    """A writer of records into the partitions of all topics, in transactions."""

    async def acknowledged(self, partition: int, stages: Sequence[Stage]) -> Positions:
        """Write all stages atomically and in order. Return once the broker has committed them.

        Return the offset after the last record that was written to each topic. These offsets come
        from the broker's answer. The end of a topic may be later if another owner has also written.

        Raises:
            Fenced: another process initialised the partition's producer after this one.
        """
        ...


@value
class LogRecord:
    """One committed record of any topic, read by offset."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    at_ms: int = 0  # time of writing by the writer's clock, in ms since 1970 UTC


class Log(Protocol):
    """A reader of committed records by topic, partition and offset."""

    async def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset, and the offset after the last committed record.

        A transaction marker counts as a record.
        """
        ...

    async def topic_ids(self, topics: Sequence[str]) -> TopicIds:
        """Return the topic ids. A topic that was deleted and created again has another id."""
        ...

    def read(
        self, topic: str, partition: int, start: int, end: int
    ) -> AsyncIterator[Sequence[LogRecord]]:
        """Yield the records of [start, end), in order and in batches."""
        ...
