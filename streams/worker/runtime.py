"""The part of a worker that doesn't use Faust: chunks, periodic checks and fatal errors.

An error in a chunk ends the process before the chunk is acknowledged. The supervisor restarts the
process, which restores the state as it was after the last committed chunk.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import MappingProxyType
from typing import Final, Never

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
from cdc.sources import imported_hash
from inventory.errors import BrokenInvariant
from streams.engine.kafka_log import KafkaLog, ReadStalled
from streams.engine.loop import Gap, handle_chunk, republish_open
from streams.engine.mismatch import LogMismatch, UnfinishedPublication, refuse_other_counts
from streams.engine.ownership import Ownership
from streams.engine.records import (
    Fenced,
    Positions,
    SourceRecord,
    TopicIds,
    unbroken,
    with_small_replays,
)
from streams.engine.store import OwnedPartition
from streams.engine.transactions import PartitionProducers
from streams.engine.undecodable import SchemaBreak
from streams.engine.watchdog import Watchdog
from streams.exit_codes import EMPTY_RING, NEW_GENERATION, START_AGAIN, ExitCode, repair_of_code
from streams.query.metrics import Metrics
from streams.settings import SHADOW_PREFIX, WorkerSettings
from streams.worker.gaps import Gaps
from streams.worker.snapshot_writer import SnapshotWriter
from streams.worker.topic_identity import ORIGINS, refuse_recreated

RESTORE_STALL_S = 120.0
HAND_OVER_S = 3.0  # the supervisor kills the process after 10 s, and snapshots take up to 4 s
SENT_S = 1.0  # longest wait at a stop for open decisions that are being sent
LeaveGroup = Callable[[], Awaitable[None]]
NO_TOPIC_IDS: Final[TopicIds] = MappingProxyType({})

log = structlog.get_logger(__name__)


class Stuck(Exception):
    """Records or restores wait without progress, or the event loop is blocked."""


class AddressTaken(Exception):
    """The worker can't listen at its address, which is in use or not one of this machine's."""

    repair = START_AGAIN  # a start chooses another port if the former one is in use


_EXIT_CODES: Sequence[tuple[type[BaseException], ExitCode]] = (
    (UnreadableRecord, ExitCode.UNREADABLE),
    (LogMismatch, ExitCode.LOG_MISMATCH),
    (OffsetOutOfRangeError, ExitCode.LOG_MISMATCH),  # from `KafkaLog`, which has no offset reset
    (UnknownTopicOrPartitionError, ExitCode.LOG_MISMATCH),
    (Fenced, ExitCode.FENCED),
    (ProducerFenced, ExitCode.FENCED),
    (SchemaBreak, ExitCode.SCHEMA_BREAK),
    (BrokenInvariant, ExitCode.BROKEN_INVARIANT),
    (Stuck, ExitCode.STUCK),
    (KafkaError, ExitCode.BROKER),
    (KafkaException, ExitCode.BROKER),
    (ReadStalled, ExitCode.BROKER),
    (TimeoutError, ExitCode.BROKER),  # from `asyncio.timeout`, for clients without a timeout
    (ConnectionError, ExitCode.BROKER),
    (OSError, ExitCode.DISK),  # after its two subclasses above
)


def exit_code_of(error: BaseException | None) -> ExitCode:
    """Return the exit code for the error that ended a worker."""
    return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), ExitCode.FAILED)


def repair_of(error: BaseException | None) -> str:
    """Return the repair command for the error that ended a worker, or "" if there is none."""
    if type(error) is BrokenInvariant:  # raised by the rules, without a repair command
        return EMPTY_RING
    return str(getattr(error, "repair", repair_of_code(exit_code_of(error))))


def die(event: str, error: BaseException | None = None, **fields: object) -> Never:
    """Log the reason and end the process at once, before anything can be acknowledged.

    The process also ends if logging fails, for example on a full disk.
    """
    code = exit_code_of(error)
    problem = "" if error is None else str(error) or repr(error)  # a timeout has no text
    details = {"problem": problem, "exit_code": int(code), "repair": repair_of(error)}
    try:
        log.critical(event, exc_info=error, **details, **fields)
    finally:
        os._exit(code)


def die_of_takeover(worker_id: str, error: BaseException) -> None:
    """End the process because it could not take over a partition."""
    if isinstance(error, UnfinishedPublication) and not worker_id.startswith(SHADOW_PREFIX):
        error.repair = error.repair_of_own
    die("partition could not be taken over", error)


class Runtime:
    """The parts and the state of one worker."""

    def __init__(self, settings: WorkerSettings, origins: TopicIds = NO_TOPIC_IDS) -> None:
        self.settings = settings
        self._origins = origins
        self.metrics = Metrics()
        self.producers = PartitionProducers(settings.kafka_bootstrap, APP_ID, self._known_ends)
        self.snapshot_writer = SnapshotWriter(
            settings.snapshot_dir,
            settings.generation,
            lambda: self.ownership.ready,
            settings.all_snapshot_dirs,
        )
        self.ownership = Ownership(
            settings.generation,
            self.producers,
            self.open_log,
            lambda error: die_of_takeover(settings.worker_id, error),
            self.snapshot_writer.find,
        )
        self.ownership.permille = settings.undecodable_permille
        self.watchdog = Watchdog(settings.stall_s, RESTORE_STALL_S)
        self.gaps = Gaps(self.open_log, self._fold, settings.chunk_records)
        self.ends: dict[int, int] = {}
        self.loop_seen_s = time.monotonic()
        self.code = imported_hash()

    def _known_ends(self, partition: int) -> Positions:
        owned = self.ownership.ready.get(partition)
        return {} if owned is None else owned.positions

    def _is_ready(self, owned: OwnedPartition) -> bool:
        return self.ownership.ready.get(owned.number) is owned

    def open_log(self) -> KafkaLog:
        """Return a new reader of topics.

        Each caller needs a reader of its own, because a reader can do only one read at a time.
        """
        return KafkaLog(self.settings.kafka_bootstrap)

    async def ready(self, partition: int) -> bool:
        """Wait until the partition is restored. Return False if it is no longer assigned."""
        return await self.ownership.owned(partition) is not None

    async def handle_chunk(self, partition: int, chunk: Sequence[SourceRecord]) -> bool:
        """Fold a chunk. Return True once it is acknowledged, False if its partition was revoked."""
        owned = await self.ownership.owned(partition)
        if owned is None:
            # The next owner continues at the changelog's progress, not at the group's committed
            # offset. So this chunk of a revoked partition may be skipped.
            self.metrics.skipped(len(chunk))
            return False
        async with owned.lock:
            if not self._is_ready(owned):
                self.metrics.skipped(len(chunk))
                return False
            self.gaps.note_delivery(owned)
            for part in unbroken(chunk):
                for piece in with_small_replays(part, owned.restored_offset):
                    await self._fold_after_gap(piece, owned)
        return True

    async def _fold_after_gap(self, chunk: Sequence[SourceRecord], owned: OwnedPartition) -> None:
        """Fold the chunk. If records before it were not delivered, first read and fold these."""
        try:
            await self._fold(chunk, owned)
        except Gap:
            await self.gaps.read(owned, chunk[0].offset)
            await self._fold(chunk, owned)

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

    async def close(self, leave_group: LeaveGroup | None = None) -> None:
        """Save snapshots and close all producers. Call this when no chunk is being handled.

        With `leave_group`, first give all partitions up and call `leave_group`. Other workers then
        continue while this one saves its snapshots.
        """
        owned = list(self.ownership.ready.values())
        if leave_group is not None:
            await self._hand_over(leave_group)
        await self.snapshot_writer.stop(owned)
        await self.revoked()
        await _wait_until_sent(owned)
        await self.producers.close()

    async def _hand_over(self, leave_group: LeaveGroup) -> None:
        """Close all producers, then leave the group. Log a warning if that fails.

        After a failure, the group removes this member when the supervisor requests that, or when
        the member's session times out.
        """
        try:
            async with asyncio.timeout(HAND_OVER_S):
                await self.ownership.release()
                await leave_group()
        except (KafkaError, TimeoutError) as error:
            log.warning("the group was not left", error=repr(error))
        else:
            log.info("group left")

    async def republish(self) -> None:
        """Send open needs and price proposals again, in case a consumer lost them.

        A failure ends the process.
        """
        try:
            await self.send_open_decisions()
        except BaseException as error:  # noqa: BLE001 -- a timer's edge: a broken producer is fatal
            die("open decisions could not be sent again", error)

    async def send_open_decisions(self) -> None:
        """Send open needs and price proposals again. The caller handles failures."""
        for owned in list(self.ownership.ready.values()):
            async with owned.lock:
                if self._is_ready(owned):
                    await self._send_open(owned)

    async def _send_open(self, owned: OwnedPartition) -> None:
        self.metrics.republished(await republish_open(owned, self.producers))

    async def revoked(self) -> None:
        """Stop folds and queries of all partitions, and wait until no gap is being folded.

        Call this when no chunk of the consumer is being handled.
        """
        await self.ownership.revoked()
        await self.gaps.wait_until_done()

    async def check_gaps(self) -> None:
        """Read records that the consumer will not deliver.

        Read up to the end offsets that `inspect` found last.
        """
        for partition, owned in list(self.ownership.ready.items()):
            end = self.ends.get(partition)
            if end is not None:
                await self.gaps.check(owned, end, self._is_ready)

    async def inspect(self) -> None:
        """Read the end offsets of all ready partitions, and end the process if it is stuck.

        A process is stuck if records or restores wait without progress.

        Raises:
            LogMismatch: a topic was deleted and created again since the start of this worker, or
                has another number of partitions.
        """
        self.loop_seen_s = time.monotonic()
        ownership = self.ownership
        ready = dict(ownership.ready)
        next_offsets = {partition: owned.next_offset for partition, owned in ready.items()}
        async with self.open_log() as reader:
            found = await reader.describe(ORIGINS)
            bounds = await reader.all_bounds(STOCK_EVENTS, ready)
        refuse_recreated(self._origins, {name: topic.id for name, topic in found.items()})
        refuse_other_counts(
            {name: topic.partitions for name, topic in found.items()}, self.settings.partitions
        )
        for partition, (first, end) in bounds.items():
            self.ends[partition] = end
            if self._is_ready(ready[partition]):
                # The next offset was read before the end, and both only increase. So a fold
                # meanwhile can't make the next offset exceed the end.
                _refuse_other_log(partition, next_offsets[partition], first, end)
        problem = self.watchdog.problem(
            time.monotonic(),
            {partition: owned.handled for partition, owned in ready.items()},
            {p: self.ends[p] - owned.next_offset for p, owned in ready.items()},
            restoring_since_s=None if ownership.all_ready else ownership.restored_at,
        )
        if problem is not None:
            die("worker is stuck", Stuck(problem))


async def _wait_until_sent(partitions: Iterable[OwnedPartition]) -> None:
    """Wait until no open decisions of `partitions` are being sent, for up to `SENT_S` seconds.

    If a producer is closed in the middle of a transaction, the process ends with an error.
    """
    in_use = [owned.lock for owned in partitions if owned.lock.locked()]
    if not in_use:
        return
    try:
        async with asyncio.timeout(SENT_S):
            for lock in in_use:
                async with lock:
                    pass
    except TimeoutError:
        log.warning("open decisions are still being sent at the stop")


def _refuse_other_log(partition: int, next_offset: int, first: int, end: int) -> None:
    """End the process if the source topic doesn't hold the next offset.

    Without this check, the group's consumer would silently continue at another offset.
    """
    if not first <= next_offset <= end:
        problem = (
            f"{STOCK_EVENTS}[{partition}] has offsets {first}..{end}, but this worker continues at "
            f"{next_offset}: the topic was recreated, or truncated before the worker had read it"
        )
        die("the source topic was replaced", LogMismatch(problem, NEW_GENERATION))
