"""The log that the sinks read: facts of a generated retailer, and the records that workers write.

The workers' engine folds the facts in this process. It writes the resulting records into the
partition of their facts, in the order and with the headers of a worker. The records are not in
transactions. So no transaction markers take offsets, and an end offset is the number of records
in the partition.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol
from zlib import crc32

from confluent_kafka import KafkaError, Producer

from bench.errors import BenchFailed
from bench.fold_log import Event
from cdc.contracts.decisions import decode_price, decode_reorder
from cdc.contracts.partition import partition_of
from cdc.contracts.state import decode_window
from cdc.contracts.topics import (
    PARTITIONS,
    PRICE_EVENTS,
    REORDER_EVENTS,
    SALES_WINDOWS_CHANGELOG,
    STOCK_EVENTS,
)
from inventory.fold.partition import Partition
from streams.engine.loop import handle_chunk
from streams.engine.records import Positions, Send, SourceRecord, Stage
from streams.engine.restore import START
from streams.engine.store import OwnedPartition
from streams.settings import WorkerSettings

GENERATION: Final = 1
_CHUNK: Final[int] = WorkerSettings.model_fields["chunk_records"].default
_FLUSHED_S: Final = 120.0


class Writer(Protocol):
    """A writer of records into partitions of topics."""

    def write(self, partition: int, send: Send) -> None:
        """Write one record."""
        ...


class KafkaWriter:
    """A writer into a broker."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True}
            | {"compression.type": "zstd", "linger.ms": 20, "log_level": 3}
            | {"message.max.bytes": 8 << 20}
        )
        self._failed: list[KafkaError] = []

    def write(self, partition: int, send: Send) -> None:
        """Write one record, and wait while the client's buffer is full."""
        headers = list(send.headers)
        while True:
            try:
                self._producer.produce(
                    send.topic,
                    send.value,
                    send.key,
                    partition=partition,
                    headers=headers,
                    on_delivery=self._delivered,
                )
                break
            except BufferError:
                self._producer.poll(0.1)
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait until the broker has acknowledged all records.

        Raises:
            BenchFailed: the broker refused a record, or didn't answer in time.
        """
        left = self._producer.flush(_FLUSHED_S)
        if self._failed or left:
            problem = f"{len(self._failed)} records of the log were refused, {left} unanswered"
            raise BenchFailed(problem)

    def _delivered(self, error: KafkaError | None, _message: object) -> None:
        if error is not None:
            self._failed.append(error)


@dataclass(slots=True)
class MadeLog:
    """The end offset of each topic and partition, and the expected results of the sinks.

    `checksums` has the checksum of each partition's facts. `on_hand_units` are the units of each
    key's last level. `windows` has the keys of window rows that had a sale or return line.
    `reorders` and `prices` have the ids of decisions.
    """

    ends: Counter[tuple[str, int]] = field(default_factory=Counter)
    checksums: Counter[int] = field(default_factory=Counter)
    on_hand_units: dict[str, int] = field(default_factory=dict)
    windows: set[bytes] = field(default_factory=set)
    reorders: set[str] = field(default_factory=set)
    prices: set[str] = field(default_factory=set)

    @property
    def keys(self) -> int:
        """Number of keys."""
        return len(self.on_hand_units)

    @property
    def units(self) -> int:
        """Sum of on-hand over all keys."""
        return sum(self.on_hand_units.values())

    def records(self, *topics: str) -> int:
        """Return the number of records in `topics`."""
        return sum(end for (topic, _), end in self.ends.items() if topic in topics)


def checksum(offset: int, key: bytes | None, value: bytes | None) -> int:
    """Return the CRC-32 of a fact and its offset.

    The sum of the checksums of several facts doesn't depend on their order.
    """
    return crc32(value or b"", crc32(key or b"", crc32(offset.to_bytes(8, "little"))))


class _Broker:
    """The broker interface of the engine: it writes the records of a chunk and counts them."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.made = MadeLog()

    def write(self, partition: int, send: Send) -> int:
        """Write one record and return its offset."""
        self._writer.write(partition, send)
        self._note(send)
        offset = self.made.ends[send.topic, partition]
        self.made.ends[send.topic, partition] = offset + 1
        return offset

    async def acknowledged(self, partition: int, stages: Sequence[Stage]) -> Positions:
        """Write the records of a chunk; return {topic: offset after its last record}."""
        ends = {}
        for stage in stages:
            for send in stage:
                ends[send.topic] = self.write(partition, send) + 1
        return ends

    def _note(self, send: Send) -> None:
        made = self.made
        if send.topic == SALES_WINDOWS_CHANGELOG:
            if decode_window(send.value)[1].had_line:
                made.windows.add(send.key or b"")
        elif send.topic == REORDER_EVENTS:
            made.reorders.add(decode_reorder(send.value).output.id)
        elif send.topic == PRICE_EVENTS:
            made.prices.add(decode_price(send.value).output.id)


def write_log(events: Iterable[Event], writer: Writer) -> MadeLog:
    """Write the events into `stock.events`, fold them, and write the results as a worker does.

    Return what was written, with the results that each sink should have.
    """
    return asyncio.run(_folded(events, _Broker(writer)))


async def _folded(events: Iterable[Event], broker: _Broker) -> MadeLog:
    every = [OwnedPartition(n, Partition(GENERATION), START) for n in range(PARTITIONS)]
    waiting: list[list[SourceRecord]] = [[] for _ in every]
    for event in events:
        number = partition_of(event.key)
        offset = broker.write(number, Send(STOCK_EVENTS, event.key, event.value))
        broker.made.checksums[number] += checksum(offset, event.key, event.value)
        chunk = waiting[number]
        chunk.append(SourceRecord(offset, event.key, event.value))
        if len(chunk) == _CHUNK:
            await handle_chunk(chunk, every[number], broker)
            chunk.clear()
    for owned, chunk in zip(every, waiting, strict=True):
        await handle_chunk(chunk, owned, broker)
    made = broker.made
    for owned in every:
        for key, state in owned.published.items():
            made.on_hand_units[key] = state.stock.on_hand_units
    return made
