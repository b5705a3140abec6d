"""The dedupe ring of a restored partition: its content depends on the source topic alone."""

from cdc.contracts.decode import Malformed, decode
from cdc.contracts.progress import Progress
from cdc.contracts.topics import STOCK_EVENTS
from inventory.dedupe import HORIZON_US, Ring
from inventory.model.record import Record
from streams.engine.mismatch import refuse_cut_ring
from streams.engine.records import Log, LogRecord
from streams.engine.snapshot import Snapshot

CLOCK_SLACK_MS = 60_000  # how far Connect's clock may lag behind Postgres' when we search by time
STEP_BACK = 5_000  # records; so many in a row that the ring forgets, and nothing before them counts
CATCH_UP = 100_000  # records behind a snapshot; beyond, two minutes of the topic are read sooner


async def rebuild_ring(
    ring: Ring, number: int, progress: Progress, log: Log, base: Snapshot | None
) -> list[int]:
    """Let `ring` remember the records before `progress.next_offset` that lie in its horizon.

    Returns the offsets of those that can't be decoded, as far back as the topic was read: some
    thousands of records, or to where the snapshot knows them.

    Raises:
        LogMismatch: the topic was cut off behind what the ring has to know.
    """
    replay = _Replay(ring, number, log)
    if base is not None and 0 <= progress.next_offset - base.progress.next_offset <= CATCH_UP:
        _resume(ring, base.progress)
        for commit_us, (table, primary_key, lsn, op) in base.ring:
            ring.replay(Record(0, "", table, op, None, {"id": primary_key}, lsn, commit_us))
        await replay.read(base.progress.next_offset, progress.next_offset)
        return [*base.undecodable, *replay.undecodable]
    _resume(ring, progress)
    first, _ = await log.bounds(STOCK_EVENTS, number)
    if not progress.streamed:
        refuse_cut_ring(number, first)
        await replay.read(first, progress.next_offset)
    elif progress.newest_commit_us is not None:
        await _replay_back(replay, progress.newest_commit_us, (first, progress))
    return sorted(replay.undecodable)


async def _replay_back(replay: "_Replay", newest_us: int, bounds: tuple[int, Progress]) -> None:
    """Replay the end of the topic, further and further back, until nothing before it is missing.

    A record is written to the topic after it was committed, so a search by topic time can only
    begin too early, unless a clock was set back: then newer commits lie before older ones. So the
    newest commit of all must have been seen, and before it a whole step that is too old. A shorter
    one, up to where the topic begins, says nothing about what was cut off.
    """
    first, progress = bounds
    oldest_us = newest_us - HORIZON_US
    end = progress.next_offset
    found = await replay.offset_at(oldest_us // 1000 - CLOCK_SLACK_MS)
    start = max(first, end if found is None else min(end, found))
    is_newest_seen = False
    while True:
        commits = await replay.read(start, end)
        is_newest_seen = is_newest_seen or newest_us in commits
        # A step without any commit time, of garbage only, says nothing about what lies before it.
        is_step = end < progress.next_offset and end - start == STEP_BACK
        is_old = is_step and max(commits, default=newest_us) < oldest_us
        if is_newest_seen and is_old:
            return
        if start == first:
            refuse_cut_ring(replay.number, first)
            return
        start, end = max(first, start - STEP_BACK), start


class _Replay:
    """Reads parts of the source topic into a ring, and keeps where nothing could be decoded."""

    def __init__(self, ring: Ring, number: int, log: Log) -> None:
        self._ring = ring
        self._log = log
        self.number = number
        self.undecodable: list[int] = []

    async def offset_at(self, timestamp_ms: int) -> int | None:
        """First offset written at or after the time, None if there is none."""
        return await self._log.offset_at(STOCK_EVENTS, self.number, timestamp_ms)

    async def read(self, start: int, end: int) -> list[int]:
        """Commit times of the records of [start, end), which the ring has seen then."""
        commits = []
        async for batch in self._log.read(STOCK_EVENTS, self.number, start, end):
            for source in batch:
                record = _decoded(source)
                if record is None:
                    self.undecodable.append(source.offset)
                    continue
                self._ring.replay(record)
                commits.append(record.commit_us)
        return commits


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
