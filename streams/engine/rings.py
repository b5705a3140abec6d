"""The restore of a partition's dedupe ring from its source topic (domain.md 4)."""

from collections.abc import AsyncIterator

from cdc.contracts.decode import Malformed, decode
from cdc.contracts.progress import Progress
from cdc.contracts.topics import STOCK_EVENTS
from inventory.log.dedupe import Member, Ring
from inventory.model.record import Record
from streams.engine.mismatch import refuse_truncated_source
from streams.engine.records import Log
from streams.engine.snapshot import Snapshot
from streams.engine.undecodable import RECENT

# Without a usable snapshot, at least this many records are read, to find the undecodable ones.
LOOK_BACK = RECENT


async def rebuild_ring(
    ring: Ring, number: int, progress: Progress, log: Log, base: Snapshot | None
) -> list[int]:
    """Fill the empty dedupe ring with the records before `progress.next_offset`.

    The first record that the ring needs is at `progress.ring_from`. If the snapshot `base` includes
    all records before that offset, use the snapshot's ring and replay only later records.

    Return the offsets of undecodable records. All that are among the last `LOOK_BACK` records
    before `progress.next_offset` are included; earlier ones may be missing.

    Raises:
        LogMismatch: the topic was truncated within the records that the ring needs.
    """
    if base is not None and _is_between(base.progress, progress):
        _resume(ring, base.progress, base.ring, base.newest_resent_us)
        undecodable = list(base.undecodable)
        start = base.progress.next_offset
    else:
        first, _ = await log.bounds(STOCK_EVENTS, number)
        refuse_truncated_source(number, progress, first)
        if progress.ring_from > 0:
            _resume(ring, progress)
        undecodable = []
        start = max(first, min(progress.ring_from, progress.next_offset - LOOK_BACK))
    async for offset, record in _records(log, number, start, progress.next_offset):
        if record is None:
            undecodable.append(offset)
        else:
            ring.replay(record)
    return undecodable


def _is_between(known: Progress, wanted: Progress) -> bool:
    """Return True if the snapshot's ring can be continued up to the restored state.

    `known` is the snapshot's progress, and `wanted` that of the restored state. The condition is:
    `ring_from` of the restored state ≤ next offset of the snapshot ≤ restored next offset.
    """
    return wanted.ring_from <= known.next_offset <= wanted.next_offset


def _resume(
    ring: Ring,
    progress: Progress,
    members: tuple[Member, ...] = (),
    newest_resent_us: int | None = None,
) -> None:
    ring.resume(
        newest_commit_us=progress.newest_commit_us,
        highest_lsn=progress.highest_lsn,
        streamed=progress.streamed,
        newest_resent_us=newest_resent_us,
        members=members,
    )


async def _records(
    log: Log, number: int, start: int, end: int
) -> AsyncIterator[tuple[int, Record | None]]:
    """Yield offset and record of [start, end) of the source topic.

    The record is None if it can't be decoded.
    """
    async for batch in log.read(STOCK_EVENTS, number, start, end):
        for source in batch:
            try:
                record = decode(source.key, source.value, offset=source.offset)
            except Malformed:
                record = None
            yield source.offset, record
