"""A worker without Faust: batches of messages in, acknowledged chunks out, fatal errors.

Faust acknowledges a batch even if an exception left the agent, and would commit offsets of records
that were never handled. No exception may therefore leave `handle`: any error ends the process
before the batch is acknowledged. The supervisor restarts it at the last committed chunk.
"""

import asyncio
import os
import time
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import Final, Never, Protocol

import structlog
from aiokafka.errors import (
    KafkaError,
    OffsetOutOfRangeError,
    ProducerFenced,
    UnknownTopicOrPartitionError,
)
from confluent_kafka import KafkaException

from cdc.contracts.topics import APP_ID, STOCK_EVENTS
from cdc.contracts.versions import UnreadableRecord
from inventory.errors import BrokenInvariant
from streams.engine.kafka_log import KafkaLog, ReadStalled
from streams.engine.loop import Gap, handle_chunk, republish_open
from streams.engine.mismatch import LogMismatch, refuse_other_counts
from streams.engine.ownership import Ownership
from streams.engine.records import Fenced, Positions, SourceRecord, TopicIds, unbroken
from streams.engine.store import OwnedPartition
from streams.engine.transactions import PartitionProducers
from streams.engine.undecodable import SchemaBreak
from streams.engine.watchdog import Watchdog
from streams.exit_codes import NEW_GENERATION, Ending, way_out_of
from streams.query.metrics import Metrics
from streams.settings import WorkerSettings
from streams.worker.gaps import Gaps
from streams.worker.snapshot_writer import Keeper
from streams.worker.topic_identity import ORIGINS, refuse_made_anew

RESTORE_STALL_S = 120.0
NOTHING_KNOWN: Final[TopicIds] = MappingProxyType({})

log = structlog.get_logger(__name__)


class Message(Protocol):
    """The fields of a consumed message that the engine needs."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


class Stuck(Exception):
    """Records or partitions wait, and nothing moves."""


class AddressTaken(Exception):
    """The worker can't listen at its address: it is in use, or not of this machine."""


_ENDINGS: Sequence[tuple[type[BaseException], Ending]] = (
    (UnreadableRecord, Ending.UNREADABLE),
    (LogMismatch, Ending.LOG_MISMATCH),
    (OffsetOutOfRangeError, Ending.LOG_MISMATCH),  # of a reader without automatic offset reset
    (UnknownTopicOrPartitionError, Ending.LOG_MISMATCH),
    (Fenced, Ending.FENCED),
    (ProducerFenced, Ending.FENCED),
    (SchemaBreak, Ending.SCHEMA_BREAK),
    (BrokenInvariant, Ending.BROKEN_INVARIANT),
    (Stuck, Ending.STUCK),
    (KafkaError, Ending.BROKER),
    (KafkaException, Ending.BROKER),
    (ReadStalled, Ending.BROKER),
    (TimeoutError, Ending.BROKER),  # of a client that has no timeout of its own
    (ConnectionError, Ending.BROKER),
    (OSError, Ending.DISK),  # after the two above, which are subclasses
)


def ending_of(error: BaseException | None) -> Ending:
    """Return the exit code for the error that ended a worker."""
    return next((code for kind, code in _ENDINGS if isinstance(error, kind)), Ending.FAILED)


def repair_of(error: BaseException | None) -> str:
    """Return the repair command for the error that ended a worker, or "" if there is none."""
    return str(getattr(error, "repair", way_out_of(ending_of(error))))


def die(event: str, error: BaseException | None = None, **fields: object) -> Never:
    """Log the reason and end the process at once, before anything can be acknowledged.

    The process also ends if logging fails, for example on a full disk.
    """
    code = ending_of(error)
    problem = "" if error is None else str(error) or repr(error)  # a timeout has no text
    told = {"problem": problem, "exit_code": int(code), "repair": repair_of(error)}
    try:
        log.critical(event, exc_info=error, **told, **fields)
    finally:
        os._exit(code)


class Runtime:
    """The parts and the state of one worker."""

    def __init__(self, settings: WorkerSettings, origins: TopicIds = NOTHING_KNOWN) -> None:
        self.settings = settings
        self._origins = origins
        self.metrics = Metrics()
        self.producers = PartitionProducers(settings.kafka_bootstrap, APP_ID, self._known_ends)
        self.keeper = Keeper(
            settings.snapshot_dir, settings.generation, lambda: self.ownership.ready
        )
        self.ownership = Ownership(
            settings.generation,
            self.producers,
            self.open_log,
            lambda error: die("partition could not be taken over", error),
            self.keeper.find,
        )
        self.ownership.permille = settings.undecodable_permille
        self.watchdog = Watchdog(settings.stall_s, RESTORE_STALL_S)
        self.gaps = Gaps(self.open_log, self._fold, settings.chunk_records)
        self.ends: dict[int, int] = {}
        self.loop_seen_s = time.monotonic()

    def _known_ends(self, partition: int) -> Positions:
        owned = self.ownership.ready.get(partition)
        return {} if owned is None else owned.positions

    def _is_ready(self, owned: OwnedPartition) -> bool:
        return self.ownership.ready.get(owned.number) is owned

    def open_log(self) -> KafkaLog:
        """Return a new log reader for one user."""
        return KafkaLog(self.settings.kafka_bootstrap)

    async def handle(self, messages: Iterable[Message]) -> None:
        """Fold a batch of any partitions. Returns when all of it is acknowledged."""
        chunks: dict[int, list[SourceRecord]] = {}
        for message in messages:
            record = SourceRecord(message.offset, message.key, message.value)
            chunks.setdefault(message.partition, []).append(record)
        try:
            await asyncio.gather(*(self.handle_chunk(p, chunk) for p, chunk in chunks.items()))
        except BaseException as error:  # noqa: BLE001 -- the edge: nothing may be acknowledged
            die("chunk failed", error)

    async def ready(self, partition: int) -> bool:
        """Wait until the partition is restored. Return False if it is not assigned any more."""
        return await self.ownership.owned(partition) is not None

    async def handle_chunk(self, partition: int, chunk: Sequence[SourceRecord]) -> bool:
        """Fold a chunk of one partition. Return True once acknowledged, False if not assigned."""
        owned = await self.ownership.owned(partition)
        if owned is None:
            # The next owner continues at its changelog's progress, not at the group's offset. A
            # batch overtaken by a rebalance may therefore be skipped even though Faust acknowledges
            # it.
            self.metrics.skipped(len(chunk))
            return False
        async with owned.lock:
            if not self._is_ready(owned):
                self.metrics.skipped(len(chunk))
                return False
            self.gaps.fed(owned)
            for part in unbroken(chunk):
                try:
                    await self._fold(part, owned)
                except Gap:
                    await self.gaps.read(owned, part[0].offset)
                    await self._fold(part, owned)
        return True

    async def _fold(self, chunk: Sequence[SourceRecord], owned: OwnedPartition) -> None:
        began = time.perf_counter()
        effects = await handle_chunk(chunk, owned, self.producers)
        self.metrics.chunk(effects, time.perf_counter() - began)
        if effects.rejections:
            log.warning(
                "records rejected",
                partition=owned.number,
                records=len(effects.rejections),
                first_offset=effects.rejections[0].origin.offset,
                reasons=sorted({rejection.reason for rejection in effects.rejections}),
            )

    async def close(self) -> None:
        """Save and close everything. Call this when no chunk is in work any more."""
        await self.keeper.stop()
        await self.revoked()
        await self.producers.close()

    async def republish(self) -> None:
        """Send open decisions again, in case a consumer lost them. A failure ends the process."""
        try:
            await self.send_open_decisions()
        except BaseException as error:  # noqa: BLE001 -- a timer's edge: a broken producer is fatal
            die("open decisions could not be sent again", error)

    async def send_open_decisions(self) -> None:
        """Send open decisions again, for a caller that handles failures itself."""
        for owned in list(self.ownership.ready.values()):
            async with owned.lock:
                if self._is_ready(owned):
                    await self._send_open(owned)

    async def _send_open(self, owned: OwnedPartition) -> None:
        self.metrics.republished(await republish_open(owned, self.producers))

    async def revoked(self) -> None:
        """Give up every partition. Call this when no chunk of the consumer is in work."""
        await self.ownership.revoked()
        await self.gaps.idle()

    async def look_for_gaps(self) -> None:
        """Read records that no consumer will deliver, up to the end seen by the last inspection."""
        for partition, owned in list(self.ownership.ready.items()):
            end = self.ends.get(partition)
            if end is not None:
                await self.gaps.look(owned, end, self._is_ready)

    async def inspect(self) -> None:
        """Refresh gauges, and end the process if records or partitions wait and nothing moves.

        Raises:
            LogMismatch: a topic is not the one that this worker began with, or has grown.
        """
        self.loop_seen_s = time.monotonic()
        ownership = self.ownership
        ready = dict(ownership.ready)
        places = {partition: owned.next_offset for partition, owned in ready.items()}
        async with self.open_log() as reader:
            found = await reader.describe(ORIGINS)
            bounds = await reader.all_bounds(STOCK_EVENTS, ready)
        refuse_made_anew(self._origins, {name: topic.id for name, topic in found.items()})
        refuse_other_counts(
            {name: topic.partitions for name, topic in found.items()}, self.settings.partitions
        )
        for partition, (first, end) in bounds.items():
            self.ends[partition] = end
            if self._is_ready(ready[partition]):
                # The offset was read before the bounds were. Both only increase.
                _refuse_other_log(partition, places[partition], first, end)
        problem = self.watchdog.problem(
            time.monotonic(),
            {partition: owned.handled for partition, owned in ready.items()},
            {p: self.ends[p] - owned.next_offset for p, owned in ready.items()},
            restoring_since_s=None if ownership.settled else ownership.restored_at,
        )
        if problem is not None:
            die("worker is stuck", Stuck(problem))


def _refuse_other_log(partition: int, place: int, first: int, end: int) -> None:
    """End the process if the source topic doesn't hold the next offset.

    The group's consumer would silently continue at another offset.
    """
    if not first <= place <= end:
        problem = (
            f"{STOCK_EVENTS}[{partition}] has offsets {first}..{end}, but this worker goes on at "
            f"{place}: it was made anew, or cut off before it was read"
        )
        die("the source topic is another", LogMismatch(problem, NEW_GENERATION))
