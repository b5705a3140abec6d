"""Records that no consumer will hand over, read from the topic.

The group's offset is a hint. Behind one that lies too far ahead a consumer waits for what comes
next, perhaps for hours, while records before it wait for the consumer. And the last offsets of a
log may be no records at all: those of a transaction that somebody aborted, and its marker.
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
    """What was seen of one life of a partition, from its restore to its end.

    `first_end` is where the topic ended at the first look: what comes later is the consumer's.
    """

    is_fed: bool = False
    first_end: int | None = None
    place: int | None = None  # at the look before


class Gaps:
    """Reads and folds what lies between the state of a partition and its consumer."""

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
        """Note that the consumer has handed something over in this life of the partition."""
        self._life(owned).is_fed = True

    async def idle(self) -> None:
        """Wait until nothing is folded that a look has found."""
        async with self._turn:
            pass

    async def read(
        self, owned: OwnedPartition, until: int, is_ready: IsReady = lambda _owned: True
    ) -> None:
        """Fold what the topic has before `until`; call it under the partition's lock.

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
                    # What stands before it was not read, so it is a hole and no record.
                    owned.next_offset = max(owned.next_offset, part[0].offset)
                    await self._fold(part, owned)
        owned.next_offset = until  # what is still missing is no record, but a hole in the offsets
        owned.publish(())
        log.info("read a gap", partition=owned.number, start=start, end=until)

    async def look(self, owned: OwnedPartition, end: int, is_ready: IsReady) -> None:
        """Go on by ourselves where offsets before `end` wait at the second look in a row.

        Records are left to a consumer that has handed over others, and those that were written
        after the first look to any: it may be slow, and whether it is silent judges the watchdog.
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
