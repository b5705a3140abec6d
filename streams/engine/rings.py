"""The dedupe ring of a restored partition: its content depends on the source topic alone."""

from cdc.contracts.decode import Malformed, decode
from cdc.contracts.progress import Progress
from cdc.contracts.topics import STOCK_EVENTS
from inventory.dedupe import Ring
from inventory.model.record import Record
from streams.engine.mismatch import refuse_cut_ring
from streams.engine.records import Log, LogRecord
from streams.engine.snapshot import Snapshot
from streams.engine.undecodable import RECENT


async def rebuild_ring(
    ring: Ring, number: int, progress: Progress, log: Log, base: Snapshot | None
) -> list[int]:
    """Let `ring` remember the records before `progress.next_offset` that lie in its horizon.

    Where they begin the progress says: commit times don't, they go back when a clock is set back.
    Whichever is nearer is replayed, what lies behind a snapshot or everything from there on.

    Returns the offsets of those of the last `RECENT` records that can't be decoded.

    Raises:
        LogMismatch: the topic was cut off behind what the ring has to know.
    """
    if base is not None and _is_nearer(base.progress, progress):
        _resume(ring, base.progress)
        for commit_us, (table, primary_key, lsn, op), offset in base.ring:
            ring.replay(Record(offset, "", table, op, None, {"id": primary_key}, lsn, commit_us))
        start = base.progress.next_offset
        return [*base.undecodable, *await _replay(ring, number, (start, progress), log)]
    _resume(ring, progress)
    first, _ = await log.bounds(STOCK_EVENTS, number)
    if progress.ring_from < first:
        refuse_cut_ring(number, first)
    start = max(first, min(progress.ring_from, progress.next_offset - RECENT))
    return await _replay(ring, number, (start, progress), log)


def _is_nearer(known: Progress, wanted: Progress) -> bool:
    """Whether the ring known then is on the way, and less is to be read behind it."""
    return wanted.ring_from <= known.next_offset <= wanted.next_offset


async def _replay(ring: Ring, number: int, span: tuple[int, Progress], log: Log) -> list[int]:
    """Have the ring see the records up to the progress; gives the offsets of undecodable ones."""
    start, progress = span
    undecodable = []
    async for batch in log.read(STOCK_EVENTS, number, start, progress.next_offset):
        for source in batch:
            record = _decoded(source)
            if record is None:
                undecodable.append(source.offset)
            else:
                ring.replay(record)
    return undecodable


def _resume(ring: Ring, progress: Progress) -> None:
    ring.resume(
        newest_commit_us=progress.newest_commit_us,
        highest_lsn=progress.highest_lsn,
        streamed=progress.streamed,
    )


def _decoded(source: LogRecord) -> Record | None:
    try:
        return decode(source.key, source.value, offset=source.offset)
    except Malformed:
        return None
