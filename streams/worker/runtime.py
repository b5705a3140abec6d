"""A worker without Faust: batches of messages in, acknowledged chunks out, and the way it dies.

Faust acknowledges a batch whether or not an exception left the agent, and would commit offsets of
work that never happened. So nothing may leave `handle`: whatever goes wrong ends the process before
the batch is acknowledged, and the supervisor starts it again at the last committed chunk.
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
from streams.endings import NEW_GENERATION, Ending, way_out_of
from streams.engine.kafka_log import KafkaLog, ReadStalled
from streams.engine.loop import Gap, handle_chunk, republish_open
from streams.engine.mismatch import LogMismatch, refuse_other_counts
from streams.engine.ownership import Ownership
from streams.engine.records import Fenced, Positions, SourceRecord, TopicIds, unbroken
from streams.engine.store import OwnedPartition
from streams.engine.transactions import PartitionProducers
from streams.engine.undecodable import SchemaBreak
from streams.engine.watchdog import Watchdog
from streams.query.metrics import Metrics
from streams.settings import WorkerSettings
from streams.worker.gaps import Gaps
from streams.worker.keeper import Keeper
from streams.worker.origins import ORIGINS, refuse_made_anew

RESTORE_STALL_S = 120.0
NOTHING_KNOWN: Final[TopicIds] = MappingProxyType({})

log = structlog.get_logger(__name__)


class Message(Protocol):
    """What the engine needs of a consumed message."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


class Stuck(Exception):
    """Work is there and nothing moves."""


class AddressTaken(Exception):
    """The worker can't answer at its address: another process does, or the machine has no such."""


_ENDINGS: Sequence[tuple[type[BaseException], Ending]] = (
    (UnreadableRecord, Ending.UNREADABLE),
    (LogMismatch, Ending.LOG_MISMATCH),
    (OffsetOutOfRangeError, Ending.LOG_MISMATCH),  # of a reader that chooses no other offset
    (UnknownTopicOrPartitionError, Ending.LOG_MISMATCH),
    (Fenced, Ending.FENCED),
    (ProducerFenced, Ending.FENCED),
    (SchemaBreak, Ending.SCHEMA_BREAK),
    (BrokenInvariant, Ending.BROKEN_INVARIANT),
    (Stuck, Ending.STUCK),
    (KafkaError, Ending.BROKER),
    (KafkaException, Ending.BROKER),
    (ReadStalled, Ending.BROKER),
    (TimeoutError, Ending.BROKER),  # of a client that waits for no answer of its own
    (ConnectionError, Ending.BROKER),
    (OSError, Ending.DISK),  # behind the two above, which are kinds of it
)


def ending_of(error: BaseException | None) -> Ending:
    """The exit code for what has ended a worker."""
    return next((code for kind, code in _ENDINGS if isinstance(error, kind)), Ending.FAILED)


def repair_of(error: BaseException | None) -> str:
    """The command that helps against what has ended a worker; nothing if none does."""
    return str(getattr(error, "repair", way_out_of(ending_of(error))))


def die(event: str, error: BaseException | None = None, **fields: object) -> Never:
    """Say why and end the process at once, before anything can be acknowledged.

    It ends too where nothing can be said, because the disk of the log is full.
    """
    code = ending_of(error)
    problem = "" if error is None else str(error) or repr(error)  # a time-out has no words
    told = {"problem": problem, "exit_code": int(code), "repair": repair_of(error)}
    try:
        log.critical(event, exc_info=error, **told, **fields)
    finally:
        os._exit(code)


class Runtime:
    """Everything one worker owns."""

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
        """A reader of its own for whoever needs one."""
        return KafkaLog(self.settings.kafka_bootstrap)

    async def handle(self, messages: Iterable[Message]) -> None:
        """Fold a batch of any partitions; returns when all of it is acknowledged."""
        chunks: dict[int, list[SourceRecord]] = {}
        for message in messages:
            record = SourceRecord(message.offset, message.key, message.value)
            chunks.setdefault(message.partition, []).append(record)
        try:
            await asyncio.gather(*(self.handle_chunk(p, chunk) for p, chunk in chunks.items()))
        except BaseException as error:  # noqa: BLE001 -- the edge: nothing may be acknowledged
            die("chunk failed", error)

    async def ready(self, partition: int) -> bool:
        """Wait until the partition is restored; False if it is not ours any more."""
        return await self.ownership.owned(partition) is not None

    async def handle_chunk(self, partition: int, chunk: Sequence[SourceRecord]) -> bool:
        """Fold a chunk of one partition; True once it is acknowledged, False if it isn't ours."""
        owned = await self.ownership.owned(partition)
        if owned is None:
            # The next owner goes on at its changelog's progress, not at the group's offset, so a
            # batch that a rebalance overtook may be left alone even though Faust acknowledges it.
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
        """Save and close everything; call it when no chunk is in work any more."""
        await self.keeper.stop()
        await self.revoked()
        await self.producers.close()

    async def republish(self) -> None:
        """Send open decisions again, in case a consumer lost them."""
        try:
            await self.send_open_decisions()
        except BaseException as error:  # noqa: BLE001 -- a timer's edge; a broken producer ends us
            die("open decisions could not be sent again", error)

    async def send_open_decisions(self) -> None:
        """The same for a caller that ends the process itself if it fails."""
        for owned in list(self.ownership.ready.values()):
            async with owned.lock:
                if self._is_ready(owned):
                    await self._send_open(owned)

    async def _send_open(self, owned: OwnedPartition) -> None:
        self.metrics.republished(await republish_open(owned, self.producers))

    async def revoked(self) -> None:
        """Every partition is taken away; call it when no chunk of the consumer is in work."""
        await self.ownership.revoked()
        await self.gaps.idle()

    async def look_for_gaps(self) -> None:
        """Read what no consumer will bring, as far as the last inspection has seen the topic."""
        for partition, owned in list(self.ownership.ready.items()):
            end = self.ends.get(partition)
            if end is not None:
                await self.gaps.look(owned, end, self._is_ready)

    async def inspect(self) -> None:
        """Refresh gauges, and end the process when work is there and nothing moves.

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
                # The place was read before the bounds were: both only move on.
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
    """End the process if the source topic doesn't hold the place where it goes on.

    The group's consumer would begin at another offset without a word.
    """
    if not first <= place <= end:
        problem = (
            f"{STOCK_EVENTS}[{partition}] has offsets {first}..{end}, but this worker goes on at "
            f"{place}: it was made anew, or cut off before it was read"
        )
        die("the source topic is another", LogMismatch(problem, NEW_GENERATION))
