"""The assembly of a partition's states from its two changelogs during a restore.

One changelog has levels: the state of a key, but only the window rows that changed with it. The
other one has all window rows. States remain encoded as in the changelog, because most keys get no
record in the next hour. A restore that decodes all of them takes three times as long.
"""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from cdc.contracts.progress import Progress, progress_in
from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG
from inventory.model.arithmetic import WINDOW_US
from inventory.model.ids import InvKey
from inventory.model.windows import horizon_us
from streams.engine.cold import SLOTS, ColdStates, Document
from streams.engine.level_rows import LevelText, Order, Rows, level_text, window_text
from streams.engine.level_scan import scan_level
from streams.engine.mismatch import REPAIR, LogMismatch, TornChangelogs
from streams.engine.retained import Retained

_Json = dict[str, Any]
_Levels = dict[InvKey, bytes]
_Rows = dict[int, tuple[Order, bytes]]  # window start (µs) -> (position of the state, row)

BLOCKS_AT_ONCE: Final = 4  # a few milliseconds of work


class Assembly:
    """A builder of the states of partition `number`, from its changelog records in order.

    The last level (state record) of each key, and the last record of each window, has the newest
    content. A level also replaces the window rows that it contains. With a snapshot's states as
    `base`, only later changelog records need to be added. Earlier records may be added again, which
    changes nothing.

    Add the window changelog before the levels. The other order gives the same states, but takes
    longer.

    `open_keys` are the keys with an open need or price proposal.
    """

    def __init__(
        self, number: int, base: ColdStates | None = None, open_keys: Iterable[InvKey] = ()
    ) -> None:
        self._number = number
        self._base = base
        self._levels = ColdStates()
        # Levels of keys without window records, and levels of keys with them. The two groups fill
        # separate blocks: without a base, `states` reads only the blocks of the second group.
        self._waiting_levels: tuple[_Levels, _Levels] = ({}, {})
        self._rows: dict[InvKey, _Rows] = {}
        self._numbers = Retained(number)
        self.open_keys = set(open_keys)
        self.progress: Progress | None = None
        self._level_of_progress: bytes | None = None  # content of the level with the last progress
        self.records = 0

    def add_level(
        self, content: bytes, headers: tuple[tuple[str, bytes], ...], at_ms: int = 0
    ) -> None:
        """Add one record of the level changelog, written at `at_ms` (ms since 1970 UTC).

        Raises:
            UnreadableRecord: `content` is no level of this version.
        """
        facts = scan_level(content)
        self.records += 1
        progress = progress_in(headers)
        if progress is not None:
            self.progress = progress
            self._level_of_progress = content
        self._numbers.store_count(facts.key, headers, at_ms, rows_in_level=facts.rows_in_level)
        if facts.is_open:
            self.open_keys.add(facts.key)
        else:
            self.open_keys.discard(facts.key)
        has_rows = facts.key in self._rows
        self._waiting_levels[not has_rows].pop(facts.key, None)
        waiting = self._waiting_levels[has_rows]
        waiting[facts.key] = content
        if len(waiting) == SLOTS:
            self._store(waiting)

    @property
    def generation(self) -> int | None:
        """Return the generation of the source log that the levels come from, or None.

        It is None if no level has a progress header (the header with the next offset to fold).
        """
        level = _parsed(self._level_of_progress)
        return None if level is None else level["position"]["generation"]

    def add_window(self, content: bytes) -> None:
        """Add one record of the window changelog.

        Raises:
            UnreadableRecord: `content` is no window of this version.
        """
        window = window_text(content)
        self._rows.setdefault(window.key, {})[window.start_us] = window.order, window.row
        self.records += 1

    async def states(self, next_offset: int) -> ColdStates:
        """Return all states. With a base, the result is the base, updated in place.

        Other tasks of the event loop run after every `BLOCKS_AT_ONCE` blocks. `next_offset` is the
        offset at which the worker will continue. Window rows of a key without a level are ignored
        if they come from records at `next_offset` or later.

        Raises:
            TornChangelogs: a window row is newer than its level. Workers write both in one
            transaction, so one of the changelogs has lost records.
            LogMismatch: a key's number of window rows differs from the number in its level's
            header `retained`, or window rows from records before `next_offset` have no level.
        """
        for waiting in self._waiting_levels:
            self._store(waiting)
        cold = self._levels if self._base is None else self._base
        with_changes = {key for key in self._rows if key in self._levels or key in cold}
        self._refuse_lost_levels(self._rows.keys() - with_changes, next_offset)
        if self._base is not None:
            with_changes.update(self._levels)
        if with_changes:
            await _paced(cold.add_documents(self._merged(self._levels.in_order(with_changes))))
            await _paced(cold.add_documents(cold.sparse()))
        self._numbers.check_others(with_changes)
        return cold

    def _refuse_lost_levels(self, keys: Iterable[InvKey], next_offset: int) -> None:
        for key in keys:
            if any(offset < next_offset for (_, offset), _ in self._rows[key].values()):
                problem = (
                    f"{ON_HAND_CHANGELOG}[{self._number}] has no level of {key}, but "
                    f"{SALES_WINDOWS_CHANGELOG} has rows of this key. So the level was deleted; "
                    f"{REPAIR}"
                )
                raise LogMismatch(problem)

    def _store(self, waiting: _Levels) -> None:
        _exhaust(self._levels.add_documents(waiting.items()))
        waiting.clear()

    def _merged(self, keys: Iterable[InvKey]) -> Iterator[Document]:
        for key in keys:
            before = None if self._base is None else self._base.document(key)
            level = self._levels.document(key)
            content = level or before
            if content is None:
                continue  # without a level there is no state
            newest = level_text(content)
            rows: _Rows = {}
            if before is not None:
                old = newest if level is None else level_text(before)
                rows.update({start_us: (old.order, row) for start_us, row in old.rows.items()})
            rows.update(self._rows.get(key, {}))
            kept = self._retained(key, newest, rows)
            if level is not None:
                kept.update(newest.rows)
            self._numbers.check(key, len(kept))
            yield key, newest.with_rows(kept)

    def _retained(self, key: InvKey, newest: LevelText, rows: _Rows) -> Rows:
        expired_until_us = horizon_us(newest.stream_time_us)
        kept: Rows = {}
        for start_us, (order, row) in rows.items():
            if order > newest.order:
                problem = (
                    f"{SALES_WINDOWS_CHANGELOG}[{self._number}] {key}@{start_us}: the row has "
                    f"generation and offset {order}, but the newest level of the key has only "
                    f"{newest.order}"
                )
                raise TornChangelogs(problem)
            # Workers write no tombstones for expired rows, because the read model keeps these rows.
            if expired_until_us is None or start_us + WINDOW_US > expired_until_us:
                kept[start_us] = row
        return kept


def _exhaust(blocks: Iterator[object]) -> None:
    for _block in blocks:
        pass


async def _paced(blocks: Iterable[object]) -> None:
    for number, _block in enumerate(blocks, 1):
        if number % BLOCKS_AT_ONCE == 0:
            await asyncio.sleep(0)


def _parsed(document: bytes | None) -> _Json | None:
    return None if document is None else orjson.loads(document)
