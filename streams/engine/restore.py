"""State of a partition from its two changelogs and the recent past of its source topic.

Faust's own recovery is not used: it completes by event offsets and hangs where a transaction marker
or a compacted record stands last. Here a reader goes to the end by position.
"""

from collections.abc import Callable
from dataclasses import replace

from cdc.contracts.decode import Malformed, decode
from cdc.contracts.progress import Progress, progress_in
from cdc.contracts.state import decode_level, decode_window
from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG, STOCK_EVENTS
from cdc.contracts.versions import UnreadableRecord
from inventory.dedupe import HORIZON_US
from inventory.errors import BrokenInvariant
from inventory.model.arithmetic import WINDOW_US
from inventory.model.ids import InvKey, Position
from inventory.model.record import Record
from inventory.model.state import KeyState, WindowRow
from inventory.partition import Partition
from inventory.windows import horizon_us
from streams.engine.records import Log, LogRecord
from streams.engine.store import OwnedPartition

CLOCK_SLACK_MS = 60_000  # how far Connect's clock may lag behind Postgres' when we search by time
STEP_BACK = 20_000  # records, when the first search did not go back far enough


class LogMismatch(Exception):
    """Topic and changelog don't belong together: deleted, recreated or cut off (fault F16)."""


class Assembly:
    """Puts levels and window rows of one partition together, in changelog order.

    Both changelogs are compacted, so each key and each window comes at least once, the last time
    with its newest content. A level overwrites the rows that it carries.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._levels: dict[InvKey, KeyState] = {}
        self._rows: dict[InvKey, dict[int, tuple[WindowRow, Position]]] = {}
        self.progress: Progress | None = None
        self.records = 0

    def add_level(self, content: bytes, headers: tuple[tuple[str, bytes], ...]) -> None:
        """Take one record of the level changelog."""
        state, _dropped = decode_level(content)
        self._levels[state.key] = state
        self.records += 1
        self.progress = progress_in(headers) or self.progress

    def add_window(self, content: bytes) -> None:
        """Take one record of the window changelog."""
        key, row, position = decode_window(content)
        self._rows.setdefault(key, {})[row.start_us] = (row, position)
        self.records += 1

    def states(self) -> tuple[dict[InvKey, KeyState], dict[InvKey, tuple[int, ...]]]:
        """All states, and for each key the rows that came with its level.

        Raises:
            BrokenInvariant: a window row is newer than its level. They are written in one
                transaction, so one of the changelogs has lost records.
        """
        whole: dict[InvKey, KeyState] = {}
        carried: dict[InvKey, tuple[int, ...]] = {}
        for key, level in self._levels.items():
            rows = self._retained(key, level)
            rows.update(level.windows)
            if level.windows:
                carried[key] = tuple(sorted(level.windows))
            whole[key] = replace(level, windows=rows)
        return whole, carried

    def _retained(self, key: InvKey, level: KeyState) -> dict[int, WindowRow]:
        expired_until_us = horizon_us(level.stream_time_us)
        kept: dict[int, WindowRow] = {}
        for start_us, (row, position) in sorted(self._rows.get(key, {}).items()):
            if _place(position) > _place(level.position):
                problem = (
                    f"{SALES_WINDOWS_CHANGELOG}[{self._number}] {key}@{start_us}: position "
                    f"{position} is newer than the level's {level.position}"
                )
                raise BrokenInvariant(problem)
            # Workers drop expired rows without a word to the topic: the read model keeps them.
            if expired_until_us is None or start_us + WINDOW_US > expired_until_us:
                kept[start_us] = row
        return kept


async def restore(number: int, generation: int, log: Log) -> OwnedPartition:
    """The partition as its last acknowledged chunk left it.

    Call it only after the partition's producer was initialised: from then on the former owner can
    add nothing to what is read here.

    Raises:
        LogMismatch: the source topic doesn't reach from before to after the restored offset.
        UnreadableRecord: a changelog holds a record of an unknown version; nothing is guessed.
    """
    assembly = Assembly(number)
    changelog_end = await _read_changelogs(number, log, assembly)
    first, end = await log.bounds(STOCK_EVENTS, number)
    progress = assembly.progress or Progress(0, None, None, streamed=False)
    if not first <= progress.next_offset <= end:
        problem = (
            f"{STOCK_EVENTS}[{number}] has offsets {first}..{end}, but the state goes on at "
            f"{progress.next_offset}: the topic was cut off or recreated; start a new generation"
        )
        raise LogMismatch(problem)
    partition = Partition(generation)
    states, carried = assembly.states()
    partition.states.update(states)
    await _rebuild_ring(partition, number, progress, log)
    owned = OwnedPartition(number, partition, progress)
    owned.unsent_rows = carried
    owned.changelog_end = changelog_end
    owned.restored_records = assembly.records
    return owned


async def _read_changelogs(number: int, log: Log, assembly: Assembly) -> int:
    def add_level(record: LogRecord) -> None:
        if record.value is not None:
            assembly.add_level(record.value, record.headers)

    def add_window(record: LogRecord) -> None:
        if record.value is not None:
            assembly.add_window(record.value)

    end = await _read_all(ON_HAND_CHANGELOG, number, log, add_level)
    await _read_all(SALES_WINDOWS_CHANGELOG, number, log, add_window)
    return end


async def _read_all(topic: str, number: int, log: Log, add: Callable[[LogRecord], None]) -> int:
    """Hand every record of the partition to `add`; gives the offset behind the last.

    Raises:
        UnreadableRecord: names the place of a record that this code can't read.
    """
    first, end = await log.bounds(topic, number)
    async for batch in log.read(topic, number, first, end):
        for record in batch:
            try:
                add(record)
            except UnreadableRecord as unreadable:
                raise unreadable.at(topic, number, record.offset) from unreadable
    return end


async def _rebuild_ring(partition: Partition, number: int, progress: Progress, log: Log) -> None:
    """Let the ring remember the records before `progress.next_offset` that lie in its horizon."""
    ring = partition.ring
    ring.resume(
        newest_commit_us=progress.newest_commit_us,
        highest_lsn=progress.highest_lsn,
        streamed=progress.streamed,
    )
    start = await _ring_start(number, progress, log)
    async for batch in log.read(STOCK_EVENTS, number, start, progress.next_offset):
        for source in batch:
            record = _decoded(source)
            if record is not None:
                ring.replay(record)


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


def _place(position: Position) -> tuple[int, int]:
    return position.generation, position.offset
