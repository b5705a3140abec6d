"""Levels and window rows of two changelogs, put together as the states they were."""

from dataclasses import replace

from cdc.contracts.progress import Progress, progress_in
from cdc.contracts.state import decode_level, decode_window
from cdc.contracts.topics import SALES_WINDOWS_CHANGELOG
from inventory.errors import BrokenInvariant
from inventory.model.arithmetic import WINDOW_US
from inventory.model.ids import InvKey, Position
from inventory.model.state import KeyState, WindowRow
from inventory.windows import horizon_us
from streams.engine.cold import ColdStates

_Rows = dict[int, tuple[WindowRow, Position]]


class Assembly:
    """Puts levels and window rows of one partition together, in changelog order.

    Both changelogs are compacted, so each key and each window comes at least once, the last time
    with its newest content. A level overwrites the rows that it carries. Over a snapshot, `base`,
    only what was written since is read: it may begin too early, because the newest wins.
    """

    def __init__(self, number: int, base: ColdStates | None = None) -> None:
        self._number = number
        self._base = ColdStates() if base is None else base
        self._levels: dict[InvKey, KeyState] = {}
        self._rows: dict[InvKey, _Rows] = {}
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
        """All states that are not in the base as they are, and the rows that came with each level.

        Raises:
            BrokenInvariant: a window row is newer than its level. They are written in one
                transaction, so one of the changelogs has lost records.
        """
        whole: dict[InvKey, KeyState] = {}
        carried: dict[InvKey, tuple[int, ...]] = {}
        touched = [*self._levels, *(key for key in self._rows if key not in self._levels)]
        for key in touched:
            base = self._base.find(key)
            level = self._levels.get(key, base)
            if level is None:
                continue  # rows alone are no state
            rows = self._retained(level, self._known_rows(key, base))
            if level is not base:
                rows.update(level.windows)
                if level.windows:
                    carried[key] = tuple(sorted(level.windows))
            whole[key] = replace(level, windows=rows)
        return whole, carried

    def _known_rows(self, key: InvKey, base: KeyState | None) -> _Rows:
        rows: _Rows = {}
        if base is not None:
            rows.update({start: (row, base.position) for start, row in base.windows.items()})
        rows.update(self._rows.get(key, {}))
        return rows

    def _retained(self, level: KeyState, rows: _Rows) -> dict[int, WindowRow]:
        expired_until_us = horizon_us(level.stream_time_us)
        kept: dict[int, WindowRow] = {}
        for start_us, (row, position) in sorted(rows.items()):
            if _place(position) > _place(level.position):
                problem = (
                    f"{SALES_WINDOWS_CHANGELOG}[{self._number}] {level.key}@{start_us}: position "
                    f"{position} is newer than the level's {level.position}"
                )
                raise BrokenInvariant(problem)
            # Workers drop expired rows without a word to the topic: the read model keeps them.
            if expired_until_us is None or start_us + WINDOW_US > expired_until_us:
                kept[start_us] = row
        return kept


def _place(position: Position) -> tuple[int, int]:
    return position.generation, position.offset
