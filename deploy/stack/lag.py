"""Lag of each reader, in records and in seconds.

The broker has the committed offsets of the workers, and the read model those of the sinks. The end
offset minus the committed offset is not the lag: transactions leave markers, which have offsets but
which consumers never receive. So if the two offsets of a partition differ, this module reads the
partition from its committed offset. A partition that returns no record up to its end isn't behind.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import psycopg
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from cdc.contracts.topics import APP_ID, PARTITIONS, STOCK_EVENTS

_TIMEOUT_S: Final = 5.0
_END_OF_PARTITION: Final = KafkaError._PARTITION_EOF  # noqa: SLF001 -- librdkafka's public code
_READ_S: Final = 5.0  # time to read the first record of every partition
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Lag:
    """Number of records that are not processed yet, and the age of the oldest one in seconds.

    The number also counts the transaction markers from the reader's offset to the end offset.
    """

    records: int
    seconds: float


def group_positions(bootstrap: str, group: str = APP_ID) -> dict[Place, int]:
    """Return a map from (topic, partition) to the committed offset of the workers' group.

    The offset is 0 for a partition without a committed one.
    """
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
    try:
        asked = [TopicPartition(STOCK_EVENTS, number) for number in range(PARTITIONS)]
        found = consumer.committed(asked, timeout=_TIMEOUT_S)
        return {(entry.topic, entry.partition): max(entry.offset, 0) for entry in found}
    finally:
        consumer.close()


def sink_positions(database_url: str) -> dict[str, dict[Place, int]]:
    """Return a map from sink to its next offsets: a map from (topic, partition) to offset.

    A sink stores its offsets in the transaction of the rows that it writes.
    """
    statement = "SELECT sink, topic, partition, next_offset FROM read_model.sink_position"
    found: dict[str, dict[Place, int]] = {}
    with psycopg.connect(database_url, connect_timeout=3, autocommit=True) as connection:
        for sink, topic, partition, offset in connection.execute(statement):
            found.setdefault(sink, {})[(topic, partition)] = offset
    return found


def lag_of(bootstrap: str, positions: Mapping[Place, int]) -> Lag:
    """Return the lag of one reader. `positions` has its next offset by topic and partition.

    The records are summed over the partitions. The seconds are those of the oldest record that was
    read.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "inventory-status",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    try:
        behind = _behind(consumer, positions)
        waiting, empty = _first_records(consumer, behind, positions)
        records = sum(count for place, count in behind.items() if place not in empty)
        return Lag(records, _oldest_age(waiting))
    finally:
        consumer.close()


def _behind(consumer: Consumer, positions: Mapping[Place, int]) -> dict[Place, int]:
    found: dict[Place, int] = {}
    for place, offset in positions.items():
        low, high = consumer.get_watermark_offsets(TopicPartition(*place), timeout=_TIMEOUT_S)
        if high > max(offset, low):
            found[place] = high - max(offset, low)
    return found


def _first_records(
    consumer: Consumer, behind: Mapping[Place, int], positions: Mapping[Place, int]
) -> tuple[list[Message], set[Place]]:
    """Return the first record of each partition in `behind`, and the partitions without a record.

    Each partition is read from its offset in `positions` on. A partition whose first record doesn't
    arrive within `_READ_S` is in neither result: it may have records.
    """
    consumer.assign([TopicPartition(*place, positions[place]) for place in behind])
    found: dict[Place, Message] = {}
    empty: set[Place] = set()
    deadline = time.monotonic() + _READ_S
    while len(found) + len(empty) < len(behind) and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is None:
            continue
        place = (message.topic(), message.partition())
        error = message.error()
        if error is None:
            found.setdefault(place, message)
        elif error.code() == _END_OF_PARTITION and place not in found:
            empty.add(place)
    return list(found.values()), empty


def _oldest_age(messages: Iterable[Message]) -> float:
    now_ms = time.time() * 1000
    stamps = [message.timestamp()[1] for message in messages]
    return round(max(0.0, now_ms - min(stamps)) / 1000, 3) if stamps else 0.0
