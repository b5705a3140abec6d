"""Levels and window rows of the changelogs, up to exactly the offsets that the read model includes.

`LiveState` reads each topic to its end, but it reaches these ends at different moments. This module
reads each topic up to the offset that the read model includes. So the read model must have equal
rows.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from analytics import kafka
from analytics.live_state import horizon_at_us
from analytics.verification.cut import Cut
from cdc.contracts.progress import HEADER, is_heartbeat, progress_in
from cdc.contracts.state import decode_level, decode_window
from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG
from cdc.settings import Connections
from inventory.model.arithmetic import WINDOW_US
from inventory.model.ids import InvKey
from inventory.model.state import KeyState, WindowRow

WindowKey = tuple[str, int]  # key and start of a window
Ends = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Version:
    """One window row in one record of its changelog.

    `offset` is the offset of the last source record that the row includes. `at` is the offset of
    the changelog record in `partition`.
    """

    window_key: WindowKey
    row: WindowRow
    offset: int
    partition: int
    at: int


@dataclass(slots=True)
class Changelogs:
    """States of all keys at a cut: up to the offsets that the read model includes.

    Each read of a topic continues where the last read ended.
    """

    settings: Connections
    levels: dict[InvKey, KeyState] = field(default_factory=dict)
    rows: dict[WindowKey, Version] = field(default_factory=dict)  # expected in the read model
    _next_offset: dict[int, int] = field(default_factory=dict)
    _ahead: list[Version] = field(default_factory=list)  # rows after the offsets of the read model
    _tails: dict[str, kafka.Tail] = field(default_factory=dict)

    def cut(self) -> Cut:
        """Return the cut: the records of `stock.events` that the levels include."""
        return Cut(self._next_offset, self.levels)

    def read_levels(self, ends: Ends, deadline: float) -> None:
        """Read all levels (records with a key's state) before the offsets `ends`.

        Raises:
            UnreadableRecord: another version of this code wrote a record. The error has its offset.
        """
        newest: dict[bytes, Any] = {}
        last_chunk: dict[int, Any] = {}
        for message in self._records(ON_HAND_CHANGELOG, ends, deadline):
            if not is_heartbeat(message.key()):
                newest[message.key()] = message
            if any(name == HEADER for name, _ in message.headers() or ()):
                last_chunk[message.partition()] = message
        for message in last_chunk.values():
            self._take_progress(message)
        for message in newest.values():
            with kafka.with_position(message):
                level, _dropped = decode_level(message.value())
            self.levels[level.inv_key] = level

    def read_windows(self, ends: Ends, deadline: float) -> None:
        """Read the retained window rows before the offsets `ends`.

        The cut that `windows_at_cut` uses later must include these rows. Only the newest record of
        a row is decoded, because most records of a changelog are older.
        """
        newest: dict[bytes, Any] = {}
        for message in self._records(SALES_WINDOWS_CHANGELOG, ends, deadline):
            name = message.key()
            if name in newest or self._is_retained(*_window_key(name)):
                newest[name] = message
        for message in newest.values():
            version = _version(message)
            self.rows[version.window_key] = version

    def windows_at_cut(
        self, shown: Ends, ends: Ends, deadline: float
    ) -> dict[WindowKey, WindowRow | None]:
        """Return window rows at the cut that differ from the read model's; None for an absent row.

        The projector fills the read model from two changelogs. The projector's offsets in the
        changelog of levels (states) define the cut. Its offsets in the changelog of windows are
        `shown`: they may be ahead of the cut or behind it. `ends` are offsets of the changelog of
        windows, after the records of all chunks of the cut.
        """
        cut = self.cut()
        messages = self._records(SALES_WINDOWS_CHANGELOG, ends, deadline)
        self._ahead += [_version(message) for message in messages]
        instead: dict[WindowKey, WindowRow | None] = {}
        still: list[Version] = []
        for version in self._ahead:
            window_key = version.window_key
            is_before = cut.holds(window_key[0], version.partition, version.offset)
            if version.at >= shown.get(version.partition, 0):
                still.append(version)
                if is_before:
                    instead[window_key] = version.row
                continue
            if not is_before:
                known = self.rows.get(window_key)
                instead.setdefault(window_key, None if known is None else known.row)
            self.rows[window_key] = version
        self._ahead = still
        return instead

    def retained_rows(self, horizons: Mapping[str, int]) -> dict[WindowKey, Version]:
        """Return the window rows that a worker still retains.

        `horizons` maps each key to the start of its oldest retained day, in microseconds since 1970
        UTC. Older windows and keys that are not in `horizons` are left out.
        """
        return {
            window_key: version
            for window_key, version in self.rows.items()
            if window_key[0] in horizons and window_key[1] + WINDOW_US > horizons[window_key[0]]
        }

    def keys(self, location: str | None = None) -> list[InvKey]:
        """Return the keys of all items, or of the items of one location, sorted."""
        start = "" if location is None else f"{location}|"
        return sorted(key for key in self.levels if key.startswith(start))

    def _take_progress(self, message: Any) -> None:  # noqa: ANN401 -- the client has no types
        with kafka.with_position(message):
            progress = progress_in(message.headers())
        if progress is not None:
            self._next_offset[message.partition()] = progress.next_offset

    def _is_retained(self, key: InvKey, start_us: int) -> bool:
        """Return True if the window is not older than the retained days of the key's state.

        The first retained day only moves forward, so an older row never belongs to a state again.
        """
        level = self.levels.get(key)
        return level is None or start_us + WINDOW_US > horizon_at_us(level)

    def _records(self, topic: str, ends: Ends, deadline: float) -> Iterator[Any]:
        tail = self._tails.get(topic)
        if tail is None:
            tail = kafka.Tail(self.settings.kafka_bootstrap, topic, self.settings.partitions)
            self._tails[topic] = tail
        for message in tail.read_until(ends, deadline=deadline):
            if message.error() is None and message.value() is not None:
                yield message


def _window_key(name: bytes) -> tuple[InvKey, int]:
    """Return key and window start from the key of a record in the changelog of windows."""
    key, _, start = name.decode().rpartition("@")
    return InvKey(key), int(start)


def _version(message: Any) -> Version:  # noqa: ANN401 -- the client has no types
    with kafka.with_position(message):
        _key, row, position = decode_window(message.value())
    return Version(
        _window_key(message.key()), row, position.offset, message.partition(), message.offset()
    )


def deadline_in(seconds: float = 300.0) -> float:
    """Return a deadline for reading complete changelogs, on the monotonic clock."""
    return time.monotonic() + seconds
