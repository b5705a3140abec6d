"""One worker process from start to end: its real runtime, driven by a simulated Faust.

The simulation calls the functions that `streams.worker` registers with Faust, in the same order:
join, fetch, hand the records over, commit the group's offset, leave. Any failure ends the process.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack
from contextvars import copy_context
from typing import Final, Protocol

from bench.simulation import faults
from bench.simulation.checks import Visible, check_published, violated
from bench.simulation.disk import Disk
from bench.simulation.event_loop import SLEEP, TIME_LIMIT, WAIT, StepLoop
from bench.simulation.reader import Reader
from bench.simulation.worker import Worker
from cdc.contracts.topics import STOCK_EVENTS
from inventory.model.ids import InvKey
from streams.engine.memory import MemoryBroker, MemoryWriter
from streams.engine.ownership import Ownership
from streams.engine.records import Positions, Send, SourceRecord, Stage
from streams.engine.store import OwnedPartition

FETCH: Final = "fetch"
FOLLOW: Final = "follow the group"
JOIN: Final = "join the group"
COMMIT: Final = "commit"
COMMITTED: Final = "committed"
REST: Final = "put states at rest"
# Effects that take a step of the scheduler: sleeps of the snapshot writer, loading and writing a
# snapshot in a thread, and the end of a time limit. Other work in threads takes no step.
_EFFECTS: Final = {
    SLEEP: REST,
    TIME_LIMIT: "reach a time limit",
    "load": "load snapshot",
    "write": "write snapshot",
}


class BrokerFailed(Exception):
    """The broker did not answer or refused. The process can't know if its transaction committed."""


class Stopped(Exception):
    """The process was asked to stop, and has stopped."""


class Environment(Protocol):
    """The interface of a process to the simulation around it."""

    broker: MemoryBroker
    visible: list[Visible]
    group_offsets: list[int]
    group_round: int
    loop: StepLoop
    disk: Disk

    async def reach(self, process: "Process", effect: str) -> None:
        """Wait until the scheduler lets `effect` (for example a commit) happen."""
        ...

    def partitions_of(self, slot: int) -> list[int]:
        """Return the partitions that the group assigns to the worker in that slot."""
        ...

    def chunk_size(self) -> int:
        """Return the number of records of the next fetch."""
        ...

    def is_snapshot_due(self) -> bool:
        """Return True if the timer of snapshots is due."""
        ...

    def process_ended(self, process: "Process", error: BaseException) -> None:
        """Report that the process has ended with `error`."""
        ...


class Process:
    """A simulated worker process: a member of the consumer group, from its start to its end."""

    def __init__(self, environment: Environment, slot: int) -> None:
        self.slot = slot
        self.asleep_until = 0
        self.held_until: dict[str, int] = {}  # effect: step until which the effect is delayed
        self._fails_at: str | None = None
        self._misfetches: str | None = None
        self._stopping = False
        self.positions: dict[int, int] = {}
        self._round = -1
        self._environment = environment
        self._writers: dict[int, MemoryWriter] = {}
        self.sent: dict[int, list[Send]] = {}
        self._shown: dict[int, dict[InvKey, int]] = {}
        self._worker = Worker(self, self._open_log, environment.disk.directory(slot), self._fail)

    @property
    def ownership(self) -> Ownership:
        """Return the partitions that the worker owns, with their states."""
        return self._worker.ownership

    def start(self) -> None:
        """Start to follow the group's rebalances and to consume records."""
        self.run(self._follow())
        self.run(self._consume())

    def sleep(self, until: int) -> None:
        """Let this process do nothing until the scheduler reaches step `until`."""
        self.asleep_until = until

    def hold(self, effect: str, until: int) -> None:
        """Delay every effect of this name until the scheduler reaches step `until`."""
        self.held_until[effect] = until

    def is_held(self, step: int) -> bool:
        """Return True if the process sleeps or one of its effects is delayed at this step."""
        return max(self.asleep_until, *self.held_until.values(), 0) > step

    def fail_at(self, effect: str) -> None:
        """Make the broker fail at the next effect of this name."""
        self._fails_at = effect

    def fail_next_fetch(self, how: str) -> None:
        """Make the next fetch lack a record or repeat records; `how` names the fault."""
        self._misfetches = how

    def run(self, work: Coroutine[None, None, None]) -> None:
        """Run `work` as a task. If it fails, the process ends."""
        context = copy_context()
        context.run(WAIT.set, self._wait)
        self._environment.loop.start(self._guarded(work), context)

    @property
    def has_work(self) -> bool:
        """Return True if a fetch would return records."""
        if self._stopping:
            return False
        log = self._environment.broker.topics
        newest = {p: log[STOCK_EVENTS, p][-1:] for p in self.positions}
        return any(found and found[0].offset >= self.positions[p] for p, found in newest.items())

    @property
    def is_behind(self) -> bool:
        """Return True if the group has rebalanced without this member."""
        return self._round != self._environment.group_round

    @property
    def is_fenced(self) -> bool:
        """Return True if another process has fenced a partition that this process still uses."""
        return any(writer.is_fenced(p) for p, writer in self._writers.items())

    async def republish(self) -> None:
        """Send open decisions again, as the worker's timer does."""
        await self._worker.send_open_decisions()

    async def write_snapshots(self) -> None:
        """Write snapshots as the worker's timer does, while chunks are handled."""
        await self._worker.snapshot_writer.write_changed()

    async def stop(self) -> None:
        """Stop like a worker on SIGTERM: finish the chunk, save snapshots, release all partitions.

        Raises:
            Stopped: always, once all partitions are released.
        """
        self._stopping = True
        async with AsyncExitStack() as stack:
            await self._wait_for_chunks(stack)
        self._environment.disk.remember(self.slot)
        await self._worker.close()
        raise Stopped

    async def own(self, partitions: Iterable[int]) -> None:
        """Initialise a producer for each partition."""
        for partition in sorted(partitions):
            await self._reach(f"initialise {partition}")
            self._writers[partition] = self._environment.broker.writer(partition, self._reach)

    async def disown(self, partitions: Iterable[int]) -> None:
        """Close the producers of these partitions."""
        for partition in partitions:
            self._writers.pop(partition, None)

    async def close(self) -> None:
        """Close all producers."""
        self._writers.clear()

    async def acknowledged(self, partition: int, stages: Sequence[Stage]) -> Positions:
        """Commit the sends of all stages in one transaction. Record them in `sent`.

        Return each topic's offset after its last record.
        """
        self.sent[partition] = [send for stage in stages for send in stage]
        return await self._writers[partition].acknowledged(partition, stages)

    async def _guarded(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 -- the edge of a process: the simulation judges it
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._environment.process_ended(self, error)

    async def _reach(self, effect: str) -> None:
        if effect == COMMIT:
            self._check_published()
        await self._environment.reach(self, effect)
        if effect == self._fails_at:
            raise BrokerFailed(effect)

    def _check_published(self) -> None:
        """Check all states that the worker publishes to queries."""
        for partition, owned in self.ownership.ready.items():
            if partition not in self.ownership.assigned:
                violated("only assigned partitions are shown", partition)
            shown = self._shown.setdefault(partition, {})
            check_published(owned, self._environment.visible[partition], shown)

    async def _follow(self) -> None:
        while True:
            await self._reach(FOLLOW)
            async with AsyncExitStack() as stack:
                await self._wait_for_chunks(stack)
                await self.ownership.revoked()
            self.positions = {}
            await self._reach(JOIN)
            self._round = self._environment.group_round
            mine = self._environment.partitions_of(self.slot)
            self.positions = {p: self._environment.group_offsets[p] for p in mine}
            await self.ownership.assign(mine)

    async def _wait_for_chunks(self, until: AsyncExitStack) -> None:
        """Wait for running chunks, including those of a partition that becomes ready meanwhile.

        No new chunk begins before the context `until` ends.
        """
        held: dict[int, OwnedPartition] = {}
        while left := [o for o in self.ownership.ready.values() if held.get(o.number) is not o]:
            for owned in left:
                await until.enter_async_context(owned.lock)
                held[owned.number] = owned

    async def _consume(self) -> None:
        while True:
            await self._reach(FETCH)
            fetched_in = self._round
            chunks = {p: self._fetched(p, at) for p, at in self.positions.items()}
            await asyncio.gather(*(self._handle(p, chunk) for p, chunk in chunks.items() if chunk))
            self._check_published()
            await self._reach("commit offsets")
            if fetched_in == self._environment.group_round:
                for partition, chunk in chunks.items():
                    if chunk:
                        self._environment.group_offsets[partition] = chunk[-1].offset + 1
            if self._environment.is_snapshot_due():
                self.run(self.write_snapshots())

    def _fetched(self, partition: int, start: int) -> list[SourceRecord]:
        """Return the records of the next fetch from `start` on, with the planned fault, if any."""
        records = self._environment.broker.topics[STOCK_EVENTS, partition]
        found = [SourceRecord(r.offset, r.key, r.value) for r in records if r.offset >= start]
        chunk = found[: self._environment.chunk_size()]
        if self._misfetches == faults.LEAVE_OUT:
            chunk = [*found[:1], *found[2:4]]
        elif self._misfetches == faults.FETCH_TWICE:
            chunk = [*chunk, *chunk]
        if chunk:
            self._misfetches = None
            self.positions[partition] = chunk[-1].offset + 1
        return chunk

    async def _handle(self, partition: int, chunk: Sequence[SourceRecord]) -> None:
        try:
            await self._worker.handle_chunk(partition, chunk)
        except Exception as error:
            self._fail(error)  # like a lane: end the process before another task runs
            raise

    async def _wait(self, what: str) -> None:
        """Let the scheduler decide when a sleep, a thread or a time limit ends."""
        if what in _EFFECTS:
            await self._reach(_EFFECTS[what])
        if what == "write":
            self._environment.disk.remember(self.slot)

    def _open_log(self) -> Reader:
        return Reader(self._environment.broker, self._reach)
