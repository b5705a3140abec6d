"""A confluent-kafka loop without any framework: consume, fold, produce, commit.

One process reads all partitions. The changelog is acknowledged before the offsets are committed.
There is no fencing of a second process, no rebalance, and there are no queries.
"""

import signal
from typing import Final, NoReturn

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from bench.peers.fold import PartitionSums
from bench.peers.programs.options import Options, read_options
from bench.peers.topics import clients_consumer, records
from cdc.contracts.topics import PARTITIONS

_BATCH: Final = 20_000
_WAIT_S: Final = 0.2


def main() -> None:
    """Run until SIGTERM."""
    signal.signal(signal.SIGTERM, end)
    options = read_options()
    sums = restore(options)
    consumer = clients_consumer(options.bootstrap, options.name)
    places = [TopicPartition(options.topic, number) for number in range(PARTITIONS)]
    known = consumer.committed(places, timeout=30)
    consumer.assign([TopicPartition(p.topic, p.partition, max(0, p.offset)) for p in known])
    producer = Producer(
        {"bootstrap.servers": options.bootstrap, "acks": "all", "compression.type": "lz4"}
        | {"enable.idempotence": True, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000}
    )
    first = True
    while True:
        messages = consumer.consume(_BATCH, _WAIT_S)
        if messages and first:
            options.mark_first()
            first = False
        if messages:
            handle(messages, sums, producer, options)
            commit(consumer, messages)


def end(*_: object) -> NoReturn:
    """Exit at once. After a restart, uncommitted records are read again."""
    raise SystemExit(0)


def restore(options: Options) -> list[PartitionSums]:
    """Return the state of every partition, restored from the changelogs."""
    sums = [PartitionSums() for _ in range(PARTITIONS)]
    for number, key, value in records(options.bootstrap, options.level_topic):
        if value is not None:
            sums[number].restore_level(key, value)
    for number, key, value in records(options.bootstrap, options.window_topic):
        if value is not None:
            sums[number].restore_window(key, value)
    return sums


def handle(
    messages: list[Message], sums: list[PartitionSums], producer: Producer, options: Options
) -> None:
    """Fold a batch and return once the broker has acknowledged its changelog."""
    batches: dict[int, list[tuple[int, bytes, bytes]]] = {}
    for message in messages:
        if message.error():
            raise KafkaException(message.error())
        batch = batches.setdefault(message.partition(), [])
        batch.append((message.offset(), message.key(), message.value()))
    for number, batch in batches.items():
        sums[number].fold(batch)
        levels, windows = sums[number].changed()
        for topic, rows in ((options.level_topic, levels), (options.window_topic, windows)):
            for key, value in rows:
                produce(producer, topic, number, key, value)
    if producer.flush(60):
        problem = "the changelog was not acknowledged within a minute"
        raise RuntimeError(problem)


def produce(producer: Producer, topic: str, number: int, key: bytes, value: bytes) -> None:
    """Produce one row; a refused row ends the process before anything is committed."""
    try:
        producer.produce(topic, value, key, number, on_delivery=refuse_failure)
    except BufferError:
        producer.flush(60)
        producer.produce(topic, value, key, number, on_delivery=refuse_failure)


def refuse_failure(error: KafkaError | None, _message: object) -> None:
    """Raise `KafkaException` if the broker has refused a row."""
    if error is not None:
        raise KafkaException(error)


def commit(consumer: Consumer, messages: list[Message]) -> None:
    """Commit the offset after the last message of each partition in a batch."""
    ends = {(m.topic(), m.partition()): m.offset() + 1 for m in messages}
    places = [TopicPartition(topic, number, end) for (topic, number), end in ends.items()]
    consumer.commit(offsets=places, asynchronous=False)


if __name__ == "__main__":
    main()
