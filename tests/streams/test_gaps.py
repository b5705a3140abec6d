"""A worker reads from the topic exactly those records that no consumer will deliver."""

import asyncio
import gc
from typing import Any
from weakref import ref

import pytest

from cdc.contracts.topics import STOCK_EVENTS
from streams.engine.memory import MemoryBroker
from streams.engine.restore import restore
from streams.engine.store import OwnedPartition
from tests.streams import lives
from tests.streams.test_engine import sold_history
from tests.streams.test_exit_codes import Topics
from tests.streams.test_runtime import runtime_on


async def restored(broker: MemoryBroker) -> tuple[Any, OwnedPartition]:
    owned = await restore(lives.PARTITION, lives.GENERATION, broker)
    runtime = runtime_on(broker)
    runtime.ownership.assigned = frozenset({lives.PARTITION})
    runtime.ownership.ready = {lives.PARTITION: owned}
    return runtime, owned


async def look(runtime: Any, owned: OwnedPartition, end: int, times: int = 2) -> None:
    for _ in range(times):
        await runtime.gaps.check(owned, end, runtime._is_ready)


def test_records_before_a_too_high_group_offset_are_read_from_the_topic() -> None:
    """Somebody set the group's offset too high, so the consumer never delivers these records."""
    broker = sold_history(6)
    end = len(lives.source_of(broker))

    async def wait() -> tuple[int, int]:
        runtime, owned = await restored(broker)
        await look(runtime, owned, end, times=1)
        first = owned.handled
        await look(runtime, owned, end, times=1)
        assert owned.published_offset == end
        return first, owned.handled

    assert asyncio.run(wait()) == (0, end)


def test_the_gap_reader_reads_nothing_if_the_consumer_delivered_records() -> None:
    """The consumer may just be slow. Only one that delivered nothing makes the gap reader act."""
    broker = sold_history(6)
    source = lives.source_of(broker)

    async def wait() -> tuple[int, int]:
        runtime, owned = await restored(broker)
        await runtime.handle_chunk(lives.PARTITION, source[:2])
        await look(runtime, owned, len(source))
        return owned.handled, owned.next_offset

    assert asyncio.run(wait()) == (2, 2)


def test_offsets_without_records_do_not_hold_up_progress() -> None:
    """An aborted transaction and its marker take offsets for which no consumer returns a record."""
    broker = sold_history(6)
    source = lives.source_of(broker)
    end = len(source) + 3

    async def wait() -> tuple[int, int]:
        runtime, owned = await restored(broker)
        await runtime.handle_chunk(lives.PARTITION, source)
        await look(runtime, owned, end)
        return owned.handled, owned.next_offset

    assert asyncio.run(wait()) == (len(source), end)


def test_a_long_gap_is_read_in_several_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebalance waits for the chunk in progress, so a chunk must stay small."""
    monkeypatch.setattr("streams.worker.gaps.READ_AT_ONCE", 2)
    broker = sold_history(6)
    end = len(lives.source_of(broker))

    async def wait() -> list[int]:
        runtime, owned = await restored(broker)
        offsets = []
        for _ in range(5):
            await look(runtime, owned, end, times=1)
            offsets.append(owned.next_offset)
        return offsets

    assert asyncio.run(wait()) == [0, 2, 2, 4, 4]


@pytest.mark.parametrize("event", ["taken away", "moved on"])
def test_the_gap_reader_skips_a_partition_that_was_revoked_or_advanced(event: str) -> None:
    broker = sold_history(6)
    source = lives.source_of(broker)

    async def wait() -> int:
        runtime, owned = await restored(broker)
        await look(runtime, owned, len(source), times=1)
        async with runtime.gaps._reading:
            looking = asyncio.create_task(look(runtime, owned, len(source), times=1))
            await asyncio.sleep(0)
            if event == "taken away":
                runtime.ownership.ready = {}
            else:
                owned.next_offset = 1
        await looking
        return owned.handled

    assert asyncio.run(wait()) == 0


def test_the_gap_reader_skips_a_partition_with_a_chunk_in_progress() -> None:
    """The gap reader skips a partition with a chunk in progress. It doesn't wait for the lock."""
    broker = sold_history(6)
    end = len(lives.source_of(broker))

    async def wait() -> int:
        runtime, owned = await restored(broker)
        async with owned.lock:
            await asyncio.wait_for(look(runtime, owned, end, times=3), 60)
        return owned.handled

    assert asyncio.run(wait()) == 0


def test_the_gap_reader_leaves_records_after_its_first_check_to_the_consumer() -> None:
    """If the gap reader also read later records, a dead consumer would never raise an alarm."""
    broker = sold_history(6)
    end = len(lives.source_of(broker))

    async def wait() -> int:
        runtime, owned = await restored(broker)
        await look(runtime, owned, end - 2)
        await look(runtime, owned, end)
        return owned.next_offset

    assert asyncio.run(wait()) == end - 2


def test_the_gap_reader_keeps_no_reference_to_a_revoked_partition() -> None:
    """A reference would keep its states, the largest part of a worker's memory."""
    broker = sold_history(6)
    source = lives.source_of(broker)

    async def given_away() -> tuple[Any, Any]:
        runtime, owned = await restored(broker)
        await runtime.handle_chunk(lives.PARTITION, source)
        await look(runtime, owned, len(source))
        runtime.ownership.ready = {}
        return runtime, ref(owned)

    runtime, left = asyncio.run(given_away())
    gc.collect()

    assert runtime is not None
    assert left() is None


def test_a_rebalance_waits_for_the_current_chunk_of_a_gap() -> None:
    """Otherwise the next owner would fence this worker in the middle of the gap."""
    broker = sold_history(6)
    end = len(lives.source_of(broker))
    reached = asyncio.Event()

    async def wait() -> tuple[int, bool]:
        goes_on = asyncio.Event()

        async def before_effect(effect: str) -> None:
            if effect == "commit":
                reached.set()
                await goes_on.wait()

        owned = await restore(lives.PARTITION, lives.GENERATION, broker)
        runtime = runtime_on(broker, before_effect)
        runtime.ownership.ready = {lives.PARTITION: owned}
        looking = asyncio.create_task(look(runtime, owned, end))
        await asyncio.wait_for(reached.wait(), 60)
        revoked = asyncio.create_task(runtime.revoked())
        await asyncio.sleep(0)
        is_early = revoked.done()
        goes_on.set()
        await asyncio.wait_for(asyncio.gather(revoked, looking), 60)
        return owned.next_offset, is_early

    assert asyncio.run(wait()) == (2, False)


def test_two_periodic_checks_of_the_broker_read_a_whole_gap() -> None:
    broker = Topics()
    for record in sold_history(6).topics[STOCK_EVENTS, lives.PARTITION]:
        broker.produce(STOCK_EVENTS, lives.PARTITION, record.key, record.value)

    async def wait() -> int:
        runtime, owned = await restored(broker)
        for _ in range(2):
            await runtime.inspect()
            await runtime.check_gaps()
        return owned.handled

    assert asyncio.run(wait()) == len(lives.source_of(broker))
