"""Workers whose records come through a lane, on drawn histories."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cdc.contracts.state import encode_state
from streams.engine.memory import MemoryBroker
from streams.engine.ownership import Ownership
from streams.engine.records import SourceRecord
from streams.settings import WorkerSettings
from streams.worker.gaps import Gaps
from streams.worker.lanes import Lane
from streams.worker.runtime import Runtime
from tests.streams.lives import GENERATION, PARTITION, expected, source_of
from tests.streams.test_engine import Step, check, history, sold_history, steps
from tests.streams.test_ownership import Producers

DEADLINE_S = 120


def runtime_on(broker: MemoryBroker, home: Path) -> Any:
    """Return a worker's runtime whose broker is in memory."""

    @asynccontextmanager
    async def open_log() -> AsyncIterator[MemoryBroker]:
        yield broker

    runtime: Any = Runtime(WorkerSettings(home=home))
    runtime.open_log = open_log
    runtime.producers = Producers(broker)
    failures: list[BaseException] = []
    runtime.ownership = Ownership(
        GENERATION, runtime.producers, open_log, failures.append, runtime.snapshot_writer.find
    )
    runtime.gaps = Gaps(open_log, runtime._fold, runtime.settings.chunk_records)
    return runtime


class Chunks:
    """Worker that gets fetched records through a lane."""

    def __init__(self, runtime: Any, most_records: int) -> None:
        self.failures: list[BaseException] = []
        self._lane = Lane(PARTITION, runtime, most_records, lambda: None, self.failures.append)

    async def put(self, fetched: Sequence[SourceRecord]) -> None:
        self._lane.put(fetched)

    async def close(self) -> None:
        await self._lane.close()


async def until(condition: Callable[[], object]) -> None:
    while not condition():  # noqa: ASYNC110 -- what is waited for has no event
        await asyncio.sleep(0)


async def worked(
    runtime: Any, source: Sequence[SourceRecord], sizes: list[int], most_records: int
) -> Any:
    """Run a worker once with `source` in fetches of these sizes. Return its partition."""
    await runtime.ownership.assign([PARTITION])
    worker = Chunks(runtime, most_records)
    size, rest = itertools.cycle(sizes), list(source)
    while rest:
        taken = next(size)
        await worker.put(rest[:taken])
        rest = rest[taken:]
    owned = await runtime.ownership.owned(PARTITION)
    await until(lambda: not source or owned.next_offset > source[-1].offset)
    async with owned.lock:
        pass  # the last chunk is acknowledged too
    await worker.close()
    await runtime.close()
    return owned


@settings(deadline=None, max_examples=25)
@given(
    plan=steps,
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    most_records=st.integers(1, 12),
    ahead=st.integers(-9, 9),
)
def test_a_restarted_worker_has_the_result_of_one_fold_over_the_topic(
    plan: list[Step], sizes: list[int], most_records: int, ahead: int
) -> None:
    """The worker runs twice. At the second start, the group's offset may be too low or too high."""
    with TemporaryDirectory() as home:
        _live_twice(plan, (sizes, most_records, ahead), Path(home))


def _live_twice(plan: list[Step], fetches: tuple[list[int], int, int], home: Path) -> None:
    sizes, most_records, ahead = fetches
    broker = history(plan)
    source = source_of(broker)
    half = len(source) // 2

    async def lives() -> Any:
        first = runtime_on(broker, home)
        await worked(first, source[:half], sizes, most_records)
        second = runtime_on(broker, home)
        resumed = min(max(0, half + ahead), len(source) - 1)
        return await worked(second, source[resumed:], sizes, 5)

    owned = asyncio.run(asyncio.wait_for(lives(), DEADLINE_S))

    published = {key: encode_state(state) for key, state in owned.published.items()}
    check(broker, published, expected(source))


def test_records_missing_within_a_chunk_are_read_from_the_topic(
    tmp_path: Path,
) -> None:
    """The consumer's offset was moved while records waited for their chunk."""
    broker = sold_history(19)
    source = source_of(broker)
    handed = [*source[:4], *source[7:9], *source[2:6], *source[12:]]

    async def skipping() -> Any:
        runtime = runtime_on(broker, tmp_path)
        return await worked(runtime, handed, [len(handed)], 50)

    owned = asyncio.run(asyncio.wait_for(skipping(), DEADLINE_S))

    published = {key: encode_state(state) for key, state in owned.published.items()}
    check(broker, published, expected(source))


def test_a_fenced_worker_fails_before_it_acknowledges_a_record(tmp_path: Path) -> None:
    broker = sold_history(9)

    async def fenced() -> list[BaseException]:
        runtime = runtime_on(broker, tmp_path)
        await runtime.ownership.assign([PARTITION])
        assert await runtime.ready(PARTITION)
        broker.writer(PARTITION)
        worker = Chunks(runtime, 5)
        await worker.put(source_of(broker))
        await until(lambda: worker.failures)
        await worker.close()
        return worker.failures

    reasons = asyncio.run(asyncio.wait_for(fenced(), DEADLINE_S))

    assert type(reasons[0]).__name__ == "Fenced"


def test_a_worker_folds_no_record_of_a_revoked_partition(tmp_path: Path) -> None:
    broker = sold_history(9)

    async def taken() -> Any:
        runtime = runtime_on(broker, tmp_path)
        await runtime.ownership.assign([PARTITION])
        owned = await runtime.ownership.owned(PARTITION)
        await runtime.ownership.revoked()
        worker = Chunks(runtime, 50)
        await worker.put(source_of(broker))
        for _ in range(50):
            await asyncio.sleep(0)
        await worker.close()
        assert not await runtime.handle_chunk(PARTITION, source_of(broker))
        return owned

    assert asyncio.run(asyncio.wait_for(taken(), DEADLINE_S)).next_offset == 0


def test_a_lane_handles_single_records_at_once_and_batches_many_records(tmp_path: Path) -> None:
    """A lane pauses as long as its last transaction took, unless many records wait."""
    broker = sold_history(400)
    source = source_of(broker)
    chunks: list[int] = []

    class Slow:
        async def ready(self, _partition: int) -> bool:
            return True

        async def handle_chunk(self, _partition: int, chunk: Sequence[SourceRecord]) -> bool:
            chunks.append(len(chunk))
            await asyncio.sleep(0.01)
            return True

    async def flow() -> None:
        lane = Lane(PARTITION, Slow(), 100, lambda: None, lambda _error: None)
        lane.put(source[:1])
        await until(lambda: chunks)
        for record in source[1:20]:
            lane.put([record])
        await until(lambda: lane.position == 20)
        lane.put(source[20:400])
        await until(lambda: lane.position == 400)
        await lane.close()

    asyncio.run(asyncio.wait_for(flow(), DEADLINE_S))

    assert chunks == [1, 19, 100, 100, 100, 80]
