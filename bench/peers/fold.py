"""The job in this project's peer programs: parse a sale line, add its units, collect changed rows.

Each row has the offset of the last record that it includes. A record that is read again after a
crash doesn't change its row; the row is only written again.
"""

import struct
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

import orjson

from bench.peers.sales import GRACE_S, WINDOW_S

Row = tuple[int, int]  # units, offset of the last record included

_ROW: Final = struct.Struct(">qq")
_NOTHING: Final[Row] = (0, -1)


def read_line(value: bytes) -> tuple[int, int]:
    """Return units and business time (seconds since 1970) of the sale line in `value`."""
    after = orjson.loads(value)["after"]
    return after["quantity_units"], int(datetime.fromisoformat(after["occurred_at"]).timestamp())


def window_key(key: bytes, start_s: int) -> bytes:
    """Return the changelog key of one window."""
    return b"%b@%d" % (key, start_s)


def split_window_key(key: bytes) -> tuple[bytes, int]:
    """Return key and start (seconds) of a window from its changelog key."""
    name, _, start = key.rpartition(b"@")
    return name, int(start)


def encode_row(row: Row) -> bytes:
    """Return a row as 16 bytes."""
    return _ROW.pack(*row)


def decode_row(content: bytes) -> Row:
    """Return the row that `encode_row` encoded."""
    units, offset = _ROW.unpack(content)
    return units, offset


class PartitionSums:
    """State of one partition: on-hand of its keys, and the windows that are still open.

    A window closes when the newest business time of the partition reaches the window's end plus
    grace. A line for a closed window changes on-hand and `late`, but no window.
    """

    def __init__(self) -> None:
        self.on_hand: dict[bytes, Row] = {}
        self.windows: dict[int, dict[bytes, Row]] = {}
        self.newest_s = 0
        self.late = 0
        self._changed: set[bytes] = set()
        self._changed_windows: set[tuple[bytes, int]] = set()

    def fold(self, records: Iterable[tuple[int, bytes, bytes]]) -> None:
        """Add records (offset, key, value) in offset order."""
        for offset, key, value in records:
            units, at_s = read_line(value)
            start_s = at_s - at_s % WINDOW_S
            self.newest_s = max(self.newest_s, at_s)
            sum_before, seen = self.on_hand.get(key, _NOTHING)
            if offset > seen:
                self.on_hand[key] = (sum_before - units, offset)
            self._changed.add(key)
            if start_s + WINDOW_S + GRACE_S <= self.newest_s:
                self.late += 1
                continue
            window = self.windows.setdefault(start_s, {})
            sold_before, seen = window.get(key, _NOTHING)
            if offset > seen:
                window[key] = (sold_before + units, offset)
            self._changed_windows.add((key, start_s))

    def changed(self) -> tuple[list[tuple[bytes, bytes]], list[tuple[bytes, bytes]]]:
        """Return changelog records of rows changed since the last call. Then close old windows.

        The first list is for on-hand, the second for windows. Each changed row has one record.
        """
        levels = [(key, encode_row(self.on_hand[key])) for key in self._changed]
        windows = [
            (window_key(key, start_s), encode_row(self.windows[start_s][key]))
            for key, start_s in self._changed_windows
        ]
        self._changed, self._changed_windows = set(), set()
        self._close()
        return levels, windows

    def restore_level(self, key: bytes, value: bytes) -> None:
        """Restore a row of the on-hand changelog; rows come oldest first."""
        self.on_hand[key] = decode_row(value)

    def restore_window(self, name: bytes, value: bytes) -> None:
        """Restore a row of the changelog of windows; rows come oldest first."""
        key, start_s = split_window_key(name)
        # A line of this window was read, so the newest business time is the window's start or
        # later.
        self.newest_s = max(self.newest_s, start_s)
        if start_s + WINDOW_S + GRACE_S > self.newest_s:
            self.windows.setdefault(start_s, {})[key] = decode_row(value)

    def _close(self) -> None:
        for start_s in list(self._closed()):
            del self.windows[start_s]

    def _closed(self) -> Iterator[int]:
        return (s for s in self.windows if s + WINDOW_S + GRACE_S <= self.newest_s)
