"""Read topics from explicit offsets, without a consumer group.

Callers store offsets with their results. A consumer group would also store offsets in the broker,
which could contradict the written files or rows.
"""

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from cdc.capture.admin import topic_ids
from cdc.contracts.versions import UnreadableRecord

TIMEOUT_S: Final = 30.0
_LATER_S: Final = 10.0  # added to TIMEOUT_S, so that the client's own error names the cause first
_POLL_S: Final = 0.25
_BATCH: Final = 5000
_WARNINGS: Final = 4  # syslog level; the client's notices would mix with a command's output
_END_OF_PARTITION: Final = KafkaError._PARTITION_EOF  # noqa: SLF001 -- public in spite of its name


class TopicUnreadable(RuntimeError):
    """A topic was not read to the requested offsets in time, so the caller lacks records."""


def consumer(bootstrap: str, *, fetch_wait_ms: int = 50, fetch_bytes: int = 1) -> Consumer:
    """Return a consumer that reads committed records only and commits nothing.

    The broker answers a fetch as soon as it has `fetch_bytes` of new records, or after
    `fetch_wait_ms`. With a short wait the client notices the end of a partition soon. With a long
    wait an idle reader sends fewer requests.
    """
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "inventory-analytics",  # required by the client; nothing is stored
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",  # a missing offset means lost records; don't skip them
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "log_level": _WARNINGS,
            "fetch.wait.max.ms": fetch_wait_ms,
            "fetch.min.bytes": fetch_bytes,
            "queued.max.messages.kbytes": 65_536,  # the default would let the client buffer 1 GB
        }
    )


@contextmanager
def with_position(message: Any) -> Iterator[None]:  # noqa: ANN401 -- the client has no types
    """Add topic, partition and offset of `message` to an `UnreadableRecord` raised in the block."""
    try:
        yield
    except UnreadableRecord as unreadable:
        position = message.topic(), message.partition(), message.offset()
        raise unreadable.at(*position) from unreadable


def end_offsets(bootstrap: str, topic: str, partitions: int) -> dict[int, int]:
    """Return each partition's end: `read_committed` readers get only records before this offset."""
    return _offsets(bootstrap, topic, partitions, OffsetSpec.latest())


def start_offsets(bootstrap: str, topic: str, partitions: int) -> dict[int, int]:
    """Return for each partition the first offset that still exists."""
    return _offsets(bootstrap, topic, partitions, OffsetSpec.earliest())


def admin_client(bootstrap: str) -> AdminClient:
    """Return a client for requests about topics."""
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": _WARNINGS})


def topic_id(bootstrap: str, topic: str) -> str:
    """Return the id that the broker gave the topic; a recreated topic has another id.

    Raises:
        KafkaException: there is no such topic, or no broker.
    """
    found = topic_ids(admin_client(bootstrap), [topic], timeout_s=TIMEOUT_S)
    if topic not in found:
        raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    return found[topic]


def _offsets(bootstrap: str, topic: str, partitions: int, spec: OffsetSpec) -> dict[int, int]:
    admin = admin_client(bootstrap)
    request = {TopicPartition(topic, number): spec for number in range(partitions)}
    answers = admin.list_offsets(
        request,
        isolation_level=IsolationLevel.READ_COMMITTED,
        request_timeout=TIMEOUT_S,
    )
    return {
        key.partition: answer.result(TIMEOUT_S + _LATER_S).offset for key, answer in answers.items()
    }


def records(client: Consumer, *, wait_s: float = _POLL_S) -> list[Any]:
    """Return the messages that have arrived, including end-of-partition marks.

    Raises:
        KafkaException: a message has an error other than the end of a partition.
    """
    messages: list[Any] = client.consume(num_messages=_BATCH, timeout=wait_s)
    for message in messages:
        error = message.error()
        if error is not None and error.code() != _END_OF_PARTITION:
            raise KafkaException(error)
    return messages


@dataclass(slots=True)
class Tail:
    """A reader of a topic. Each read yields the new records up to the topic's current end."""

    bootstrap: str
    topic: str
    partitions: int
    next_offsets: dict[int, int] = field(default_factory=dict)
    last_offsets: dict[int, int] = field(default_factory=dict)  # of records, not markers
    clock: Callable[[], float] = time.monotonic

    def read(self, *, deadline: float) -> Iterator[Any]:
        """Yield messages up to the topic's current end, in offset order of each partition."""
        ends = end_offsets(self.bootstrap, self.topic, self.partitions)
        yield from self.read_until(ends, deadline=deadline)

    def read_until(
        self, ends: Mapping[int, int], *, deadline: float | None = None
    ) -> Generator[Any, None, None]:
        """Yield messages before `ends`. Without `deadline`, wait as long as messages arrive.

        Transaction markers and compaction leave gaps in the offsets. So a partition is complete
        once the client reports its end, or returns a record at or after `ends`.

        Raises:
            TopicUnreadable: `deadline` passed. Or there is no `deadline`, and no message came for
                `TIMEOUT_S`.
        """
        open_partitions = {
            number for number, end in ends.items() if self.next_offsets.get(number, 0) < end
        }
        if not open_partitions:
            return
        client = consumer(self.bootstrap)
        try:
            client.assign([self._start(number) for number in sorted(open_partitions)])
            limit = self.clock() + TIMEOUT_S if deadline is None else deadline
            while open_partitions:
                before = dict(self.next_offsets)
                yield from self._some(client, ends, open_partitions)
                if deadline is None and self.next_offsets != before:
                    limit = self.clock() + TIMEOUT_S
                self._check(open_partitions, limit)
        finally:
            client.close()

    def _some(self, client: Consumer, ends: Mapping[int, int], still: set[int]) -> Iterator[Any]:
        for message in records(client):
            number, offset = message.partition(), message.offset()
            if number not in still:
                continue
            if message.error() is not None:
                self.next_offsets[number] = max(self.next_offsets.get(number, 0), offset)
            elif offset < ends[number]:
                self.next_offsets[number] = offset + 1
                self.last_offsets[number] = offset
                yield message
            else:
                self.next_offsets[number] = max(self.next_offsets.get(number, 0), ends[number])
            if self.next_offsets[number] >= ends[number]:
                still.discard(number)
                client.pause([TopicPartition(self.topic, number)])

    def _start(self, number: int) -> TopicPartition:
        known = self.next_offsets.get(number)
        return TopicPartition(self.topic, number, OFFSET_BEGINNING if known is None else known)

    def _check(self, still: set[int], deadline: float) -> None:
        if still and self.clock() > deadline:
            problem = f"{self.topic}: partitions {sorted(still)} not read to their end in time"
            raise TopicUnreadable(problem)
