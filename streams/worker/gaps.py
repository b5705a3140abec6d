"""Records that no consumer will hand over, read from the topic.

The group's offset is a hint. Behind one that lies too far ahead a consumer waits for what comes
next, perhaps for hours, while records before it wait for the consumer. And the last offsets of a
log may be no records at all: those of a transaction that somebody aborted, and its marker.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

import structlog

from cdc.contracts.topics import STOCK_EVENTS
from streams.engine.records import Log, LogRecord, SourceRecord
from streams.engine.store import OwnedPartition

AT_ONCE: Final = 20_000  # offsets between two looks: a rebalance waits for what is in work

Fold = Callable[[Sequence[SourceRecord], OwnedPartition], Awaitable[None]]

log = structlog.get_logger(__name__)


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
        self._fed: dict[int, OwnedPartition] = {}
        self._seen: dict[int, tuple[OwnedPartition, int]] = {}

    def fed(self, owned: OwnedPartition) -> None:
        """Note that the consumer has handed something over in this life of the partition."""
        self._fed[owned.number] = owned

    async def read(self, owned: OwnedPartition, until: int) -> None:
        """Fold what the topic has before `until`; call it under the partition's lock."""
        log.warning("reading a gap", partition=owned.number, start=owned.next_offset, end=until)
        async with self._open_log() as reader:
            async for batch in reader.read(STOCK_EVENTS, owned.number, owned.next_offset, until):
                records = [SourceRecord(r.offset, r.key, r.value) for r in batch]
                for begin in range(0, len(records), self._most_records):
                    part = records[begin : begin + self._most_records]
                    # What stands before it was not read, so it is a hole and no record.
                    owned.next_offset = max(owned.next_offset, part[0].offset)
                    await self._fold(part, owned)
        owned.next_offset = until  # what is still missing is no record, but a hole in the offsets
        owned.publish(())

    async def look(
        self, owned: OwnedPartition, end: int, is_ready: Callable[[OwnedPartition], bool]
    ) -> None:
        """Go on by ourselves where offsets before `end` wait at the second look in a row.

        Records are left to a consumer that has handed over others: it may be slow, and whether it
        has fallen silent is judged by the watchdog.
        """
        before = self._seen.get(owned.number)
        self._seen[owned.number] = (owned, owned.next_offset)
        if owned.next_offset >= end or before != (owned, owned.next_offset):
            return
        async with owned.lock:
            if not is_ready(owned) or before != (owned, owned.next_offset):
                return
            until = min(end, owned.next_offset + AT_ONCE)
            if self._fed.get(owned.number) is not owned or not await self._first(owned, until):
                await self.read(owned, until)

    async def _first(self, owned: OwnedPartition, until: int) -> LogRecord | None:
        """The next record, None if there is none before `until`."""
        async with self._open_log() as reader:
            async for batch in reader.read(STOCK_EVENTS, owned.number, owned.next_offset, until):
                return batch[0]
        return None
