"""The live workers' states, rebuilt from their changelogs as a worker would rebuild them.

A key's level and its window rows are one state in two topics. `refresh` has three steps:
1. Read the levels. Use only the last level of each key.
2. Read the window rows.
3. Read the levels that arrived meanwhile, and use all of them. Each contains the window rows that
   its chunk changed (docs/domain.md 4), so rows written after step 2 are not missed.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from analytics import kafka
from cdc.contracts.progress import is_heartbeat
from cdc.contracts.state import decode_level, decode_window
from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG
from cdc.settings import Connections
from inventory.model.arithmetic import WINDOW_US
from inventory.model.ids import InvKey
from inventory.model.state import KeyState, WindowRow, with_windows
from inventory.model.windows import horizon_us


@dataclass(slots=True)
class _Row:
    """Sales of one window, and the offset of the last record that they include.

    `row` is None if the worker has deleted the window row.
    """

    row: WindowRow | None
    offset: int


@dataclass(slots=True)
class LiveState:
    """States of all keys or of one partition. `refresh` continues where the last refresh ended."""

    settings: Connections
    only: int | None = None  # read this partition only
    levels: dict[InvKey, KeyState] = field(default_factory=dict)
    partition_of: dict[InvKey, int] = field(default_factory=dict)
    positions: dict[int, int] = field(default_factory=dict)  # largest offset in a state
    _rows: dict[InvKey, dict[int, _Row]] = field(default_factory=dict)
    _tails: dict[str, kafka.Tail] = field(default_factory=dict)

    def refresh(self, *, timeout_s: float = 300.0) -> None:
        """Read everything that the workers have committed since the last refresh.

        Raises:
            UnreadableRecord: another version of this code wrote a record. The error has its offset.
            TopicUnreadable: a topic was not read to its end within `timeout_s`.
        """
        deadline = time.monotonic() + timeout_s
        newest = {m.key(): m for m in self._records(ON_HAND_CHANGELOG, deadline)}
        for message in newest.values():
            self._take_level(message)
        for message in self._records(SALES_WINDOWS_CHANGELOG, deadline):
            if self._is_retained(message.key()):
                with kafka.with_position(message):
                    key, row, position = decode_window(message.value())
                self._take_row(key, row.start_us, _Row(row, position.offset))
        for message in self._records(ON_HAND_CHANGELOG, deadline):
            self._take_level(message)

    def state(self, key: InvKey) -> KeyState:
        """Return the complete state of one key: its level with every retained window row."""
        level = self.levels[key]
        oldest_us = horizon_at_us(level)
        rows = self._rows.get(key, {})
        kept = {at: rows[at].row for at in sorted(rows) if at + WINDOW_US > oldest_us}
        return with_windows(level, {at: row for at, row in kept.items() if row is not None})

    def keys(self, location: str | None = None) -> list[InvKey]:
        """Return the keys of all items, or of the items of one location, sorted."""
        start = "" if location is None else f"{location}|"
        return sorted(key for key in self.levels if key.startswith(start))

    def _take_level(self, message: Any) -> None:  # noqa: ANN401 -- the client has no types
        with kafka.with_position(message):
            level, dropped = decode_level(message.value())
        key, offset = level.inv_key, level.position.offset
        known = self.levels.get(key)
        if known is not None and known.position.offset > offset:
            return
        for start_us in dropped:
            self._take_row(key, start_us, _Row(None, offset))
        for start_us, row in level.windows.items():
            self._take_row(key, start_us, _Row(row, offset))
        self.levels[key] = level
        partition = message.partition()
        self.partition_of[key] = partition
        self.positions[partition] = max(self.positions.get(partition, -1), offset)

    def _take_row(self, key: InvKey, start_us: int, row: _Row) -> None:
        rows = self._rows.setdefault(key, {})
        known = rows.get(start_us)
        if known is None or known.offset <= row.offset:
            rows[start_us] = row

    def _is_retained(self, window_key: bytes) -> bool:
        """Return True if the window is not older than the retained days of its key's state.

        The first retained day only moves forward, so an older row never belongs to a state again.
        """
        key, _, start_us = window_key.decode().rpartition("@")
        level = self.levels.get(InvKey(key))
        return level is None or int(start_us) + WINDOW_US > horizon_at_us(level)

    def _records(self, topic: str, deadline: float) -> Iterator[Any]:
        """Yield new records of items. Skip heartbeats and tombstones: they hold no item's state."""
        if topic not in self._tails:
            self._tails[topic] = kafka.Tail(
                self.settings.kafka_bootstrap, topic, self.settings.partitions
            )
        tail = self._tails[topic]
        ends = kafka.end_offsets(tail.bootstrap, topic, tail.partitions)
        if self.only is not None:
            ends = {self.only: ends[self.only]}
        for message in tail.read_until(ends, deadline=deadline):
            if (
                message.error() is None
                and message.value() is not None
                and not is_heartbeat(message.key())
            ):
                yield message


def horizon_at_us(state: KeyState) -> int:
    """Return the start of the key's oldest retained day, in microseconds; 0 without stream time."""
    return horizon_us(state.stream_time_us) or 0
