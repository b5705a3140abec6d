"""Partitions that are restored, kept through a rebalance, or revoked."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG, STOCK_EVENTS
from streams.engine.loop import handle_chunk
from streams.engine.memory import MemoryBroker, MemoryWriter
from streams.engine.mismatch import LogMismatch
from streams.engine.ownership import RESTORES_AT_ONCE, Ownership
from streams.engine.records import Fenced, LogRecord, Positions, Stage
from streams.engine.restore import restore
from streams.engine.store import OwnedPartition
from streams.settings import WorkerSettings
from streams.worker.runtime import Runtime
from tests.streams import lives
from tests.streams.test_engine import sold_history


class Producers:
    """The transactional producers of one worker on a memory broker."""

    def __init__(self, broker: MemoryBroker) -> None:
        self.broker = broker
        self.writers: dict[int, MemoryWriter] = {}

    async def own(self, partitions: Iterable[int]) -> None:
        for partition in partitions:
            self.writers[partition] = self.broker.writer(partition)

    async def disown(self, partitions: Iterable[int]) -> None:
        for partition in partitions:
            self.writers.pop(partition, None)

    async def close(self) -> None:
        await self.disown(list(self.writers))

    async def acknowledged(self, partition: int, stages: Sequence[Stage]) -> Positions:
        return await self.writers[partition].acknowledged(partition, stages)


class Worker:
    def __init__(self, broker: MemoryBroker) -> None:
        self.failures: list[BaseException] = []
        self.failed = asyncio.Event()
        self.producers = Producers(broker)

        @asynccontextmanager
        async def open_log() -> AsyncIterator[MemoryBroker]:
            yield broker

        self.ownership = Ownership(lives.GENERATION, self.producers, open_log, self.fail)

    def fail(self, error: BaseException) -> None:
        self.failures.append(error)
        self.failed.set()


def test_a_reassigned_unchanged_partition_keeps_its_state() -> None:
    broker = sold_history(3)
    worker = Worker(broker)

    async def rebalance() -> tuple[object, object]:
        ownership = worker.ownership
        await ownership.assign([0])
        first = await ownership.owned(0)
        assert first is not None
        await handle_chunk(lives.source_of(broker), first, worker.producers)
        await ownership.revoked()
        assert await ownership.owned(0) is None
        await ownership.assign([0, 1])
        return first, await ownership.owned(0)

    before, after = asyncio.run(rebalance())

    assert after is before
    assert worker.failures == []


def test_a_restored_partition_gets_the_configured_limit_of_undecodable_records(
    tmp_path: Path,
) -> None:
    worker = Worker(sold_history(3))
    settings = WorkerSettings(home=tmp_path, undecodable_permille=77)
    worker.ownership.permille = Runtime(settings).ownership.permille

    async def restored() -> OwnedPartition | None:
        await worker.ownership.assign([0])
        return await worker.ownership.owned(0)

    owned = asyncio.run(restored())

    assert owned is not None
    assert owned.undecodable.permille == 77


def test_a_reassigned_partition_that_another_worker_advanced_is_restored() -> None:
    broker = sold_history(3)
    worker, other = Worker(broker), Worker(broker)

    async def rebalance() -> tuple[object, object]:
        await worker.ownership.assign([0])
        first = await worker.ownership.owned(0)
        assert first is not None
        await worker.ownership.revoked()
        await other.ownership.assign([0])
        theirs = await other.ownership.owned(0)
        assert theirs is not None
        await handle_chunk(lives.source_of(broker), theirs, other.producers)
        await worker.ownership.assign([0])
        again = await worker.ownership.owned(0)
        assert again is not None
        assert again.published == theirs.published
        return first, again

    before, after = asyncio.run(rebalance())

    assert after is not before


class Asleep(MemoryBroker):
    """Broker that runs `meanwhile` between the reads of the two changelogs' ends."""

    def __init__(self, broker: MemoryBroker, meanwhile: Callable[[], Awaitable[object]]) -> None:
        super().__init__()
        self.topics, self._ends = broker.topics, broker._ends
        self.meanwhile = meanwhile
        self.slept = False

    @override
    async def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        if topic == SALES_WINDOWS_CHANGELOG and not self.slept:
            self.slept = True
            await self.meanwhile()
        return await super().bounds(topic, partition)


def test_a_restore_raises_fenced_if_another_worker_writes_meanwhile() -> None:
    broker = sold_history(3)
    source = lives.source_of(broker)

    async def overtaken() -> None:
        await handle_chunk(source[:2], await first(), broker.writer(0))
        asleep = Asleep(broker, theirs)
        with pytest.raises(Fenced, match="another worker has written to"):
            await restore(0, lives.GENERATION, asleep)

    async def first() -> OwnedPartition:
        return await restore(0, lives.GENERATION, broker)

    async def theirs() -> None:
        await handle_chunk(source, await first(), broker.writer(0))

    asyncio.run(overtaken())


class Cut(MemoryBroker):
    """Broker whose level changelog has lost its first record."""

    def __init__(self, broker: MemoryBroker) -> None:
        super().__init__()
        self.topics, self._ends = broker.topics, broker._ends

    @override
    async def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        first, end = await super().bounds(topic, partition)
        return first + (topic == ON_HAND_CHANGELOG), end


def test_a_later_restore_halts_if_levels_were_truncated() -> None:
    """A start checks the levels for a truncation. A later restore must check them again."""
    broker = sold_history(3)

    async def take_over() -> None:
        owned = await restore(0, lives.GENERATION, broker)
        await handle_chunk(lives.source_of(broker), owned, broker.writer(0))
        with pytest.raises(LogMismatch, match="begins at offset 1: it was truncated"):
            await restore(0, lives.GENERATION, Cut(broker))

    asyncio.run(take_over())


def test_a_long_restore_reports_progress_after_each_batch() -> None:
    """A supervisor that sees only completed partitions would end a long restore again and again."""
    broker = sold_history(12)
    worker = Worker(broker)
    seen: list[float] = []

    class Slow(MemoryBroker):
        @override
        async def read(self, *place: Any) -> AsyncIterator[Sequence[LogRecord]]:
            async for batch in broker.read(*place):
                worker.ownership.restored_at = 0.0
                yield batch
                seen.append(worker.ownership.restored_at)

    slow = Slow()
    slow.topics, slow._ends = broker.topics, broker._ends

    async def take_over() -> None:
        owned = await restore(0, lives.GENERATION, broker)
        await handle_chunk(lives.source_of(broker), owned, broker.writer(0))

        @asynccontextmanager
        async def open_log() -> AsyncIterator[MemoryBroker]:
            yield slow

        worker.ownership._open_log = open_log
        await worker.ownership.assign([0])
        await worker.ownership.owned(0)

    asyncio.run(take_over())

    assert len(seen) > 3
    assert min(seen) > 0


def test_a_restore_superseded_by_a_rebalance_is_not_repeated() -> None:
    """The restart of one member causes two rebalances: one when it leaves and one when it joins."""
    broker = sold_history(12)
    worker = Worker(broker)
    opened: list[int] = []
    began, turned = asyncio.Event(), asyncio.Event()

    async def take_over() -> tuple[int, int]:
        owned = await restore(0, lives.GENERATION, broker)
        await handle_chunk(lives.source_of(broker), owned, broker.writer(0))
        ownership = worker.ownership

        @asynccontextmanager
        async def open_log() -> AsyncIterator[MemoryBroker]:
            opened.append(ownership.rebalances)
            began.set()
            await turned.wait()
            yield broker

        ownership._open_log = open_log
        await ownership.assign(range(12))
        await began.wait()
        await ownership.revoked()
        await ownership.assign([0, 11])
        turned.set()
        assert await ownership.owned(0) is not None
        assert await ownership.owned(11) is not None
        assert sorted(worker.producers.writers) == [0, 11]
        return ownership.restores.kept, ownership.restores.records

    kept, records = asyncio.run(take_over())

    assert opened == [1] * RESTORES_AT_ONCE + [2, 2]
    assert (kept, records) == (1, 0)


def log_of(topics: MemoryBroker, source: Any) -> MemoryBroker:
    """Return a broker with the same topics, whose `read` calls `source`."""

    class Disturbed(MemoryBroker):
        @override
        async def read(self, *place: Any) -> AsyncIterator[Sequence[LogRecord]]:
            async for batch in source(*place):
                yield batch

    log = Disturbed()
    log.topics, log._ends = topics.topics, topics._ends
    return log


def test_an_unchanged_partition_is_ready_before_other_restores_end() -> None:
    """The worker restores an ended worker's partitions. Its kept partition is ready at once."""
    broker = sold_history(12)
    kept = 11
    broker.topics[STOCK_EVENTS, kept] = broker.topics[STOCK_EVENTS, lives.PARTITION]
    worker = Worker(broker)
    turned = asyncio.Event()

    async def stuck(topic: str, partition: int, *offsets: int) -> Any:
        if partition != kept:
            await turned.wait()
        async for batch in broker.read(topic, partition, *offsets):
            yield batch

    @asynccontextmanager
    async def open_log() -> AsyncIterator[MemoryBroker]:
        yield log_of(broker, stuck)

    async def take_over() -> set[int]:
        owned = await restore(kept, lives.GENERATION, broker)
        await handle_chunk(lives.source_of(broker), owned, broker.writer(kept))
        ownership = worker.ownership
        ownership._open_log = open_log
        ownership.ready = {kept: owned}
        await ownership.revoked()
        await ownership.assign(range(12))
        async with asyncio.timeout(30):
            assert await ownership.owned(kept) is owned
        ready = set(ownership.ready)
        turned.set()
        return ready

    assert asyncio.run(take_over()) == {kept}


def test_a_restore_ends_early_if_its_partition_is_revoked() -> None:
    """The next assignment waits for this restore, so it must end early."""
    broker = sold_history(12)
    worker = Worker(broker)
    began, turned = asyncio.Event(), asyncio.Event()
    read = []

    async def slow(topic: str, *place: int) -> Any:
        async for batch in broker.read(topic, *place):
            began.set()
            await turned.wait()
            read.append(topic)
            yield batch

    @asynccontextmanager
    async def open_log() -> AsyncIterator[MemoryBroker]:
        yield log_of(broker, slow)

    async def take_over() -> None:
        owned = await restore(lives.PARTITION, lives.GENERATION, broker)
        await handle_chunk(lives.source_of(broker), owned, broker.writer(lives.PARTITION))
        ownership = worker.ownership
        ownership._open_log = open_log
        await ownership.assign([lives.PARTITION])
        await began.wait()
        await ownership.revoked()
        await ownership.assign([])
        turned.set()
        assert ownership._attempt is not None
        await ownership._attempt

    asyncio.run(take_over())

    assert read == [SALES_WINDOWS_CHANGELOG]
    assert worker.failures == []
    assert worker.ownership.ready == {}


def test_a_producer_is_kept_until_its_transaction_is_over() -> None:
    """A timer sends open decisions again, so a transaction may be open during a rebalance."""
    worker = Worker(sold_history(3))

    async def rebalance() -> tuple[bool, bool]:
        ownership = worker.ownership
        await ownership.assign([0])
        owned = await ownership.owned(0)
        assert owned is not None
        async with owned.lock:
            await ownership.revoked()
            await ownership.assign([1])
            for _ in range(100):  # more iterations of the event loop than a rebalance needs
                await asyncio.sleep(0)
            during = 0 in worker.producers.writers
        await ownership.owned(1)
        return during, 0 in worker.producers.writers

    assert asyncio.run(rebalance()) == (True, False)


def test_waiting_for_a_partition_ends_when_it_is_taken_away() -> None:
    worker = Worker(MemoryBroker())

    async def wait() -> object:
        assert await worker.ownership.owned(4) is None
        await worker.ownership.assign([4])
        waiting = asyncio.create_task(worker.ownership.owned(4))
        await worker.ownership.revoked()
        return await asyncio.wait_for(waiting, 60)

    assert asyncio.run(wait()) is None


def test_a_failure_to_take_over_is_reported() -> None:
    broker = sold_history(3)
    worker = Worker(broker)

    async def fail() -> None:
        owned = await lives.live(broker, lives.Crashes(), itertools.repeat(9), iter(()))
        assert owned.next_offset == 4
        del broker.topics[STOCK_EVENTS, 0][2:]
        await worker.ownership.assign([0])
        await asyncio.wait_for(worker.failed.wait(), 60)

    asyncio.run(fail())

    assert "new generation" in str(worker.failures[0])
