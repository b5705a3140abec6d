"""The dedupe ring of a restored partition: its content depends on the source topic alone."""

from cdc.contracts.decode import Malformed, decode
from cdc.contracts.progress import Progress
from cdc.contracts.topics import STOCK_EVENTS
from inventory.dedupe import HORIZON_US, Ring
from inventory.model.record import Record
from streams.engine.records import Log, LogRecord
from streams.engine.snapshot import Snapshot

CLOCK_SLACK_MS = 60_000  # how far Connect's clock may lag behind Postgres' when we search by time
STEP_BACK = 20_000  # records, when the first search did not go back far enough
CATCH_UP = 100_000  # records behind a snapshot; beyond, two minutes of the topic are read sooner


async def rebuild_ring(
    ring: Ring, number: int, progress: Progress, log: Log, base: Snapshot | None
) -> None:
    """Let `ring` remember the records before `progress.next_offset` that lie in its horizon."""
    if base is not None and 0 <= progress.next_offset - base.progress.next_offset <= CATCH_UP:
        _resume(ring, base.progress)
        for commit_us, (table, primary_key, lsn, op) in base.ring:
            ring.replay(Record(0, "", table, op, None, {"id": primary_key}, lsn, commit_us))
        start = base.progress.next_offset
    else:
        _resume(ring, progress)
        start = await _ring_start(number, progress, log)
    async for batch in log.read(STOCK_EVENTS, number, start, progress.next_offset):
        for source in batch:
            record = _decoded(source)
            if record is not None:
                ring.replay(record)


def _resume(ring: Ring, progress: Progress) -> None:
    ring.resume(
        newest_commit_us=progress.newest_commit_us,
        highest_lsn=progress.highest_lsn,
        streamed=progress.streamed,
    )


async def _ring_start(number: int, progress: Progress, log: Log) -> int:
    """An offset before which no record belongs to the ring.

    A record is written to the topic after it was committed, so the search by topic time can only
    begin too early; where clocks disagree, the check of the first record goes further back.
    """
    first, _ = await log.bounds(STOCK_EVENTS, number)
    newest_us = progress.newest_commit_us
    if newest_us is None or not progress.streamed:
        return first  # nothing to remember, or a snapshot, which the ring never forgets
    oldest_us = newest_us - HORIZON_US
    start = await log.offset_at(STOCK_EVENTS, number, oldest_us // 1000 - CLOCK_SLACK_MS)
    start = progress.next_offset if start is None else min(start, progress.next_offset)
    while start > first:
        start = max(first, start - 1)
        commit_us = await _commit_us_at(number, start, progress.next_offset, log)
        if commit_us is not None and commit_us < oldest_us:
            return start
        start = max(first, start - STEP_BACK)
    return start


async def _commit_us_at(number: int, start: int, end: int, log: Log) -> int | None:
    """Commit time of the first decodable record from `start` on."""
    async for batch in log.read(STOCK_EVENTS, number, start, end):
        for source in batch:
            record = _decoded(source)
            if record is not None:
                return record.commit_us
    return None


def _decoded(source: LogRecord) -> Record | None:
    try:
        return decode(source.key, source.value, offset=source.offset)
    except Malformed:
        return None
