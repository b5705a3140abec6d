"""What the live workers know, rebuilt from their changelogs as a worker would rebuild it.

A key's level and its window rows are one state, in two topics. The windows are read first and the
levels after them: a level record carries the rows that its chunk changed, so rows that were still
on their way when the windows were read come with the levels. Every level record counts, not only a
key's last one, because each carries other rows (docs/domain.md 4).
"""

import time
from dataclasses import dataclass, field

from cdc.contracts.state import decode_level, decode_window
from inventory.model.state import KeyState, WindowRow, with_windows
from inventory.windows import horizon_us

from analytics import kafka
from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG
from cdc.settings import Connections
from inventory.model.arithmetic import WINDOW_US
from inventory.model.ids import InvKey


@dataclass(slots=True)
class _Row:
    """A window row and the offset of the source record up to which it counts; None is dropped."""

    row: WindowRow | None
    offset: int


@dataclass(slots=True)
class LiveState:
    """States of all keys; `refresh` reads on from where the last reading ended."""

    settings: Connections
    levels: dict[InvKey, KeyState] = field(default_factory=dict)
    partition_of: dict[InvKey, int] = field(default_factory=dict)
    positions: dict[int, int] = field(default_factory=dict)  # M[p]: largest offset in a state
    _rows: dict[InvKey, dict[int, _Row]] = field(default_factory=dict)
    _tails: dict[str, kafka.Tail] = field(default_factory=dict)

    def refresh(self, *, timeout_s: float = 300.0) -> None:
        """Take in what the workers have committed since the last refresh."""
        deadline = time.monotonic() + timeout_s
        for message in self._tail(SALES_WINDOWS_CHANGELOG).read(deadline=deadline):
            if message.error() is None and message.value() is not None:
                key, row, position = decode_window(message.value())
                self._take_row(key, row.start_us, _Row(row, position.offset))
        for message in self._tail(ON_HAND_CHANGELOG).read(deadline=deadline):
            if message.error() is None and message.value() is not None:
                self._take_level(message.partition(), message.value())

    def state(self, key: InvKey) -> KeyState:
        """The whole state of one key: its level with every retained window row."""
        level = self.levels[key]
        oldest_us = horizon_at_us(level)
        rows = self._rows.get(key, {})
        kept = {at: rows[at].row for at in sorted(rows) if at + WINDOW_US > oldest_us}
        return with_windows(level, {at: row for at, row in kept.items() if row is not None})

    def keys(self, location: str | None = None) -> list[InvKey]:
        """Item-location keys, heartbeats left out, sorted."""
        start = "" if location is None else f"{location}|"
        return sorted(
            key for key in self.levels if key.startswith(start) and not key.startswith("~")
        )

    def _take_level(self, partition: int, content: bytes) -> None:
        level, dropped = decode_level(content)
        key, offset = level.inv_key, level.position.offset
        known = self.levels.get(key)
        if known is not None and known.position.offset > offset:
            return
        for start_us in dropped:
            self._take_row(key, start_us, _Row(None, offset))
        for start_us, row in level.windows.items():
            self._take_row(key, start_us, _Row(row, offset))
        self.levels[key] = level
        self.partition_of[key] = partition
        self.positions[partition] = max(self.positions.get(partition, -1), offset)

    def _take_row(self, key: InvKey, start_us: int, row: _Row) -> None:
        rows = self._rows.setdefault(key, {})
        known = rows.get(start_us)
        if known is None or known.offset <= row.offset:
            rows[start_us] = row

    def _tail(self, topic: str) -> kafka.Tail:
        if topic not in self._tails:
            self._tails[topic] = kafka.Tail(
                self.settings.kafka_bootstrap, topic, self.settings.partitions
            )
        return self._tails[topic]


def horizon_at_us(state: KeyState) -> int:
    """Start of the oldest retained day of the key; 0 while it has no stream time."""
    return horizon_us(state.stream_time_us) or 0
