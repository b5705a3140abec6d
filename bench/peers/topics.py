"""Topics of the benchmark: the input, produced once, and the outputs of the peers."""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Final

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from bench.errors import BenchFailed
from cdc.capture.admin import admin_client, create_topics
from cdc.contracts.partition import LIBRDKAFKA_PARTITIONER
from cdc.contracts.topics import PARTITIONS, Topic

_BATCH: Final = 20_000
_WAIT_S: Final = 0.1
_SILENCE_S: Final = 60.0
_KEPT: Final = {"cleanup.policy": "delete", "retention.ms": "-1", "compression.type": "producer"}
CHANGELOG: Final = {"cleanup.policy": "compact", "max.message.bytes": "8388608"}


def clients_consumer(bootstrap: str, group: str, **settings: object) -> Consumer:
    """Return a consumer without automatic commits that reads only committed records."""
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 10,
            "log_level": 2,
            **settings,
        }
    )


def create(bootstrap: str, names: Iterable[str], config: dict[str, str]) -> None:
    """Create topics with 12 partitions."""
    create_topics(bootstrap, [Topic(name, config=config) for name in names])


def produce(bootstrap: str, topic: str, records: Iterable[tuple[bytes, bytes]]) -> None:
    """Create `topic` and write `records` into it, partitioned as the connector does it.

    Raises:
        BenchFailed: the broker has not acknowledged all records.
    """
    create(bootstrap, [topic], _KEPT)
    producer = Producer(
        {"bootstrap.servers": bootstrap, "partitioner": LIBRDKAFKA_PARTITIONER}
        | {"acks": "all", "enable.idempotence": True, "compression.type": "lz4", "linger.ms": 20}
        | {"log_level": 3}
    )
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, _message: object) -> None:
        if error is not None:
            failed.append(error)

    for key, value in records:
        while True:
            try:
                producer.produce(topic, value, key, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    left = producer.flush(60)
    if failed or left:
        message = f"{topic}: {len(failed)} records refused, {left} unanswered"
        raise BenchFailed(message)


def ends(bootstrap: str, topic: str) -> dict[int, int]:
    """Return the end offset of each partition of `topic`."""
    consumer = clients_consumer(bootstrap, "bench-peers")
    found: dict[int, int] = {}
    try:
        for number in range(PARTITIONS):
            ask = partial(_end, consumer, TopicPartition(topic, number), found)
            # A topic that was just created may have no leader yet.
            until(ask, f"{topic}[{number}] has no leader")
    finally:
        consumer.close()
    return found


def _end(consumer: Consumer, source: TopicPartition, found: dict[int, int]) -> bool:
    try:
        found[source.partition] = consumer.get_watermark_offsets(source, timeout=30)[1]
    except KafkaException:
        return False
    return True


def delete(bootstrap: str, names: Iterable[str]) -> None:
    """Delete the topics that exist. Return when the broker no longer lists them."""
    client = shared_admin(bootstrap)
    gone = set(names) & client.list_topics(timeout=30).topics.keys()
    if gone:
        for future in client.delete_topics(list(gone), operation_timeout=30).values():
            future.result(timeout=60)
    until(
        lambda: not gone & client.list_topics(timeout=30).topics.keys(), f"{gone} are still there"
    )


def until(condition: Callable[[], bool], problem: str, timeout_s: float = 90.0) -> None:
    """Wait until `condition` is true; raise `BenchFailed` after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            message = f"after {timeout_s:.0f} s {problem}"
            raise BenchFailed(message)
        time.sleep(0.1)


@cache
def shared_admin(bootstrap: str) -> AdminClient:
    """Return an admin client that all calls share, because callers poll ten times a second."""
    return admin_client(bootstrap)


def records(bootstrap: str, topic: str) -> Iterator[tuple[int, bytes, bytes | None]]:
    """Yield partition, key and value of all committed records, in order within a partition.

    Raises:
        BenchFailed: no record arrived for a minute.
    """
    consumer = clients_consumer(bootstrap, "bench-peers", **{"enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    try:
        yield from _to_the_end(consumer, topic, set(range(PARTITIONS)))
    finally:
        consumer.close()


def _to_the_end(
    consumer: Consumer, topic: str, unfinished: set[int]
) -> Iterator[tuple[int, bytes, bytes | None]]:
    last_message_at = time.monotonic()
    while unfinished:
        messages = consumer.consume(_BATCH, _WAIT_S)
        for message in messages:
            error = message.error()
            if error is None:
                yield message.partition(), message.key(), message.value()
            # Transaction markers take the last offsets, so no record's offset shows the end.
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 -- its public name
                unfinished.discard(message.partition())
            else:
                raise KafkaException(error)
        if messages:
            last_message_at = time.monotonic()
        elif time.monotonic() - last_message_at > _SILENCE_S:
            problem = f"{topic}: no record for {_SILENCE_S:.0f} s before the end"
            raise BenchFailed(problem)


def latest(bootstrap: str, topic: str) -> dict[bytes, bytes]:
    """Return the last value of every key.

    Tombstones are ignored, because engines write them for old windows. So such a window keeps its
    last value.
    """
    return {key: value for _, key, value in records(bootstrap, topic) if value is not None}
