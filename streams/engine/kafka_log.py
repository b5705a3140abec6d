"""The implementation of `Log` for Kafka.

It reads committed records by offset, without a consumer group.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import cache
from threading import Lock
from types import TracebackType
from typing import Any, Self

from aiokafka import AIOKafkaConsumer, TopicPartition
from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from cdc.capture.admin import admin_client
from streams.engine.mismatch import LogMismatch, repair_of_topic, repair_phrase
from streams.engine.records import FoundTopic, LogRecord, TopicIds

FETCH_BYTES = 4 << 20
BATCH = 20_000
# Longest wait of one poll. aiokafka returns records at once, but after a transaction marker it
# waits this long. Nearly every range of a changelog ends with a marker, and a restore reads several
# ranges.
POLL_MS = 20
DESCRIBED_S = 30.0  # time limit of a request for topic ids and numbers of partitions
STALLED_AFTER_S = 60.0  # longest wait for the next record of a range


class ReadStalled(Exception):
    """A read got no record for a minute, although the topic has later offsets."""


class KafkaLog:
    """An implementation of `Log` for Kafka, used as an asynchronous context manager.

    Only one `read` may be in progress, so every user opens a log of its own.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",  # raise an error if an offset is out of range
            isolation_level="read_committed",
            max_partition_fetch_bytes=FETCH_BYTES,
            fetch_max_wait_ms=50,
        )

    async def __aenter__(self) -> Self:
        await self._consumer.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._consumer.stop()

    async def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset, and the offset after the last committed record.

        A transaction marker counts as a record.
        """
        return (await self.all_bounds(topic, [partition]))[partition]

    async def all_bounds(
        self, topic: str, partitions: Iterable[int]
    ) -> Mapping[int, tuple[int, int]]:
        """Return a map from partition number to the result of `bounds`.

        The call sends only two requests, whatever the number of partitions.
        """
        tps = [TopicPartition(topic, number) for number in partitions]
        first = await self._consumer.beginning_offsets(tps)
        end = await self._consumer.end_offsets(tps)
        return {tp.partition: (first[tp], end[tp]) for tp in tps}

    async def topic_ids(self, topics: Sequence[str]) -> TopicIds:
        """Return the ids that the broker gave the topics at their creation.

        Raises:
            LogMismatch: a topic does not exist.
            KafkaException: the broker does not answer.
        """
        return {name: found.id for name, found in (await self.describe(topics)).items()}

    async def describe(self, topics: Sequence[str]) -> Mapping[str, FoundTopic]:
        """Return id and number of partitions of each topic.

        Raises:
            LogMismatch: a topic does not exist.
            KafkaException: the broker does not answer.
        """
        return await asyncio.to_thread(_describe, self._bootstrap, topics)

    async def read(
        self, topic: str, partition: int, start: int, end: int
    ) -> AsyncIterator[Sequence[LogRecord]]:
        """Yield the records of [start, end), in order and in batches.

        The iteration ends when the consumer's position reaches `end`. So it also ends if the last
        offsets before `end` have no record to read: transaction markers, aborted records or
        compacted records.

        Raises:
            ReadStalled: no record arrived for a minute.
        """
        if start >= end:
            return
        tp = TopicPartition(topic, partition)
        self._consumer.assign([tp])
        self._consumer.seek(tp, start)
        loop = asyncio.get_running_loop()
        last_records_s = loop.time()
        position = start
        while position < end:
            found = await self._consumer.getmany(tp, timeout_ms=POLL_MS, max_records=BATCH)
            position = await self._consumer.position(tp)
            records = [
                LogRecord(r.offset, r.key, r.value, tuple(r.headers), r.timestamp)
                for r in found.get(tp, ())
                if r.offset < end
            ]
            if records:
                last_records_s = loop.time()
                yield records
            elif loop.time() - last_records_s > STALLED_AFTER_S:
                problem = (
                    f"{topic}[{partition}]: no record arrived for {STALLED_AFTER_S:g} s; "
                    f"the read is at offset {position} of {end}"
                )
                raise ReadStalled(problem)


def found_topics(client: AdminClient, topics: Sequence[str]) -> Mapping[str, FoundTopic]:
    """Return id and number of partitions of each topic.

    Raises:
        LogMismatch: a topic does not exist.
        KafkaException: the broker does not answer.
    """
    answers = client.describe_topics(TopicCollection(list(topics)), request_timeout=DESCRIBED_S)
    return {topic: _found(topic, answer) for topic, answer in answers.items()}


def _found(topic: str, answer: Any) -> FoundTopic:  # noqa: ANN401 -- no types in the client
    try:
        described = answer.result(DESCRIBED_S)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise
        problem = f"{topic} does not exist; {repair_phrase(topic)}"
        raise LogMismatch(problem, repair_of_topic(topic)) from error
    return FoundTopic(str(described.topic_id), len(described.partitions))


def _describe(bootstrap: str, topics: Sequence[str]) -> Mapping[str, FoundTopic]:
    """Return the id and the number of partitions of each topic, by librdkafka's client.

    aiokafka's client can't read topic ids.
    """
    return found_topics(_admin(bootstrap), topics)


_ONE_AT_A_TIME = Lock()


def _admin(bootstrap: str) -> AdminClient:
    """Return the process's only admin client.

    A lock protects its creation. Without it, threads that call at the same time would each create a
    client. `cache` would keep only one of them. The other clients might be closed before their
    requests are answered.
    """
    with _ONE_AT_A_TIME:
        return _kept_admin(bootstrap)


_kept_admin = cache(admin_client)
