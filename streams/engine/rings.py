"""The dedupe ring of a restored partition: its content depends on the source topic alone."""

from cdc.contracts.decode import Malformed, decode
from cdc.contracts.progress import Progress
from cdc.contracts.topics import STOCK_EVENTS
from inventory.dedupe import Member, Ring
from inventory.model.record import Record
from streams.engine.mismatch import refuse_cut_ring
from streams.engine.records import Log, LogRecord
from streams.engine.snapshot import Snapshot
from streams.engine.undecodable import RECENT

LOOK_BACK = RECENT  # records; their undecodable ones are counted again, whatever the ring needs


async def rebuild_ring(
    ring: Ring, number: int, progress: Progress, log: Log, base: Snapshot | None
) -> list[int]:
    """Let `ring` remember the records before `progress.next_offset` that lie in its horizon.

    Where they begin the progress says: commit times don't, they go back when a clock is set back.
    Whichever is nearer is replayed, what lies behind a snapshot or everything from there on.

    Returns the offsets of records that can't be decoded, of the last `LOOK_BACK` at least.

    Raises:
        LogMismatch: the topic was cut off behind what the ring has to know.
    """
    if base is not None and _is_between(base.progress, progress):
        _resume(ring, base.progress, base.ring)
        start = base.progress.next_offset
        return [*base.undecodable, *await _replay(ring, number, (start, start, progress), log)]
    _resume(ring, progress)
    first, _ = await log.bounds(STOCK_EVENTS, number)
    refuse_cut_ring(number, progress, first)
    start = max(first, min(progress.ring_from, progress.next_offset - LOOK_BACK))
    return await _replay(ring, number, (start, progress.ring_from, progress), log)


def _is_between(known: Progress, wanted: Progress) -> bool:
    """Whether a snapshot lies between where the ring begins and where the state goes on."""
    return wanted.ring_from <= known.next_offset <= wanted.next_offset


async def _replay(ring: Ring, number: int, span: tuple[int, int, Progress], log: Log) -> list[int]:
    """Read from the first offset, show the ring what lies behind the second; gives bad offsets.

    What lies before is no member, and must not become one: a snapshot row that was sent again has
    the commit time of its second coming, which the ring did not take.
    """
    start, ring_from, progress = span
    undecodable = []
    async for batch in log.read(STOCK_EVENTS, number, start, progress.next_offset):
        for source in batch:
            record = _decoded(source)
            if record is None:
                undecodable.append(source.offset)
            elif source.offset >= ring_from:
                ring.replay(record)
    return undecodable


def _resume(ring: Ring, progress: Progress, members: tuple[Member, ...] = ()) -> None:
    ring.resume(
        newest_commit_us=progress.newest_commit_us,
        highest_lsn=progress.highest_lsn,
        streamed=progress.streamed,
        members=members,
    )


def _decoded(source: LogRecord) -> Record | None:
    try:
        return decode(source.key, source.value, offset=source.offset)
    except Malformed:
        return None
