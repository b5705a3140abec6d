"""The implementation of `Broker` for Kafka: one transactional producer per partition.

A new owner of a partition initialises its producer first. From then on the broker refuses the
former owner's writes, however long that process was paused. The generation number of the consumer
group gives no such protection. A process that was paused longer than its session may write before
it learns that its partitions were reassigned.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from aiokafka import AIOKafkaProducer
from aiokafka.errors import ProducerFenced

from cdc.contracts.topics import LARGEST_RECORD_BYTES
from streams.engine.mismatch import REPAIR, LogMismatch
from streams.engine.records import Fenced, Positions, Send, Stage

BATCH_BYTES = 262_144
# The broker's limit for levels and rejected records. The producer checks a batch before
# compression, the broker after compression.
REQUEST_BYTES = LARGEST_RECORD_BYTES
# The broker aborts a transaction that is open for longer. A new owner's initialisation aborts it at
# once, so readers wait this long only if there is no new owner.
TRANSACTION_TIMEOUT_MS = 60_000
REQUEST_TIMEOUT_MS = 30_000
# Time limit of a whole transaction. The broker aborts the transaction earlier. But without this
# limit, a producer that waits for in-sync replicas would retry for ever.
ANSWER_S = 90.0


class Answer(NamedTuple):
    """The offsets [begin, end) that the broker gave the records of a batch in `topic`."""

    topic: str
    begin: int
    end: int


class PartitionProducers:
    """A `Broker` for the partitions that this process owns.

    `known_ends` takes a partition. It returns, by topic, the offset after the last record that the
    partition's state includes.
    """

    def __init__(
        self,
        bootstrap: str,
        app_id: str,
        known_ends: Callable[[int], Positions] = lambda _partition: {},
    ) -> None:
        self._bootstrap = bootstrap
        self._known_ends = known_ends
        self._app_id = app_id
        self._producers: dict[int, AIOKafkaProducer] = {}
        self.committed = 0  # transactions of all partitions
        self.committing_s = 0.0  # seconds from begin to commit, summed over all transactions

    async def own(self, partitions: Iterable[int]) -> None:
        """Initialise the producers of `partitions`, which fences their former owners."""
        await asyncio.gather(*(self._own(partition) for partition in partitions))

    async def _own(self, partition: int) -> None:
        await self.disown([partition])
        producer = AIOKafkaProducer(
            bootstrap_servers=self._bootstrap,
            acks="all",
            enable_idempotence=True,
            transactional_id=f"{self._app_id}-{partition}",
            transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
            linger_ms=0,  # batches are built here; waiting for more would only add latency
            max_batch_size=BATCH_BYTES,
            max_request_size=REQUEST_BYTES,
            # aiokafka's lz4 takes five times as long, because it compresses at its slowest level.
            compression_type="zstd",
            request_timeout_ms=REQUEST_TIMEOUT_MS,
        )
        await producer.start()
        self._producers[partition] = producer

    async def disown(self, partitions: Iterable[int]) -> None:
        """Close the producers of `partitions`."""
        gone = [self._producers.pop(p) for p in list(partitions) if p in self._producers]
        await asyncio.gather(*(producer.stop() for producer in gone))

    async def close(self) -> None:
        """Close all producers."""
        await self.disown(list(self._producers))

    async def acknowledged(self, partition: int, stages: Sequence[Stage]) -> Positions:
        """Write all stages in one transaction. Return each topic's offset after its last record.

        A stage is a list of records that must become visible before those of the next stage. Here
        all become visible at the commit, so no stage waits for the previous one. A small
        transaction then takes three round trips instead of seven.

        Raises:
            Fenced: another worker owns the partition.
            LogMismatch: a topic has lost records that the state includes; nothing is committed.
            KafkaError: the broker refuses the transaction.
            TimeoutError: the transaction is not committed in 90 s, for example for lack of in-sync
                replicas.
        """
        producer = self._producers[partition]
        sends = [send for stage in stages for send in stage]
        began = time.perf_counter()
        try:
            async with asyncio.timeout(ANSWER_S):
                await producer.begin_transaction()
                answers = await _acknowledge(producer, partition, sends)
                _refuse_lost_end(partition, self._known_ends(partition), _beginnings(answers))
                await producer.commit_transaction()
            self.committed += 1
            self.committing_s += time.perf_counter() - began
        except ProducerFenced as error:
            problem = (
                f"partition {partition}: another worker owns {self._app_id}-{partition}, or the "
                f"broker has ended a transaction after {TRANSACTION_TIMEOUT_MS // 1000} s"
            )
            raise Fenced(problem) from error
        except TimeoutError as error:
            problem = (
                f"partition {partition}: the broker accepted no transaction for {ANSWER_S:g} s"
            )
            raise TimeoutError(problem) from error
        return _positions(answers)


async def _acknowledge(producer: AIOKafkaProducer, partition: int, stage: Stage) -> list[Answer]:
    by_topic: dict[str, list[Send]] = {}
    for send in stage:
        by_topic.setdefault(send.topic, []).append(send)
    pending: list[tuple[str, int, Any]] = []
    for topic, sends in by_topic.items():
        for batch in _batches(producer, sends):
            future = await producer.send_batch(batch, topic, partition=partition)
            pending.append((topic, batch.record_count(), future))
    await asyncio.gather(*(future for _, _, future in pending))
    answers = ((topic, records, future.result()) for topic, records, future in pending)
    return [
        Answer(topic, answer.offset, answer.offset + records)
        for topic, records, answer in answers
        if answer is not None and answer.offset >= 0  # a batch that was retried may have no offset
    ]


def _refuse_lost_end(partition: int, known: Positions, beginnings: Positions) -> None:
    """Raise `LogMismatch` if new records got offsets below those that the state includes.

    Such offsets mean that the topic has lost records. Either the topic was created again and starts
    at 0, or a broker lost the topic's last records in a power failure. If the worker committed the
    new records, the next restore would be incomplete.
    """
    for topic, begin in beginnings.items():
        if begin < known.get(topic, 0):
            problem = (
                f"the state includes {topic}[{partition}] up to offset {known[topic]}, but a new "
                f"record got offset {begin}: the topic was recreated, or has lost its last "
                f"records. Nothing was committed; {REPAIR}"
            )
            raise LogMismatch(problem)


def _beginnings(answers: Iterable[Answer]) -> dict[str, int]:
    found: dict[str, int] = {}
    for answer in answers:
        found[answer.topic] = min(answer.begin, found.get(answer.topic, answer.begin))
    return found


def _positions(answers: Iterable[Answer]) -> dict[str, int]:
    return {answer.topic: answer.end for answer in answers}


def _batches(producer: AIOKafkaProducer, sends: Sequence[Send]) -> Iterator[Any]:
    batch = producer.create_batch()
    for send in sends:
        if _append(batch, send) is None:
            yield batch
            batch = producer.create_batch()
            _append(batch, send)
    yield batch


def _append(batch: Any, send: Send) -> object:  # noqa: ANN401 -- aiokafka has no types
    """Append the record, or return None if the batch is full. An empty batch takes any record."""
    return batch.append(timestamp=None, key=send.key, value=send.value, headers=list(send.headers))
