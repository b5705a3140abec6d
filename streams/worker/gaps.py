"""A reader of gaps: ranges of offsets whose records the consumer will not deliver.

If the group's committed offset is too far ahead, the consumer never reads the records before it.
This module reads them from the topic. It also moves the state's next offset past offsets that have
no records: those of an aborted transaction and of its marker.
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

READ_AT_ONCE: Final = 20_000  # most offsets of a partition that one check reads

Fold = Callable[[Sequence[SourceRecord], OwnedPartition], Awaitable[None]]
IsReady = Callable[[OwnedPartition], bool]

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Observed:
    """The observations of one partition since its restore.

    `has_deliveries` is True once the consumer has delivered records. `first_end` is the end offset
    at the first check. Later records are left to the consumer.
    """

    has_deliveries: bool = False
    first_end: int | None = None
    last_next_offset: int | None = None  # next offset at the previous check


class Gaps:
    """A reader of the records between a partition's next offset and its consumer's position."""

    def __init__(
        self,
        open_log: Callable[[], AbstractAsyncContextManager[Log]],
        fold: Fold,
        most_records: int,
    ) -> None:
        self._open_log = open_log
        self._fold = fold
        self._most_records = most_records
        self._observations: WeakKeyDictionary[OwnedPartition, _Observed] = WeakKeyDictionary()
        self._reading = asyncio.Lock()

    def note_delivery(self, owned: OwnedPartition) -> None:
        """Record that the consumer has delivered records since the partition's restore."""
        self._observed(owned).has_deliveries = True

    async def wait_until_done(self) -> None:
        """Wait until a running `read` has ended."""
        async with self._reading:
            pass

    async def read(
        self, owned: OwnedPartition, until: int, is_ready: IsReady = lambda _owned: True
    ) -> None:
        """Fold the topic's records from the partition's next offset to `until`, exclusive.

        The caller must have the partition's lock. Reading stops between two chunks if `is_ready`
        returns False.
        """
        start = owned.next_offset
        async with self._open_log() as reader:
            async for batch in reader.read(STOCK_EVENTS, owned.number, start, until):
                records = [SourceRecord(r.offset, r.key, r.value) for r in batch]
                for begin in range(0, len(records), self._most_records):
                    if not is_ready(owned):
                        return
                    part = records[begin : begin + self._most_records]
                    # The log has no records at the offsets between the previous part and this one.
                    owned.next_offset = max(owned.next_offset, part[0].offset)
                    await self._fold(part, owned)
        owned.next_offset = until  # the log has no records at the remaining offsets
        owned.publish(())
        log.info(
            "folded offsets that the consumer skipped",
            partition=owned.number,
            start=start,
            end=until,
        )

    async def check(self, owned: OwnedPartition, end: int, is_ready: IsReady) -> None:
        """Fold a gap if the next offset is below `end` and didn't change since the last check.

        A gap is folded only in these two cases:
        - The consumer has delivered no record since the restore, so it may have started too late.
          Read the records that were in the topic at the first check. Leave later records to the
          consumer: if it has stopped, the watchdog detects that.
        - The topic has no record from the next offset up to `end`. Move the next offset to `end`.

        One call handles at most `READ_AT_ONCE` offsets.
        """
        observed = self._observed(owned)
        before, observed.last_next_offset = observed.last_next_offset, owned.next_offset
        if observed.first_end is None:
            observed.first_end = end
        is_waiting = before == owned.next_offset < end
        if not is_waiting or owned.lock.locked():
            return  # not waiting, or a chunk is being folded now
        async with self._reading, owned.lock:
            if is_ready(owned) and before == owned.next_offset:
                await self._read_if_lost(owned, min(end, before + READ_AT_ONCE), observed, is_ready)

    async def _read_if_lost(
        self, owned: OwnedPartition, until: int, observed: _Observed, is_ready: IsReady
    ) -> None:
        missed = 0 if observed.has_deliveries else min(until, observed.first_end or 0)
        if owned.next_offset < missed:
            await self.read(owned, missed, is_ready)
        elif not await self._has_records(owned, until):
            await self.read(owned, until, is_ready)

    async def _has_records(self, owned: OwnedPartition, until: int) -> bool:
        async with self._open_log() as reader:
            async for _batch in reader.read(STOCK_EVENTS, owned.number, owned.next_offset, until):
                return True
        return False

    def _observed(self, owned: OwnedPartition) -> _Observed:
        return self._observations.setdefault(owned, _Observed())
