"""The dedupe ring of a restored partition: its content depends on the source topic alone."""

from collections.abc import AsyncIterator

from cdc.contracts.decode import Malformed, decode
from cdc.contracts.progress import Progress
from cdc.contracts.topics import STOCK_EVENTS
from inventory.dedupe import Member, Ring
from inventory.model.record import Record
from streams.engine.mismatch import refuse_cut_ring
from streams.engine.records import Log
from streams.engine.snapshot import Snapshot
from streams.engine.undecodable import RECENT

LOOK_BACK = RECENT  # records; their undecodable ones are counted again, whatever the ring needs


async def rebuild_ring(
    ring: Ring, number: int, progress: Progress, log: Log, base: Snapshot | None
) -> list[int]:
    """Let `ring`, a new one, remember the records before `progress.next_offset` in its horizon.

    Where they begin the progress says: commit times don't, they go back when a clock is set back.
    Whichever is nearer is replayed, what lies behind a snapshot or everything from there on.

    Returns the offsets of records that can't be decoded, of the last `LOOK_BACK` at least.

    Raises:
        LogMismatch: the topic was cut off behind what the ring has to know.
    """
    if base is not None and _is_between(base.progress, progress):
        _resume(ring, base.progress, base.ring, base.again_us)
        undecodable = list(base.undecodable)
        start = base.progress.next_offset
    else:
        first, _ = await log.bounds(STOCK_EVENTS, number)
        refuse_cut_ring(number, progress, first)
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
    """Whether a snapshot lies between where the ring begins and where the state goes on."""
    return wanted.ring_from <= known.next_offset <= wanted.next_offset


def _resume(
    ring: Ring, progress: Progress, members: tuple[Member, ...] = (), again_us: int | None = None
) -> None:
    ring.resume(
        newest_commit_us=progress.newest_commit_us,
        highest_lsn=progress.highest_lsn,
        streamed=progress.streamed,
        again_us=again_us,
        members=members,
    )


async def _records(
    log: Log, number: int, start: int, end: int
) -> AsyncIterator[tuple[int, Record | None]]:
    """Offset and record of [start, end) of the source; None for what can't be decoded."""
    async for batch in log.read(STOCK_EVENTS, number, start, end):
        for source in batch:
            try:
                record = decode(source.key, source.value, offset=source.offset)
            except Malformed:
                record = None
            yield source.offset, record
