"""What goes in and out of the engine: source records, sends, and the broker that acknowledges them.

The broker is a protocol, so that the engine runs in tests against `streams.engine.memory` and in a
worker against transactional producers, with the same code in between.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Protocol

from inventory.model.value import value


@value
class SourceRecord:
    """One record of `stock.events` as the broker handed it over."""

    offset: int
    key: bytes | None
    value: bytes | None


def unbroken(chunk: Sequence[SourceRecord]) -> Iterator[Sequence[SourceRecord]]:
    """The chunk in parts that skip no offset; one part, unless records of two fetches met in it.

    A consumer that was sent to another offset hands on what it finds there, and what it missed
    would else be in the middle of a chunk, where nothing looks for it.
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
TopicIds = Mapping[str, str]  # topic -> what the broker named it when it was made
Positions = Mapping[str, int]  # topic -> offset after the last record, in one partition


@value
class FoundTopic:
    """What a broker says of a topic."""

    id: str
    partitions: int


class Fenced(Exception):
    """Another worker owns the partition now: nothing of ours may be written any more."""


class Broker(Protocol):
    """Writes to one partition, atomically and in stages."""

    async def acknowledged(self, partition: int, stages: Sequence[Stage]) -> Positions:
        """Return once all stages are committed, in their order and all or none.

        The positions behind the last record of each topic are the broker's answer, never a guess
        from the end of the log: what stands there may be another owner's.

        Raises:
            Fenced: another worker initialised the partition's producer after us.
        """
        ...


@value
class LogRecord:
    """One committed record of any topic, read by offset."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    at_ms: int = 0  # when it was written, by the writer's clock


class Log(Protocol):
    """Reads committed records of one partition by offset."""

    async def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """First offset, and the offset after the last committed record or marker."""
        ...

    async def topic_ids(self, topics: Sequence[str]) -> TopicIds:
        """What tells each topic from one of the same name that was deleted before."""
        ...

    def read(
        self, topic: str, partition: int, start: int, end: int
    ) -> AsyncIterator[Sequence[LogRecord]]:
        """The records from `start` on and before `end`, in order and in batches."""
        ...
