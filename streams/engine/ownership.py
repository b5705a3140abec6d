"""The partitions of this worker, from their assignment until they can be folded and queried.

A rebalance revokes every partition and assigns most of them again. A partition that is assigned
again keeps its state, unless its changelog shows that another worker has written since the
revocation. If that check missed another writer, the broker would refuse the next transaction and
this process would end.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import structlog

from cdc.contracts.topics import ON_HAND_CHANGELOG
from streams.engine.records import Broker, Log
from streams.engine.restore import TAIL, newest_progress, restore
from streams.engine.restore_reader import RestoreReader
from streams.engine.snapshot import Snapshot
from streams.engine.store import OwnedPartition
from streams.engine.undecodable import PERMILLE

RESTORES_AT_ONCE = 4

log = structlog.get_logger(__name__)


class Fencing(Broker, Protocol):
    """A broker that can make this process the only writer of a partition."""

    async def own(self, partitions: Iterable[int]) -> None:
        """Fence all other writers of these partitions."""
        ...

    async def disown(self, partitions: Iterable[int]) -> None:
        """Close the producers of these partitions."""
        ...


class _Overtaken(Exception):
    """A later rebalance has taken the partition from this worker, so its restore stops."""


@dataclass(slots=True)
class Restores:
    """The counters of partitions that became ready in this process.

    `kept` counts partitions that kept their state. `records` counts the changelog records that
    restores have read. `seconds` sums the time that each partition took for its check or restore.
    """

    partitions: int = 0
    kept: int = 0
    records: int = 0
    seconds: float = 0.0

    def add(self, owned: OwnedPartition, *, kept: bool, seconds: float) -> None:
        """Count one partition that became ready. `kept` is True if it needed no restore."""
        self.partitions += 1
        self.kept += kept
        self.records += 0 if kept else owned.restored_records
        self.seconds += seconds


async def no_snapshot(_partition: int) -> Snapshot | None:
    """Return None, so that partitions are restored from the changelogs alone."""
    return None


class Ownership:
    """All partitions of this process.

    `assigned` are the partitions that the group assigned to this process. `ready` are the assigned
    ones whose state is restored; only these may be folded and queried. The takeover after a
    rebalance waits for the previous takeover, because the initialisation of a producer can't be
    cancelled.
    """

    def __init__(
        self,
        generation: int,
        broker: Fencing,
        open_log: Callable[[], AbstractAsyncContextManager[Log]],
        on_failure: Callable[[BaseException], None],
        load_snapshot: Callable[[int], Awaitable[Snapshot | None]] = no_snapshot,
    ) -> None:
        self._generation = generation
        self._broker = broker
        self._open_log = open_log
        self._on_failure = on_failure
        self._load_snapshot = load_snapshot
        self.permille = PERMILLE  # permitted share of undecodable records
        self._lost: dict[int, OwnedPartition] = {}  # states that the next takeover may keep
        self._fenced: frozenset[int] = frozenset()  # only this process may write to these
        self._attempt: asyncio.Task[None] | None = None
        self._moved = asyncio.Condition()
        self._is_assigned = False  # the group has made an assignment, which may be empty
        self.assigned: frozenset[int] = frozenset()
        self.ready: dict[int, OwnedPartition] = {}
        self.rebalances = 0
        self.restores = Restores()
        # One lock for all partitions, so that only one folds at a time. A query then waits for one
        # time slice, not for a slice of each partition.
        self.fold_lock = asyncio.Lock()
        self.restored_at = time.monotonic()  # last restore progress or rebalance

    @property
    def all_ready(self) -> bool:
        """Return True if all partitions of the group's assignment are ready.

        This is also True for an empty assignment. Between a revocation and the next assignment, it
        is False.
        """
        return self._is_assigned and self.assigned == self.ready.keys()

    async def revoked(self) -> None:
        """Move every partition out of `ready`, but keep its state for the next assignment.

        Call this when no chunk is being folded.
        """
        self._lost.update(self.ready)
        self.ready = {}
        self.assigned = frozenset()
        self._is_assigned = False
        self.restored_at = time.monotonic()
        await self._notify()

    async def assign(self, partitions: Iterable[int]) -> None:
        """Start a task that takes `partitions` over. Return before any of them is ready."""
        self.assigned = frozenset(partitions)
        self._is_assigned = True
        self.rebalances += 1
        self.restored_at = time.monotonic()
        self._attempt = asyncio.create_task(self._take_over(self.rebalances, self._attempt))
        await self._notify()

    async def release(self) -> None:
        """Give up all partitions, and return once their producers are closed.

        A takeover that is under way ends first. Otherwise it could fence the next owner. If a
        takeover fails, it calls `on_failure`, as after `assign`.
        """
        await self.revoked()
        await self.assign(())
        if self._attempt is not None:
            await asyncio.wait([self._attempt])

    async def owned(self, partition: int) -> OwnedPartition | None:
        """Wait until the partition is ready, and return it. Return None if it is not assigned."""
        async with self._moved:
            await self._moved.wait_for(
                lambda: partition in self.ready or partition not in self.assigned
            )
        return self.ready.get(partition)

    async def _take_over(self, number: int, before: asyncio.Task[None] | None) -> None:
        try:
            if before is not None:
                await before
            await self._obtain(number)
        except Exception as error:  # noqa: BLE001 -- the edge of a task: any error ends the process
            self._on_failure(error)

    async def _obtain(self, number: int) -> None:
        if number != self.rebalances:
            return  # the takeover of a later rebalance obtains the partitions
        wanted = self.assigned
        former, self._lost = self._lost, {}
        async with AsyncExitStack() as stack:
            for owned in former.values():
                # The timer that sends open decisions again may still write to this partition. Wait
                # for it before the producer is closed.
                await stack.enter_async_context(owned.lock)
            await self._broker.disown(sorted(self._fenced - wanted))
            await self._broker.own(wanted)
            self._fenced = wanted
        free_slots = asyncio.Semaphore(RESTORES_AT_ONCE)
        # Partitions with a kept state come first. Their check takes milliseconds, and until it
        # is done no worker serves them.
        in_order = sorted(wanted, key=lambda partition: (partition not in former, partition))
        await asyncio.gather(
            *(self._obtain_one(number, p, former.get(p), free_slots) for p in in_order)
        )

    async def _obtain_one(
        self,
        number: int,
        partition: int,
        former: OwnedPartition | None,
        free_slots: asyncio.Semaphore,
    ) -> None:
        async with free_slots:
            if number != self.rebalances:
                self._keep_for_takeover(partition, former)
                return
            began = time.monotonic()
            try:
                owned = await self._newest(number, partition, former)
            except _Overtaken:
                return
        if number != self.rebalances or partition not in self.assigned:
            self._keep_for_takeover(partition, owned)
            return
        owned.fold_lock = self.fold_lock
        self.ready[partition] = owned
        self.restored_at = time.monotonic()
        seconds = self.restored_at - began
        kept = owned is former
        self.restores.add(owned, kept=kept, seconds=seconds)
        log.info(
            "partition ready",
            partition=partition,
            kept=kept,
            keys=len(owned.published),
            records=owned.restored_records,
            next_offset=owned.next_offset,
            seconds=round(seconds, 3),
        )
        await self._notify()

    async def _newest(
        self, number: int, partition: int, former: OwnedPartition | None
    ) -> OwnedPartition:
        async with self._open_log() as opened:
            reader = RestoreReader(opened, partial(self._note_progress, number, partition))
            if former is not None and await _is_current(former, reader):
                return former
            snapshot = await self._load_snapshot(partition)
            owned = await restore(partition, self._generation, reader, snapshot)
            owned.undecodable.permille = self.permille
            return owned

    def _keep_for_takeover(self, partition: int, owned: OwnedPartition | None) -> None:
        """Keep the state of a partition for the next takeover.

        That takeover checks if the state is still the newest.
        """
        if owned is not None:
            self._lost.setdefault(partition, owned)

    def _note_progress(self, number: int, partition: int) -> None:
        # The next takeover waits for this one. So stop the restore of a partition that the next
        # takeover doesn't need, and finish all other restores.
        if number != self.rebalances and partition not in self.assigned:
            raise _Overtaken
        self.restored_at = time.monotonic()

    async def _notify(self) -> None:
        async with self._moved:
            self._moved.notify_all()


async def _is_current(former: OwnedPartition, reader: Log) -> bool:
    """Return True if no worker has folded records after those that `former` includes.

    A chunk that changes a key writes its progress (the next offset to fold) into the level
    changelog. The newest progress in the last `TAIL` offsets shows if another worker has written.
    """
    first, end = await reader.bounds(ON_HAND_CHANGELOG, former.number)
    newest = await newest_progress(former.number, max(first, end - TAIL), end, reader)
    return newest is not None and newest.next_offset <= former.next_offset
