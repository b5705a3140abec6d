"""A broker in memory: topics with partitions, atomic writes, and crashes wherever a test wants one.

It lives beside the engine because it defines what the engine may rely on. A crash is an exception
raised between two effects; what was not committed then is gone, as with an aborted transaction.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence

from streams.engine.records import Fenced, LogRecord, Stage

READ_BATCH = 3  # small, so that tests cross batch borders


class Crash(Exception):
    """The process dies here."""


def never(_effect: str) -> None:
    """No crash."""


class MemoryBroker:
    """Implements `Broker` (through `writer`) and `Log`; all times are those that a test gave."""

    def __init__(self) -> None:
        self.topics: dict[tuple[str, int], list[LogRecord]] = defaultdict(list)
        self.times_ms: dict[tuple[str, int], list[int]] = defaultdict(list)
        self.epochs: dict[int, int] = defaultdict(int)

    def produce(
        self, topic: str, partition: int, key: bytes | None, value: bytes | None, at_ms: int = 0
    ) -> int:
        """Append one committed record and return its offset."""
        place = (topic, partition)
        offset = len(self.topics[place])
        self.topics[place].append(LogRecord(offset, key, value))
        self.times_ms[place].append(at_ms)
        return offset

    def values(self, topic: str, partition: int) -> list[bytes]:
        """All committed values, in order."""
        return [record.value or b"" for record in self.topics[topic, partition]]

    def compact(self, topic: str, partition: int) -> None:
        """Keep the last record of each key, as the cleaner does; offsets stay."""
        place = (topic, partition)
        last = {record.key: record.offset for record in self.topics[place]}
        self.topics[place] = [
            record for record in self.topics[place] if last[record.key] == record.offset
        ]

    def writer(self, partition: int, crash: Callable[[str], None] = never) -> "MemoryWriter":
        """Initialise the partition's producer: fences every writer made before."""
        self.epochs[partition] += 1
        return MemoryWriter(self, self.epochs[partition], crash)

    async def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """First offset, and the offset after the last record."""
        records = self.topics[topic, partition]
        return (0, 0) if not records else (0, records[-1].offset + 1)

    async def read(
        self, topic: str, partition: int, start: int, end: int
    ) -> AsyncIterator[Sequence[LogRecord]]:
        """Records of [start, end) in small batches."""
        found = [r for r in self.topics[topic, partition] if start <= r.offset < end]
        for index in range(0, len(found), READ_BATCH):
            yield found[index : index + READ_BATCH]

    async def offset_at(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        """First offset whose time is not before `timestamp_ms`."""
        for offset, at_ms in enumerate(self.times_ms[topic, partition]):
            if at_ms >= timestamp_ms:
                return offset
        return None


class MemoryWriter:
    """Writes of one owner of one partition, until somebody else becomes its owner."""

    def __init__(self, broker: MemoryBroker, epoch: int, crash: Callable[[str], None]) -> None:
        self._broker = broker
        self._epoch = epoch
        self._crash = crash

    async def acknowledged(self, partition: int, stages: Sequence[Stage]) -> None:
        """Commit all stages together, with a chance to crash between any two effects."""
        self._crash("begin")
        for stage in stages:
            if self._broker.epochs[partition] != self._epoch:
                problem = f"partition {partition}: epoch {self._epoch} is not the newest"
                raise Fenced(problem)
            for send in stage:
                self._crash(f"send {send.topic}")
        self._crash("commit")
        for stage in stages:
            for send in stage:
                place = (send.topic, partition)
                records = self._broker.topics[place]
                offset = records[-1].offset + 1 if records else 0
                records.append(LogRecord(offset, send.key, send.value, send.headers))
        self._crash("committed")
