"""One life of a worker process: the engine as it is, in the hands of a simulated Faust.

What `streams.worker` does around the engine is done here in the same order: take over, fetch, fold
what was missed, acknowledge, commit the group's offset. Whatever fails ends the life.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack
from typing import Final, Protocol

from bench.simulation.checks import Visible, broken, check_published
from bench.simulation.disk import Disk
from bench.simulation.event_loop import StepLoop
from bench.simulation.oracle import GENERATION
from bench.simulation.reader import Reader
from bench.simulation.replays import owed_by_timer, owed_for_replay
from cdc.contracts.topics import STOCK_EVENTS
from inventory.model.ids import InvKey
from streams.engine.loop import Gap, handle_chunk, republish_open
from streams.engine.memory import MemoryBroker, MemoryWriter
from streams.engine.ownership import Ownership
from streams.engine.records import LogRecord, Positions, Send, SourceRecord, Stage
from streams.engine.snapshot import Snapshot, freeze, image
from streams.engine.store import OwnedPartition

FETCH: Final = "fetch"
FOLLOW: Final = "follow the group"
JOIN: Final = "join the group"
COMMIT: Final = "commit"
COMMITTED: Final = "committed"
REST: Final = "lay to rest"


class BrokerFailed(Exception):
    """The broker did not answer, or said no; whether it committed, nobody here knows."""


class Stopped(Exception):
    """The process was asked to stop, and has."""


class Surroundings(Protocol):
    """What a process sees of the world around it."""

    broker: MemoryBroker
    visible: list[Visible]
    group_offsets: list[int]
    group_round: int
    loop: StepLoop
    disk: Disk

    async def reach(self, process: "Process", effect: str) -> None:
        """Wait until the scheduler lets `effect` happen."""
        ...

    def partitions_of(self, slot: int) -> list[int]:
        """What the group gives to the worker in that slot."""
        ...

    def chunk_size(self) -> int:
        """How many records the next fetch brings."""
        ...

    def is_time_to_keep(self) -> bool:
        """Whether the timer of snapshots is due."""
        ...

    def died(self, process: "Process", error: BaseException) -> None:
        """The process has ended itself."""
        ...


class Process:
    """A member of the group, from its start to its death."""

    def __init__(self, world: Surroundings, slot: int) -> None:
        self.slot = slot
        self.asleep_until = 0
        self.held_until: dict[str, int] = {}  # effects that take long
        self._fails_at: str | None = None
        self._stopping = False
        self._keeping = asyncio.Lock()
        self.positions: dict[int, int] = {}
        self._round = -1
        self._world = world
        self._writers: dict[int, MemoryWriter] = {}
        self._sent: dict[int, list[Send]] = {}
        self._shown: dict[int, dict[InvKey, int]] = {}
        self.ownership = Ownership(
            GENERATION, self, self._open_log, self._fail, self._load_snapshot
        )

    def start(self) -> None:
        """Begin to follow the group and to consume."""
        self.run(self._follow())
        self.run(self._consume())

    def sleep(self, until: int) -> None:
        """Do nothing before that step of the scheduler."""
        self.asleep_until = until

    def hold(self, effect: str, until: int) -> None:
        """Let such an effect not happen before that step of the scheduler."""
        self.held_until[effect] = until

    def is_held(self, step: int) -> bool:
        """Whether it would do more if it were awake, or the broker and its disk faster."""
        return max(self.asleep_until, *self.held_until.values(), 0) > step

    def fail_at(self, effect: str) -> None:
        """Let the broker fail it at the next such effect."""
        self._fails_at = effect

    def run(self, work: Coroutine[None, None, None]) -> None:
        """Do `work` beside everything else; if it fails, the process ends."""
        self._world.loop.start(self._guarded(work))

    @property
    def has_work(self) -> bool:
        """Whether a fetch would bring anything."""
        if self._stopping:
            return False
        log = self._world.broker.topics
        newest = {p: log[STOCK_EVENTS, p][-1:] for p in self.positions}
        return any(found and found[0].offset >= self.positions[p] for p, found in newest.items())

    @property
    def is_behind(self) -> bool:
        """Whether the group has moved on without this member."""
        return self._round != self._world.group_round

    @property
    def is_fenced(self) -> bool:
        """Whether another process has become the owner of a partition that it believes to own."""
        return any(writer.is_fenced(p) for p, writer in self._writers.items())

    async def republish(self) -> None:
        """What the timer of a worker does."""
        for owned in list(self.ownership.ready.values()):
            async with owned.lock:
                if self.ownership.ready.get(owned.number) is owned:
                    owed = owed_by_timer(owned)
                    self._sent[owned.number] = []
                    await republish_open(owned, self)
                    owed.check(self._sent[owned.number])

    async def keep(self) -> None:
        """Write snapshots as `streams.worker.keeper` does, beside the chunks."""
        async with self._keeping:
            for owned in list(self.ownership.ready.values()):
                async with owned.lock:
                    if owned.in_work:
                        return  # its chunk has failed, and the process is about to end
                    taken, blocks = image(owned), freeze(owned)
                for _keys in blocks:
                    await self._reach(REST)
                    if self._stopping:
                        return
                await self._reach("write snapshot")
                self._world.disk.write(self.slot, taken)

    async def stop(self) -> None:
        """What a worker does on SIGTERM: finish the chunk in work, save, give everything back.

        Raises:
            Stopped: it is done.
        """
        self._stopping = True
        async with AsyncExitStack() as stack:
            await self._wait_for_chunks(stack)
        async with self._keeping:
            for owned in list(self.ownership.ready.values()):
                if not owned.in_work:
                    self._world.disk.save(self.slot, owned)
        await self.ownership.revoked()
        raise Stopped

    async def own(self, partitions: Iterable[int]) -> None:
        """Initialise a producer for each partition."""
        for partition in sorted(partitions):
            await self._reach(f"initialise {partition}")
            self._writers[partition] = self._world.broker.writer(partition, self._reach)

    async def disown(self, partitions: Iterable[int]) -> None:
        """Close producers."""
        for partition in partitions:
            self._writers.pop(partition, None)

    async def acknowledged(self, partition: int, stages: Sequence[Stage]) -> Positions:
        """Commit in one transaction, and remember what it held."""
        self._sent[partition] = [send for stage in stages for send in stage]
        return await self._writers[partition].acknowledged(partition, stages)

    async def _guarded(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 -- the edge of a process: the world judges it
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._world.died(self, error)

    async def _reach(self, effect: str) -> None:
        if effect == COMMIT:
            self._look_at_all()
        await self._world.reach(self, effect)
        if effect == self._fails_at:
            raise BrokerFailed(effect)

    def _look_at_all(self) -> None:
        """Query everything that is shown."""
        for partition, owned in self.ownership.ready.items():
            if partition not in self.ownership.assigned:
                broken("nothing is shown of a partition that is not assigned", partition)
            shown = self._shown.setdefault(partition, {})
            check_published(owned, self._world.visible[partition], shown)

    async def _follow(self) -> None:
        while True:
            await self._reach(FOLLOW)
            async with AsyncExitStack() as stack:
                await self._wait_for_chunks(stack)
                await self.ownership.revoked()
            self.positions = {}
            await self._reach(JOIN)
            self._round = self._world.group_round
            mine = self._world.partitions_of(self.slot)
            self.positions = {p: self._world.group_offsets[p] for p in mine}
            await self.ownership.assign(mine)

    async def _wait_for_chunks(self, until: AsyncExitStack) -> None:
        """Let chunks in work end, those of a partition too that gets ready meanwhile.

        No other chunk begins before `until` is over.
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
            self._look_at_all()
            await self._reach("commit offsets")
            if fetched_in == self._world.group_round:
                for partition, chunk in chunks.items():
                    if chunk:
                        self._world.group_offsets[partition] = chunk[-1].offset + 1
            if self._world.is_time_to_keep():
                self.run(self.keep())

    def _fetched(self, partition: int, start: int) -> list[SourceRecord]:
        """What is there; behind a part that was cut off, if the place to begin at lies in it."""
        records = self._world.broker.topics[STOCK_EVENTS, partition]
        found = [_source(record) for record in records if record.offset >= start]
        chunk = found[: self._world.chunk_size()]
        if chunk:
            self.positions[partition] = chunk[-1].offset + 1
        return chunk

    async def _handle(self, partition: int, chunk: Sequence[SourceRecord]) -> None:
        owned = await self.ownership.owned(partition)
        if owned is None:
            return
        async with owned.lock:
            if self.ownership.ready.get(partition) is not owned:
                return
            try:
                await self._fold(chunk, owned)
            except Gap:
                missing = Reader(self._world.broker, self._reach).read(
                    STOCK_EVENTS, partition, owned.next_offset, chunk[0].offset
                )
                async for batch in missing:
                    await self._fold([_source(record) for record in batch], owned)
                await self._fold(chunk, owned)

    async def _fold(self, chunk: Sequence[SourceRecord], owned: OwnedPartition) -> None:
        owed = owed_for_replay(chunk, owned)
        self._sent[owned.number] = []
        await handle_chunk(chunk, owned, self)
        owed.check(self._sent[owned.number])

    async def _load_snapshot(self, partition: int) -> Snapshot | None:
        await self._reach("load snapshot")
        return self._world.disk.load(self.slot, partition)

    def _open_log(self) -> Reader:
        return Reader(self._world.broker, self._reach)


def _source(record: LogRecord) -> SourceRecord:
    return SourceRecord(record.offset, record.key, record.value)
