"""The queues between consumer and engine, one lane per partition.

A partition that is being restored, or has a million waiting records, doesn't delay other
partitions. While a chunk is folded and committed, fetched records wait in the lane and form the
next chunk.

After a chunk, a lane without a backlog pauses for as long as the chunk took, at most 0.05 s. Single
records in quick succession then share a transaction.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from streams.engine.records import SourceRecord

BACKLOG_DIVISOR: Final = 4  # a lane doesn't pause if 1/4 of a full chunk is waiting
LONGEST_REST_S: Final = 0.05
MOST_WAITING_CHUNKS: Final = 2  # chunks that may wait before the fetcher skips the partition


class Handler(Protocol):
    """An object that folds chunks: a worker's runtime, or its substitute in a test."""

    async def ready(self, partition: int) -> bool:
        """Wait until the partition's state is restored.

        Return False if the partition is not assigned any more.
        """
        ...

    async def handle_chunk(self, partition: int, chunk: Sequence[SourceRecord]) -> bool:
        """Fold a chunk. Return True once it is acknowledged, False if the partition was revoked."""
        ...


class Lane:
    """The queue of one partition's fetched records, during one assignment.

    `position` is the offset after the last acknowledged record, None before the first. It is the
    offset that may be committed to the group. `on_room` is called after each chunk, `on_failure`
    with an error that ends the lane.
    """

    def __init__(
        self,
        partition: int,
        handler: Handler,
        most_records: int,
        on_room: Callable[[], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self.partition = partition
        self.position: int | None = None
        self._handler = handler
        self._most_records = most_records
        self._on_room = on_room
        self._on_failure = on_failure
        self._waiting: list[SourceRecord] = []
        self._filled = asyncio.Event()
        self._in_work = False
        self.closed = False
        self._task = asyncio.create_task(self._run())

    @property
    def full(self) -> bool:
        """Return True if the fetcher should pause this partition."""
        return len(self._waiting) >= self._most_records * MOST_WAITING_CHUNKS

    def put(self, records: Iterable[SourceRecord]) -> None:
        """Add fetched records, even to a full lane. The fetcher then pauses the partition."""
        self._waiting.extend(records)
        self._filled.set()

    async def close(self) -> None:
        """Wait for the chunk that is being handled, and drop waiting records.

        A chunk is never cancelled halfway.
        """
        self.closed = True
        if not self._in_work:
            self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self) -> None:
        while not self.closed:
            await self._filled.wait()
            try:
                ready = await self._handler.ready(self.partition)
                rest_s = await self._work() if ready else self._drop_waiting()
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001 -- the edge of a task: nothing may be committed
                self._on_failure(error)
                return
            if rest_s and not self.closed:
                await asyncio.sleep(rest_s)

    async def _work(self) -> float:
        """Handle one chunk and return the seconds to pause after it."""
        chunk = self._waiting[: self._most_records]
        del self._waiting[: self._most_records]
        if not self._waiting:
            self._filled.clear()
        self._in_work = True
        began = time.monotonic()
        if await self._handler.handle_chunk(self.partition, chunk):
            self.position = chunk[-1].offset + 1
        took_s = time.monotonic() - began
        self._in_work = False
        self._on_room()
        if len(self._waiting) * BACKLOG_DIVISOR >= self._most_records:
            return 0.0
        return min(took_s, LONGEST_REST_S)

    def _drop_waiting(self) -> float:
        """Drop the waiting records, which the partition's next owner will read. Return 0.0."""
        self._waiting.clear()
        self._filled.clear()
        return 0.0
