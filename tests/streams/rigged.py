"""Faust's real consumer. The test provides its fetches, and can block the handling of chunks."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from aiokafka import TopicPartition
from faust.transport.consumer import Fetcher
from faust.types import TP

from cdc.contracts.topics import STOCK_EVENTS
from streams.app import create_app
from streams.engine.records import SourceRecord
from streams.settings import WorkerSettings
from streams.worker.chunks import consume_chunks

DEADLINE_S = 120
ONE, TWO, OTHER = TP(STOCK_EVENTS, 1), TP(STOCK_EVENTS, 2), TP("reference.product", 0)


@dataclass
class Engine:
    """Replacement of a worker's runtime. It finishes a chunk when the test sets `open`."""

    chunks: list[tuple[int, list[int]]] = field(default_factory=list)
    open: asyncio.Event = field(default_factory=asyncio.Event)
    mine: bool = True
    error: BaseException | None = None
    failures: list[BaseException] = field(default_factory=list)
    began: asyncio.Event = field(default_factory=asyncio.Event)
    finished: list[int] = field(default_factory=list)

    async def ready(self, _partition: int) -> bool:
        return self.mine

    async def handle_chunk(self, partition: int, chunk: Sequence[SourceRecord]) -> bool:
        self.chunks.append((partition, [record.offset for record in chunk]))
        self.began.set()
        await self.open.wait()
        if self.error is not None:
            raise self.error
        self.finished.append(partition)
        return self.mine


def record(tp: TP, offset: int) -> Any:
    return SimpleNamespace(
        topic=tp.topic, partition=tp.partition, offset=offset, key=b"k", value=b"v", headers=(),
        timestamp=0, timestamp_type=0, checksum=None, serialized_key_size=1,
        serialized_value_size=1,
    )  # fmt: skip


class Rig:
    """A real ChunkConsumer of a real app. Only the broker's answers come from the test."""

    def __init__(self, engine: Engine, most_records: int = 100) -> None:
        self.engine = engine
        self.app = create_app(WorkerSettings())
        self.fetched: deque[dict[TP, list[Any]]] = deque()
        self.empty = asyncio.Event()
        self.committed: list[dict[TP, int]] = []
        self.passed_on: list[int] = []
        consume_chunks(
            self.app,
            hot_topic=STOCK_EVENTS,
            handler=engine,
            most_records=most_records,
            on_failure=engine.failures.append,
        )
        consumer = self.app.transport.create_consumer(
            callback=self.pass_on,
            on_partitions_revoked=self.revoke,
            on_partitions_assigned=self.assign,
            beacon=self.app.beacon,
        )
        consumer._getmany = self.getmany
        consumer._commit = self.commit
        consumer.assignment = lambda: {ONE, TWO, OTHER}
        consumer.seek_to_committed = self.seek_to_committed
        consumer._set_active_tps({ONE, TWO, OTHER})
        self.consumer = consumer
        self.app.consumer = consumer
        self.app.producer = SimpleNamespace(flush=self.nothing)
        self.sought = 0

    async def nothing(self) -> None:
        return None

    async def pass_on(self, message: Any) -> None:
        self.passed_on.append(message.offset)

    async def revoke(self, _revoked: set[TP]) -> None:
        """Do the steps of Faust's app: stop the flow, wait for the work, commit."""
        self.consumer.stop_flow()
        self.consumer.pause_partitions({ONE, TWO, OTHER})
        await self.consumer.wait_empty()

    async def assign(self, _assigned: set[TP], _generation: int) -> None:
        return None

    async def seek_to_committed(self) -> dict[TP, int]:
        self.sought += 1
        return {}

    async def commit(self, offsets: dict[TP, int]) -> bool:
        self.committed.append(dict(offsets))
        return True

    async def getmany(self, *, active_partitions: set[TP], **_timeout: float) -> Any:
        if not self.fetched:
            self.empty.set()
            await asyncio.sleep(0.001)
            return {}
        everything = self.fetched.popleft()
        paused = {tp: rows for tp, rows in everything.items() if tp not in active_partitions}
        if paused:
            self.fetched.appendleft(paused)
        # The real driver returns keys of aiokafka's class, not Faust's `TP`.
        return {
            TopicPartition(tp.topic, tp.partition): rows
            for tp, rows in everything.items()
            if tp in active_partitions
        }

    def fetch(self, *records: tuple[TP, Sequence[int]]) -> None:
        self.fetched.append({tp: [record(tp, n) for n in offsets] for tp, offsets in records})

    def close(self) -> None:
        """End the loop of the consumer's thread, which was never started."""
        self.consumer._thread.thread_loop.close()

    async def drained(self, test: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run `test` while the consumer's own drain loop runs."""
        fetcher = Fetcher(self.app, loop=asyncio.get_running_loop(), beacon=self.app.beacon)
        draining = asyncio.create_task(self.consumer._drain_messages(fetcher))
        try:
            await asyncio.wait_for(test(), DEADLINE_S)
        finally:
            fetcher._stopped.set()
            self.engine.open.set()
            draining.cancel()
            await asyncio.wait([draining])
            for lane in self.consumer._lanes.values():
                await lane.close()


@contextmanager
def rigged(most_records: int = 100) -> Iterator[Rig]:
    rig = Rig(Engine(), most_records)
    try:
        yield rig
    finally:
        rig.close()


async def until(condition: Callable[[], object]) -> None:
    while not condition():  # noqa: ASYNC110 -- the condition is Faust's, which has no event for it
        await asyncio.sleep(0.001)


def run(test: Callable[[Rig], Coroutine[Any, Any, None]], most_records: int = 100) -> Rig:
    async def inside() -> Rig:
        with rigged(most_records) as rig:
            await rig.drained(lambda: test(rig))
            return rig

    return asyncio.run(inside())
