"""A broker in memory, against which tests and simulations run the engine.

It has topics with partitions and transactions, with the guarantees that the engine relies on. A
hook is called before every effect. The hook may raise an error, as if the process died, or wait
while other tasks continue. Readers never get the records of an aborted transaction, but these
records use up offsets.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from streams.engine.mismatch import LogMismatch
from streams.engine.records import Fenced, LogRecord, Positions, Send, Stage, TopicIds

READ_BATCH = 3  # records; so few that tests cross the borders of batches

TopicAndPartition = tuple[str, int]
EffectHook = Callable[[str], Awaitable[None]]


class Crash(Exception):
    """A simulated death of the process, raised by a hook."""


async def undisturbed(_effect: str) -> None:
    """Do nothing: the hook of a run without faults."""


class MemoryBroker:
    """A broker in memory. It implements `Log`; the result of `writer` implements `Broker`.

    It reads no clock: callers pass all times as arguments.
    """

    def __init__(self) -> None:
        self.topics: dict[TopicAndPartition, list[LogRecord]] = defaultdict(list)
        self.epochs: dict[int, int] = defaultdict(int)
        self._open: dict[int, Transaction] = {}
        # Next offset of each topic's partition, without the records of open transactions.
        self._ends: dict[TopicAndPartition, int] = defaultdict(int)
        self._firsts: dict[TopicAndPartition, int] = defaultdict(int)
        self._deleted: dict[str, int] = defaultdict(int)

    def produce(
        self, topic: str, partition: int, key: bytes | None, value: bytes | None, at_ms: int = 0
    ) -> int:
        """Append one committed record, without a transaction, and return its offset."""
        tp = (topic, partition)
        offset = self.next_offset(tp)
        self.topics[tp].append(LogRecord(offset, key, value, at_ms=at_ms))
        return offset

    def values(self, topic: str, partition: int) -> list[bytes]:
        """Return all committed values, in order."""
        return [record.value or b"" for record in self.topics[topic, partition]]

    def compact(self, topic: str, partition: int) -> None:
        """Remove all but the last record of each key, as compaction does. Offsets are unchanged."""
        tp = (topic, partition)
        last = {record.key: record.offset for record in self.topics[tp]}
        self.topics[tp] = [
            record for record in self.topics[tp] if last[record.key] == record.offset
        ]

    def delete(self, topic: str, partition: int) -> None:
        """Delete the topic's partition and create it again: the next record has offset 0."""
        for kept in (self.topics, self._ends, self._firsts):
            kept.pop((topic, partition), None)
        self._deleted[topic] += 1

    def cut(self, topic: str, partition: int, first: int) -> None:
        """Delete the records before an offset, as retention or an operator does.

        Offsets are unchanged.
        """
        tp = (topic, partition)
        self.topics[tp] = [r for r in self.topics[tp] if r.offset >= first]
        self._firsts[tp] = first

    def writer(self, partition: int, before_effect: EffectHook = undisturbed) -> "MemoryWriter":
        """Return a new writer of the partition. From now on, every earlier writer is fenced."""
        self.epochs[partition] += 1
        left = self._open.pop(partition, None)
        if left is not None:
            self._finish(left)
        return MemoryWriter(self, self.epochs[partition], before_effect)

    def expire(self) -> None:
        """Abort every open transaction, as a broker does after the transaction timeout."""
        for partition in list(self._open):
            self.writer(partition)

    def begin(self, partition: int) -> "Transaction":
        """Open the partition's transaction. A producer can have only one open transaction."""
        if partition in self._open:
            problem = f"partition {partition}: a transaction is open already"
            raise RuntimeError(problem)
        self._open[partition] = Transaction(self, partition)
        return self._open[partition]

    def commit(self, transaction: "Transaction") -> None:
        """Make all records of a transaction visible to readers."""
        del self._open[transaction.partition]
        for topic, record in transaction.sent:
            self.topics[topic, transaction.partition].append(record)
        self._finish(transaction)

    def next_offset(self, tp: TopicAndPartition) -> int:
        """Return the offset of the next record, after markers and aborted records."""
        records = self.topics[tp]
        behind = records[-1].offset + 1 if records else self._firsts[tp]
        return max(behind, self._ends[tp])

    def _finish(self, transaction: "Transaction") -> None:
        """Reserve an offset for the marker after the records of a transaction."""
        for topic, record in transaction.sent:
            self._ends[topic, transaction.partition] = record.offset + 2

    async def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset, and the offset after the last committed record.

        A transaction marker counts as a record.
        """
        tp = (topic, partition)
        return self._firsts[tp], self.next_offset(tp)

    async def topic_ids(self, topics: Sequence[str]) -> TopicIds:
        """Return the ids of the topics. `delete` changes the id of a topic."""
        return {topic: self.topic_id(topic) for topic in topics}

    def topic_id(self, topic: str) -> str:
        """Return the topic's id. `delete` changes it."""
        return f"{topic}:{self._deleted[topic]}"

    async def read(
        self, topic: str, partition: int, start: int, end: int
    ) -> AsyncIterator[Sequence[LogRecord]]:
        """Yield the records of [start, end) in small batches.

        Raises:
            LogMismatch: `start` is before the first offset, so deleted records would be missing.
        """
        if start < self._firsts[topic, partition]:
            first = self._firsts[topic, partition]
            problem = f"{topic}[{partition}]@{start}: out of range; the first offset is {first}"
            raise LogMismatch(problem)
        found = [r for r in self.topics[topic, partition] if start <= r.offset < end]
        for index in range(0, len(found), READ_BATCH):
            yield found[index : index + READ_BATCH]


class Transaction:
    """The records of an open transaction, in the order of sending. No reader gets them yet."""

    def __init__(self, broker: MemoryBroker, partition: int) -> None:
        self._broker = broker
        self._next: dict[str, int] = {}
        self.partition = partition
        self.sent: list[tuple[str, LogRecord]] = []

    @property
    def positions(self) -> Positions:
        """Return the offset after each topic's last record. The commit writes its marker there."""
        return dict(self._next)

    def append(self, send: Send) -> None:
        """Append a record after the last offset of its topic."""
        offset = self._next.get(send.topic)
        if offset is None:
            offset = self._broker.next_offset((send.topic, self.partition))
        self._next[send.topic] = offset + 1
        self.sent.append((send.topic, LogRecord(offset, send.key, send.value, send.headers)))


class MemoryWriter:
    """The writes of one owner of one partition, until another owner fences it."""

    def __init__(self, broker: MemoryBroker, epoch: int, before_effect: EffectHook) -> None:
        self._broker = broker
        self._epoch = epoch
        self._before_effect = before_effect

    def is_fenced(self, partition: int) -> bool:
        """Return True if a later owner has initialised the partition's producer."""
        return self._broker.epochs[partition] != self._epoch

    async def acknowledged(self, partition: int, stages: Sequence[Stage]) -> Positions:
        """Commit the records of all stages in one transaction.

        Return the offset after the last record of each topic. The hook is called before the begin,
        each send and the commit, and once after the commit.

        Raises:
            Fenced: another owner initialised the producer before one of these steps.
        """
        await self._may(partition, "begin")
        transaction = self._broker.begin(partition)
        for stage in stages:
            for send in stage:
                await self._may(partition, f"send {send.topic}")
                transaction.append(send)
        await self._may(partition, "commit")
        self._broker.commit(transaction)
        await self._before_effect("committed")
        return transaction.positions

    async def _may(self, partition: int, effect: str) -> None:
        await self._before_effect(effect)
        if self.is_fenced(partition):
            problem = f"partition {partition}: epoch {self._epoch} is not the newest"
            raise Fenced(problem)
