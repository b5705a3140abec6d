"""The assembly of a partition's states from its two changelogs, levels and window rows.

States remain encoded as in the changelog, because most keys get no record in the next hour.
Decoding all of them at restore takes three times as long.
"""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from cdc.contracts.progress import Progress, progress_in
from cdc.contracts.state import decode_window
from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG
from inventory.model.arithmetic import WINDOW_US
from inventory.model.ids import InvKey
from inventory.model.windows import horizon_us
from streams.engine.cold import SLOTS, ColdStates, Document
from streams.engine.level_scan import scan_level
from streams.engine.mismatch import REPAIR, LogMismatch, TornChangelogs
from streams.engine.retained import Retained

_Json = dict[str, Any]
_Rows = dict[int, tuple[_Json, _Json]]  # window start -> row, position of its key's state

BLOCKS_AT_ONCE: Final = 4  # a few milliseconds of work


class Assembly:
    """A builder of the states of partition `number`, from its changelog records in order.

    The last record of each key and of each window has the newest content. A level also overwrites
    the window rows that it contains. With a snapshot's states as `base`, only later changelog
    records need to be added. Earlier records may be added again, which changes nothing.

    `open_keys` are the keys with an open need or price proposal. `carried` maps a key to the starts
    of the window rows that its last level contains.
    """

    def __init__(
        self, number: int, base: ColdStates | None = None, open_keys: Iterable[InvKey] = ()
    ) -> None:
        self._number = number
        self._base = base
        self._levels = ColdStates()
        self._waiting_levels: dict[InvKey, bytes] = {}
        self._rows: dict[InvKey, dict[int, bytes]] = {}
        self._numbers = Retained(number)
        self.open_keys = set(open_keys)
        self.carried: dict[InvKey, tuple[int, ...]] = {}
        self.progress: Progress | None = None
        self._level_of_progress: bytes | None = None  # content of the level with the last progress
        self.records = 0

    def add_level(
        self, content: bytes, headers: tuple[tuple[str, bytes], ...], at_ms: int = 0
    ) -> None:
        """Add one record of the level changelog, written at `at_ms`.

        Raises:
            UnreadableRecord: `content` is no level of this version.
        """
        facts = scan_level(content)
        self.records += 1
        progress = progress_in(headers)
        if progress is not None:
            self.progress = progress
            self._level_of_progress = content
        self._numbers.store_count(facts.key, headers, at_ms)
        self.carried.pop(facts.key, None)
        if facts.carried:
            self.carried[facts.key] = facts.carried
        if facts.is_open:
            self.open_keys.add(facts.key)
        else:
            self.open_keys.discard(facts.key)
        self._waiting_levels[facts.key] = content
        if len(self._waiting_levels) == SLOTS:
            self._store_levels()

    @property
    def generation(self) -> int | None:
        """Return the generation of the state's source log, or None without a progress header."""
        level = _parsed(self._level_of_progress)
        return None if level is None else level["position"]["generation"]

    def add_window(self, content: bytes) -> None:
        """Add one record of the window changelog.

        Raises:
            UnreadableRecord: `content` is no window of this version.
        """
        key, row, _position = decode_window(content)
        self._rows.setdefault(key, {})[row.start_us] = content
        self.records += 1

    async def states(self, next_offset: int) -> ColdStates:
        """Return all states. With a base, the result is the base, updated in place.

        Other tasks of the event loop run after every `BLOCKS_AT_ONCE` blocks. `next_offset` is the
        restored progress. Window rows of a key without a level are ignored if their offset is at
        least `next_offset`.

        Raises:
            TornChangelogs: a window row is newer than its level. Both are written in one
            transaction, so one of the changelogs has lost records.
            LogMismatch: fewer window rows exist than a level's header `retained` counts, or window
            rows have no level.
        """
        self._store_levels()
        cold = self._levels if self._base is None else self._base
        with_changes = {key for key in self._rows if key in self._levels or key in cold}
        self._refuse_lost_levels(self._rows.keys() - with_changes, next_offset)
        if self._base is not None:
            with_changes.update(self._levels)
        if with_changes:
            await _paced(cold.add_documents(self._merged(self._levels.in_order(with_changes))))
            await _paced(cold.add_documents(cold.sparse()))
        self._numbers.check_others(with_changes, self.carried)
        return cold

    def _refuse_lost_levels(self, keys: Iterable[InvKey], next_offset: int) -> None:
        for key in keys:
            rows = self._known_rows(key, None)
            if any(position["offset"] < next_offset for _, position in rows.values()):
                problem = (
                    f"{ON_HAND_CHANGELOG}[{self._number}] has no level of {key}, but "
                    f"{SALES_WINDOWS_CHANGELOG} has rows of it: the level was deleted; {REPAIR}"
                )
                raise LogMismatch(problem)

    def _store_levels(self) -> None:
        _exhaust(self._levels.add_documents(self._waiting_levels.items()))
        self._waiting_levels = {}

    def _merged(self, keys: Iterable[InvKey]) -> Iterator[Document]:
        for key in keys:
            before = None if self._base is None else _parsed(self._base.document(key))
            level = _parsed(self._levels.document(key))
            newest = level or before
            if newest is None:
                continue  # without a level there is no state
            rows = self._retained(newest, self._known_rows(key, before))
            rows.update({row["start_us"]: row for row in newest["rows"] if newest is level})
            self._numbers.check(key, len(rows))
            newest["rows"] = [rows[start] for start in sorted(rows)]
            yield key, orjson.dumps(newest, option=orjson.OPT_SORT_KEYS)

    def _known_rows(self, key: InvKey, before: _Json | None) -> _Rows:
        rows: _Rows = {}
        if before is not None:
            rows.update({row["start_us"]: (row, before["position"]) for row in before["rows"]})
        for start_us, content in self._rows.get(key, {}).items():
            record = orjson.loads(content)
            rows[start_us] = (record["row"], record["position"])
        return rows

    def _retained(self, newest: _Json, rows: _Rows) -> dict[int, _Json]:
        expired_until_us = horizon_us(newest["stream_time_us"])
        kept: dict[int, _Json] = {}
        for start_us, (row, position) in rows.items():
            if _order(position) > _order(newest["position"]):
                problem = (
                    f"{SALES_WINDOWS_CHANGELOG}[{self._number}] {newest['inv_key']}@{start_us}: "
                    f"position {position} is newer than the level's {newest['position']}"
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


def _order(position: _Json) -> tuple[int, int]:
    return position["generation"], position["offset"]
