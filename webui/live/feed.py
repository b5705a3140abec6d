"""The consumer that copies the workers' changelog into the hub of a web process.

The consumer has no group, because every web process reads every partition. It reads only committed
records: a page must not show a number that a crash could revert. It starts at the read model's next
offsets. So a page that was rendered from the read model misses no later record.
"""

import asyncio
from typing import Any, Final

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from cdc.contracts.topics import ON_HAND_CHANGELOG
from webui.live.hub import Hub
from webui.live.newest import Newest

RETRY_S: Final = 1.0
POLL_MS: Final = 100
MOST_RECORDS: Final = 1000
LONGEST_FAILURE: Final = 300
# Heartbeats arrive each second. After 15 s without a record, the connection counts as lost.
SILENT_S: Final = 15.0

log = structlog.get_logger(__name__)


class Feed:
    """A changelog reader that runs as long as the web server and reconnects after failures."""

    def __init__(self, hub: Hub[Any], *, bootstrap: str, partitions: int) -> None:
        self._hub = hub
        self._bootstrap = bootstrap
        self._partitions = [TopicPartition(ON_HAND_CHANGELOG, n) for n in range(partitions)]
        self._next: dict[TopicPartition, int] = {}

    def begin_at(self, offsets: dict[int, int]) -> None:
        """Start these partitions at the read model's offsets instead of at their ends."""
        for partition, offset in offsets.items():
            self._next[TopicPartition(ON_HAND_CHANGELOG, partition)] = offset

    async def run(self) -> None:
        """Read until cancelled; log a failed connection and retry.

        Raises:
            UnreadableRecord: this code doesn't know a record's version. The error names topic and
                offset.
        """
        while True:
            try:
                await self._read()
            except (KafkaError, OSError, TimeoutError) as failure:
                log.warning(
                    "changelog feed lost its connection", error=repr(failure), retry_s=RETRY_S
                )
                text = f"lost the changelog: {type(failure).__name__}: {failure}"
                self._hub.note_failure(text[:LONGEST_FAILURE])
            finally:
                self._hub.connected = False
            await asyncio.sleep(RETRY_S)

    async def _read(self) -> None:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self._bootstrap,
            group_id=None,
            enable_auto_commit=False,
            # Workers write in transactions. Records of an aborted transaction must not be read.
            isolation_level="read_committed",
            auto_offset_reset="latest",
            request_timeout_ms=10_000,
            metadata_max_age_ms=30_000,
        )
        try:
            await consumer.start()
            consumer.assign(self._partitions)
            await self._seek(consumer)
            self._hub.connected = True
            log.info("changelog feed started", partitions=len(self._partitions))
            await self._publish_batches(consumer)
        finally:
            await consumer.stop()

    async def _seek(self, consumer: AIOKafkaConsumer) -> None:
        """Seek each partition to its next offset: after the last record read, or from `begin_at`.

        Without such an offset, seek to the end. If the broker has deleted the record at the offset,
        seek to the first retained record.
        """
        ends = await consumer.end_offsets(self._partitions)
        begins = await consumer.beginning_offsets(self._partitions)
        for partition in self._partitions:
            wanted = self._next.get(partition, ends[partition])
            offset = min(max(wanted, begins[partition]), ends[partition])
            consumer.seek(partition, offset)

    async def _publish_batches(self, consumer: AIOKafkaConsumer) -> None:
        loop = asyncio.get_running_loop()
        last_record_at = loop.time()
        newest = Newest(self._hub)
        wait_s = 0.0
        try:
            while True:
                # Sleep between two polls: each poll that returns records costs one fetch request.
                await asyncio.sleep(wait_s)
                batches = await consumer.getmany(timeout_ms=POLL_MS, max_records=MOST_RECORDS)
                for partition, records in batches.items():
                    for record in records:
                        newest.add(record)
                    self._next[partition] = records[-1].offset + 1
                    last_record_at = loop.time()
                is_behind = sum(map(len, batches.values())) == MOST_RECORDS
                # If no more records wait, publish now, even if the sleep ended a few ms too early.
                # Otherwise the records would wait for another sleep.
                if not is_behind or newest.wait_s(loop.time()) == 0:
                    newest.publish(loop.time())
                wait_s = 0.0 if is_behind else newest.wait_s(loop.time())
                if loop.time() - last_record_at > SILENT_S:
                    message = f"{ON_HAND_CHANGELOG}: no record for {SILENT_S} s"
                    raise TimeoutError(message)
        finally:
            # The next connection starts after these records, so the hub must get them now.
            newest.publish(loop.time())
