"""Long work yields to the worker's other tasks every few milliseconds."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any

import pytest
from typing_extensions import override

from cdc.contracts.topics import STOCK_EVENTS
from streams.engine import loop
from streams.engine.assembly import BLOCKS_AT_ONCE
from streams.engine.cold import SLOTS
from streams.engine.loop import handle_chunk, republish_open
from streams.engine.memory import MemoryBroker
from streams.engine.records import LogRecord
from streams.engine.restore import CHANGELOGS, restore
from streams.engine.restore_reader import SLICE, RestoreReader
from tests.streams import lives
from tests.streams.served import GENERATION, Worker, partition, stocked
from tests.streams.test_engine import KEYS, Step, history

PARTITION = 4


class Whole(MemoryBroker):
    """Broker that returns all requested records in one batch. The real limit is 20,000 records."""

    def __init__(self, broker: MemoryBroker) -> None:
        super().__init__()
        self.topics, self._ends = broker.topics, broker._ends

    @override
    async def read(
        self, topic: str, partition: int, start: int, end: int
    ) -> AsyncIterator[Sequence[LogRecord]]:
        yield [r for r in self.topics[topic, partition] if start <= r.offset < end]


async def turns_during(work: Coroutine[Any, Any, object]) -> int:
    """Return how often the event loop ran another task while `work` ran."""
    doing = asyncio.create_task(work)
    turns = 0
    while not doing.done():
        await asyncio.sleep(0)
        turns += 1
    await doing
    return turns


def test_a_restore_yields_to_other_tasks_while_it_reads_and_builds_states() -> None:
    keys = [key for key in (f"S1|K{n}" for n in range(15_000)) if partition(key) == PARTITION]

    async def run() -> tuple[int, int]:
        broker = stocked(keys, sold=1)
        worker = Worker("worker-1", broker)
        await worker.take([PARTITION])
        await worker.work()
        read = [len(broker.topics[topic, PARTITION]) for topic in (*CHANGELOGS, STOCK_EVENTS)]
        log = RestoreReader(Whole(broker), lambda: None)
        turns = await turns_during(restore(PARTITION, GENERATION, log))
        return turns, sum((records - 1) // SLICE for records in read)

    turns, slices = asyncio.run(run())

    assert slices > 6
    assert turns >= slices + len(keys) // (SLOTS * BLOCKS_AT_ONCE)


def test_a_restore_reader_splits_a_batch_into_slices_and_reports_it_once() -> None:
    broker = MemoryBroker()
    for _ in range(2 * SLICE + 1):
        broker.produce(STOCK_EVENTS, 0, b"k", b"v")
    heard: list[str] = []
    sizes: list[int] = []

    async def read() -> None:
        log = RestoreReader(Whole(broker), lambda: heard.append("batch"))
        batches = log.read(STOCK_EVENTS, 0, 0, 2 * SLICE + 1)
        sizes.extend([len(batch) async for batch in batches])

    assert asyncio.run(turns_during(read())) >= len((SLICE, SLICE))
    assert sizes == [SLICE, SLICE, 1]
    assert heard == ["batch"]


def test_sending_open_decisions_again_yields_to_other_tasks_between_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A query has a timeout of 0.15 s. Sending thousands of open decisions takes longer."""
    plan: list[Step] = [
        (what, number, 1, gap_us)
        for number in range(len(KEYS))
        for what, gap_us in (("count", 0), ("range", 1_000_000), ("sale", 1_000_000))
    ]
    broker = history(plan)

    async def run() -> tuple[int, int]:
        owned = await restore(lives.PARTITION, lives.GENERATION, broker)
        writer = broker.writer(lives.PARTITION)
        await handle_chunk(lives.source_of(broker), owned, writer)
        return len(owned.open_keys), await turns_during(republish_open(owned, writer))

    monkeypatch.setattr(loop, "SLICE_S", 0.0)
    monkeypatch.setattr(loop, "CLOCK_EVERY", 1)
    open_keys, turns = asyncio.run(run())

    assert open_keys == len(KEYS)
    assert turns > 2 * open_keys
