"""Read up to the read model's offsets, the changelogs give the rows that it must have."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from analytics.kafka import Tail
from analytics.verification.changelogs import Changelogs
from cdc.contracts.progress import HEADER, Progress, encode_progress
from cdc.contracts.state import encode_level, encode_window, window_key
from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG
from cdc.settings import Connections
from inventory.model.arithmetic import DAY_US, WINDOW_US
from inventory.model.ids import InvKey, Position
from inventory.model.state import KeyState, WindowRow

KEY = InvKey("L|S")
NOW_US = 500 * DAY_US


@dataclass
class Message:
    at: int
    name: bytes
    content: bytes
    head: list[tuple[str, bytes]] = field(default_factory=list)

    def error(self) -> None:
        return None

    def key(self) -> bytes:
        return self.name

    def value(self) -> bytes:
        return self.content

    def headers(self) -> list[tuple[str, bytes]]:
        return self.head

    def offset(self) -> int:
        return self.at

    def partition(self) -> int:
        return 0

    def topic(self) -> str:
        return "changelog"


@dataclass
class Log:
    """One partition of a topic. Each read begins where the last read ended."""

    messages: list[Message]
    next_offset: int = 0

    def read_until(self, ends: Mapping[int, int], **_deadline: float) -> Iterator[Message]:
        for message in self.messages:
            if self.next_offset <= message.at < ends[0]:
                yield message
        self.next_offset = max(self.next_offset, ends[0])


def level(at: int, offset: int, *, next_offset: int | None = None) -> Message:
    state = KeyState(KEY, Position(1, offset), stream_time_us=NOW_US)
    head = []
    if next_offset is not None:
        head.append((HEADER, encode_progress(Progress(next_offset, None, None, streamed=True))))
    return Message(at, KEY.encode(), encode_level(state, ()), head)


def window(at: int, offset: int, sold: int, start_us: int = NOW_US) -> Message:
    row = replace(WindowRow(start_us), sold_units=sold, sale_lines=1)
    return Message(at, window_key(KEY, start_us), encode_window(KEY, row, Position(1, offset)))


def changelogs(levels: list[Message], windows: list[Message]) -> Changelogs:
    found = Changelogs(Connections())
    found._tails = {
        ON_HAND_CHANGELOG: cast("Tail", Log(levels)),
        SALES_WINDOWS_CHANGELOG: cast("Tail", Log(windows)),
    }
    return found


def at_cut(found: Changelogs, *, shown: int, end: int) -> dict[int, int | None]:
    """Return window start → units sold at the cut, for rows that differ from the read model's.

    The units are None if the row is missing at the cut.
    """
    instead = found.windows_at_cut({0: shown}, {0: end}, 0)
    return {
        start: None if row is None else row.sold_units for (_key, start), row in instead.items()
    }


def test_the_cut_is_the_end_of_the_last_whole_chunk() -> None:
    found = changelogs([level(0, 5, next_offset=6), level(3, 9), level(4, 12, next_offset=13)], [])

    found.read_levels({0: 4}, 0)

    assert found.cut().next_offset == {0: 6}
    assert found.levels[KEY].position.offset == 9
    found.read_levels({0: 5}, 0)
    assert found.cut().next_offset == {0: 13}


def test_the_cut_includes_a_window_row_that_the_projector_has_not_applied() -> None:
    windows = [window(0, 5, 1), window(2, 9, 3), window(4, 12, 7)]
    found = changelogs([level(0, 5, next_offset=6), level(2, 9, next_offset=10)], windows)
    found.read_levels({0: 3}, 0)

    assert at_cut(found, shown=1, end=5) == {NOW_US: 3}
    assert found.retained_rows({KEY: 0})[KEY, NOW_US].row.sold_units == 1


def test_the_cut_excludes_a_window_row_of_a_later_chunk() -> None:
    later = NOW_US + WINDOW_US
    windows = [window(0, 5, 1), window(2, 9, 3), window(3, 9, 2, later), window(6, 12, 7)]
    found = changelogs([level(0, 5, next_offset=6)], windows)
    found.read_levels({0: 1}, 0)
    found.read_windows({0: 1}, 0)

    assert at_cut(found, shown=7, end=7) == {NOW_US: 1, later: None}
    assert found.retained_rows({KEY: 0})[KEY, NOW_US].row.sold_units == 7


def test_a_window_row_ahead_of_one_comparison_is_applied_in_the_next() -> None:
    found = changelogs(
        [level(0, 5, next_offset=6), level(2, 9, next_offset=10)],
        [window(0, 5, 1), window(2, 9, 3)],
    )
    found.read_levels({0: 1}, 0)
    assert at_cut(found, shown=1, end=3) == {}
    found.read_levels({0: 3}, 0)

    assert at_cut(found, shown=3, end=3) == {}
    assert found.retained_rows({KEY: 0})[KEY, NOW_US].row.sold_units == 3
