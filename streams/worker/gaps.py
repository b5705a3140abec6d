"""Records that no consumer will deliver, read from the topic.

The group's offset is a hint. If it is too far ahead, the consumer waits for the next record,
perhaps for hours, while the records before it are never read. The last offsets of a log may also be
no records at all: those of an aborted transaction, and its marker.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

import structlog

from cdc.contracts.topics import STOCK_EVENTS
from streams.engine.records import Log, SourceRecord
from streams.engine.store import OwnedPartition

AT_ONCE: Final = 20_000  # offsets of a partition between two looks

Fold = Callable[[Sequence[SourceRecord], OwnedPartition], Awaitable[None]]
IsReady = Callable[[OwnedPartition], bool]

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Life:
    """Observations of one partition from its restore to its end.

    `first_end` is the topic's end at the first look. Later records belong to the consumer.
    """

    is_fed: bool = False
    first_end: int | None = None
    place: int | None = None  # next offset at the previous look


class Gaps:
    """A reader of the records between a partition's state and its consumer."""

    def __init__(
        self,
        open_log: Callable[[], AbstractAsyncContextManager[Log]],
        fold: Fold,
        most_records: int,
    ) -> None:
        self._open_log = open_log
        self._fold = fold
        self._most_records = most_records
        self._lives: WeakKeyDictionary[OwnedPartition, _Life] = WeakKeyDictionary()
        self._turn = asyncio.Lock()

    def fed(self, owned: OwnedPartition) -> None:
        """Record that the consumer has delivered records since the partition's restore."""
        self._life(owned).is_fed = True

    async def idle(self) -> None:
        """Wait until no gap is being folded."""
        async with self._turn:
            pass

    async def read(
        self, owned: OwnedPartition, until: int, is_ready: IsReady = lambda _owned: True
    ) -> None:
        """Fold the topic's records before `until`. Call it under the partition's lock.

        Stops between two chunks once the partition is not ready any more.
        """
        start = owned.next_offset
        async with self._open_log() as reader:
            async for batch in reader.read(STOCK_EVENTS, owned.number, start, until):
                records = [SourceRecord(r.offset, r.key, r.value) for r in batch]
                for begin in range(0, len(records), self._most_records):
                    if not is_ready(owned):
                        return
                    part = records[begin : begin + self._most_records]
                    # Offsets before it were not read, so they hold no records.
                    owned.next_offset = max(owned.next_offset, part[0].offset)
                    await self._fold(part, owned)
        owned.next_offset = until  # the offsets still missing hold no records
        owned.publish(())
        log.info("read a gap", partition=owned.number, start=start, end=until)

    async def look(self, owned: OwnedPartition, end: int, is_ready: IsReady) -> None:
        """Fold a gap if offsets before `end` wait at two looks in a row.

        A consumer that has delivered records of this partition keeps its records. Records written
        after the first look are left to any consumer: it may be slow, and the watchdog detects a
        silent one.
        """
        life = self._life(owned)
        before, life.place = life.place, owned.next_offset
        if life.first_end is None:
            life.first_end = end
        stands = before == owned.next_offset < end
        if not stands or owned.lock.locked():
            return  # a chunk in work is no gap
        async with self._turn, owned.lock:
            if is_ready(owned) and before == owned.next_offset:
                await self._go_on(owned, min(end, before + AT_ONCE), life, is_ready)

    async def _go_on(
        self, owned: OwnedPartition, until: int, life: _Life, is_ready: IsReady
    ) -> None:
        missed = 0 if life.is_fed else min(until, life.first_end or 0)
        if owned.next_offset < missed:
            await self.read(owned, missed, is_ready)
        elif not await self._has_records(owned, until):
            await self.read(owned, until, is_ready)

    async def _has_records(self, owned: OwnedPartition, until: int) -> bool:
        async with self._open_log() as reader:
            async for _batch in reader.read(STOCK_EVENTS, owned.number, owned.next_offset, until):
                return True
        return False

    def _life(self, owned: OwnedPartition) -> _Life:
        return self._lives.setdefault(owned, _Life())
