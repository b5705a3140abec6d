"""The common job on this project's engine: transactional producers, restore, a small fold.

What it is not: the worker's Faust shell. A consumer group of aiokafka hands whole polls over, each
partition's part becomes one chunk with one transaction, as in `streams.worker.runtime`.
"""

import asyncio
import signal
from typing import Final

import uvloop
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition

from bench.peers.fold import PartitionSums
from bench.peers.programs.options import Options, read_options
from streams.engine.kafka_log import KafkaLog
from streams.engine.records import Send
from streams.engine.transactions import PartitionProducers

_POLL_RECORDS: Final = 20_000
_POLL_MS: Final = 200


class Partitions(ConsumerRebalanceListener):
    """The partitions of this process: fenced first, restored then, folded last."""

    def __init__(self, options: Options) -> None:
        self.producers = PartitionProducers(options.bootstrap, options.name)
        self._options = options
        self._sums: dict[int, PartitionSums] = {}
        self._restored = asyncio.Event()
        self._begun = False

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Give partitions up."""
        self._restored.clear()
        await self.producers.disown([place.partition for place in revoked])
        self._sums = {}

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """Take partitions over."""
        numbers = [place.partition for place in assigned]
        await self.producers.own(numbers)
        async with KafkaLog(self._options.bootstrap) as log:
            for number in numbers:
                self._sums[number] = await self._read_sums(number, log)
        self._restored.set()

    async def _read_sums(self, number: int, log: KafkaLog) -> PartitionSums:
        sums = PartitionSums()
        for topic, take in (
            (self._options.level_topic, sums.restore_level),
            (self._options.window_topic, sums.restore_window),
        ):
            _, end = await log.bounds(topic, number)
            async for batch in log.read(topic, number, 0, end):
                for record in batch:
                    if record.key is not None and record.value is not None:
                        take(record.key, record.value)
        return sums

    async def handle(self, polled: dict[TopicPartition, list[ConsumerRecord]]) -> None:
        """Fold a poll and return once its changelogs are committed."""
        # aiokafka hands records over while the listener of the assignment is still at work.
        await self._restored.wait()
        if not self._begun:
            self._begun = True
            self._options.mark_first()
        chunks = ((place.partition, chunk) for place, chunk in polled.items())
        await asyncio.gather(*(self._handle(number, chunk) for number, chunk in chunks))

    async def _handle(self, number: int, chunk: list[ConsumerRecord]) -> None:
        sums = self._sums[number]
        sums.fold([(record.offset, record.key, record.value) for record in chunk])
        levels, windows = sums.changed()
        stages = [
            [Send(topic, key, value) for key, value in rows]
            for topic, rows in (
                (self._options.level_topic, levels),
                (self._options.window_topic, windows),
            )
            if rows
        ]
        await self.producers.acknowledged(number, stages)


async def run(options: Options) -> None:
    """Consume until SIGTERM."""
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    partitions = Partitions(options)
    consumer = AIOKafkaConsumer(
        bootstrap_servers=options.bootstrap,
        group_id=options.name,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        session_timeout_ms=6_000,
        heartbeat_interval_ms=2_000,
        max_partition_fetch_bytes=4 << 20,
        fetch_max_wait_ms=50,
    )
    consumer.subscribe([options.topic], listener=partitions)
    await consumer.start()
    while not stopping.is_set():
        polled = await consumer.getmany(timeout_ms=_POLL_MS, max_records=_POLL_RECORDS)
        if polled:
            await partitions.handle(polled)
            await consumer.commit({p: chunk[-1].offset + 1 for p, chunk in polled.items()})
    await consumer.stop()
    await partitions.producers.close()


def main() -> None:
    """Run the program."""
    uvloop.install()
    asyncio.run(run(read_options()))


if __name__ == "__main__":
    main()
