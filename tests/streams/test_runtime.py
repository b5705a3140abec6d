"""Batches that a worker receives with gaps in their offsets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from cdc.contracts.topics import STOCK_EVENTS
from streams.engine.memory import READ_BATCH, EffectHook, MemoryBroker, undisturbed
from streams.engine.restore import restore
from streams.settings import WorkerSettings
from streams.worker.gaps import Gaps
from streams.worker.runtime import Runtime
from tests.streams import lives
from tests.streams.test_engine import sold_history


def runtime_on(broker: MemoryBroker, before_effect: EffectHook = undisturbed) -> Any:
    @asynccontextmanager
    async def open_log() -> AsyncIterator[Any]:
        yield broker

    runtime: Any = Runtime(WorkerSettings(chunk_records=2))
    runtime.open_log = open_log
    runtime.gaps = Gaps(open_log, runtime._fold, most_records=2)
    runtime.producers = broker.writer(lives.PARTITION, before_effect)
    return runtime


def test_a_gap_that_begins_with_a_missing_offset_is_caught_up() -> None:
    broker = sold_history(6)
    source = lives.source_of(broker)
    del broker.topics[STOCK_EVENTS, lives.PARTITION][0]

    async def jump() -> int:
        owned = await restore(lives.PARTITION, lives.GENERATION, broker)
        runtime = runtime_on(broker)
        async with owned.lock:
            await runtime.gaps.read(owned, source[4].offset)
        return owned.handled

    assert asyncio.run(jump()) == 3


def test_a_gap_is_caught_up_in_chunks_of_the_usual_size() -> None:
    """A single transaction over all read records could exceed its timeout."""
    broker = sold_history(8)
    source = lives.source_of(broker)
    seen = lives.Crashes()

    async def jump() -> int:
        owned = await restore(lives.PARTITION, lives.GENERATION, broker)
        runtime = runtime_on(broker, seen)
        async with owned.lock:
            await runtime.gaps.read(owned, source[-1].offset + 1)
        return owned.handled

    assert asyncio.run(jump()) == len(source) == 3 * READ_BATCH
    assert seen.effects.count("commit") == 3 * len(("two records", "one record"))
