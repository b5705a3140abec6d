"""The common job on this project's engine: a worker's consumer and producers, and a small fold.

As in a worker, Faust manages the group membership, and Faust's consumer delivers chunks. A
transactional producer for each partition fences former owners before the restore. A chunk is one
transaction. This program has no rules, dedupe ring, snapshots, queries or watchdog.
"""

import asyncio
import os
from collections.abc import Iterable, Sequence
from typing import Any, Final, Never

import faust
import structlog
import uvloop

from bench.peers.fold import PartitionSums
from bench.peers.programs.options import Options, read_options
from cdc.contracts.topics import PARTITIONS
from streams.engine.garbage import collect_rarely
from streams.engine.kafka_log import KafkaLog
from streams.engine.records import Send, SourceRecord
from streams.engine.transactions import PartitionProducers
from streams.worker.chunks import consume_chunks

# Ten times as many as in a worker, because this fold does much less per record. So a chunk takes
# about as long as in a worker.
CHUNK_RECORDS: Final = 10_000

log = structlog.get_logger(__name__)


def die(error: BaseException) -> Never:
    """End the process before anything can be committed."""
    log.critical("chunk failed", exc_info=error)
    os._exit(1)


class Partitions:
    """The assigned partitions. Lanes (queues of fetched records) call it as their `Handler`."""

    def __init__(self, options: Options) -> None:
        self.producers = PartitionProducers(options.bootstrap, options.name)
        self._options = options
        self._sums: dict[int, PartitionSums] = {}
        self._restored = asyncio.Event()
        self._begun = False

    async def revoke(self) -> None:
        """Drop all partitions."""
        self._restored.clear()
        self._sums = {}

    async def assign(self, numbers: Iterable[int]) -> None:
        """Fence former owners of partitions `numbers`; restore the state of these partitions."""
        owned = sorted(numbers)
        await self.producers.own(owned)
        async with KafkaLog(self._options.bootstrap) as reader:
            for number in owned:
                self._sums[number] = await self._read_sums(number, reader)
        self._restored.set()

    async def _read_sums(self, number: int, reader: KafkaLog) -> PartitionSums:
        sums = PartitionSums()
        for topic, take in (
            (self._options.level_topic, sums.restore_level),
            (self._options.window_topic, sums.restore_window),
        ):
            _, end = await reader.bounds(topic, number)
            async for batch in reader.read(topic, number, 0, end):
                for record in batch:
                    if record.key is not None and record.value is not None:
                        take(record.key, record.value)
        return sums

    async def ready(self, partition: int) -> bool:
        """Wait for the restore; return False if the partition is no longer assigned."""
        await self._restored.wait()
        return partition in self._sums

    async def handle_chunk(self, partition: int, chunk: Sequence[SourceRecord]) -> bool:
        """Fold a chunk and return once its changelog is committed."""
        if not self._begun:
            self._begun = True
            self._options.mark_first()
        sums = self._sums[partition]
        sums.fold((r.offset, r.key or b"", r.value or b"") for r in chunk)
        levels, windows = sums.changed()
        stages = [
            [Send(topic, key, value) for key, value in rows]
            for topic, rows in (
                (self._options.level_topic, levels),
                (self._options.window_topic, windows),
            )
            if rows
        ]
        await self.producers.acknowledged(partition, stages)
        return True


def build(options: Options) -> faust.App:
    """Return the app, configured like a worker's in `streams.app`."""
    app = faust.App(
        options.name,
        broker=f"kafka://{options.bootstrap}",
        store="memory://",
        datadir=str(options.directory / "faust"),
        topic_partitions=PARTITIONS,
        topic_allow_declare=False,
        topic_disable_leader=True,
        table_standby_replicas=0,
        key_serializer="raw",
        value_serializer="raw",
        stream_buffer_maxsize=65_536,
        broker_commit_interval=1.0,
        broker_session_timeout=6,
        broker_heartbeat_interval=2,
        broker_max_poll_records=5_000,
        consumer_auto_offset_reset="earliest",
        consumer_max_fetch_size=1 << 20,
        web_enabled=False,
    )
    partitions = Partitions(options)
    consume_chunks(
        app,
        hot_topic=options.topic,
        handler=partitions,
        most_records=CHUNK_RECORDS,
        on_failure=die,
    )
    _attach(app, partitions, options.topic)
    return app


def _attach(app: faust.App, partitions: Partitions, topic: str) -> None:
    # Without a table, Faust subscribes only if there is an agent.
    @app.agent(app.topic(topic, key_serializer="raw", value_serializer="raw"))
    async def subscribed(stream: faust.StreamT) -> None:
        async for _ in stream.noack().events():
            die(RuntimeError("a record arrived outside a chunk"))

    @app.on_partitions_revoked.connect
    async def revoked(_app: faust.App, *_: object, **_also: object) -> None:
        await partitions.revoke()

    @app.on_partitions_assigned.connect
    async def assigned(_app: faust.App, assigned: Any, **_: object) -> None:  # noqa: ANN401 -- no types
        try:
            await partitions.assign({place.partition for place in assigned if place.topic == topic})
        except BaseException as error:  # noqa: BLE001 -- the edge: Faust would only log it
            die(error)

    @app.on_before_shutdown.connect
    async def stop(_app: faust.App, **_: object) -> None:
        await partitions.producers.close()


def main() -> None:
    """Run until SIGTERM."""
    uvloop.install()
    collect_rarely()  # as a worker does
    worker = faust.Worker(build(read_options()), loglevel="WARNING", redirect_stdouts=False)
    worker.spinner = None
    worker.execute_from_commandline()


if __name__ == "__main__":
    main()
