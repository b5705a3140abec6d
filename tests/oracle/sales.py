"""Tumbling windows (3.2, 11.5)."""

from collections.abc import Iterable

from tests.oracle.arithmetic import DAY, W, day, window

Line = tuple[int, int, int]
Windows = dict[int, list[int]]
SOLD, RETURNED, SALE_LINES, RETURN_LINES, REVENUE, LATE_LINES, REVISION = range(7)


def horizon_at(stream: int) -> int:
    return (day(stream) - 3) * DAY


def counters(line: Line) -> list[int]:
    """Return the amounts that one sale line adds to the counters of its window."""
    _, quantity, amount = line
    if quantity > 0:
        return [quantity, 0, 1, 0, amount]
    return [0, -quantity, 0, 1, amount]


def expired(at: int, stream: int | None) -> bool:
    return stream is not None and window(at) + W <= horizon_at(stream)


def closed(start: int, stream: int | None) -> bool:
    return stream is not None and stream >= start + W + W


def late_of(before: Line | None, after: Line | None, stream: int | None) -> tuple[int, int]:
    """Return (units, amount) of `after` minus `before`, counting only images in expired windows."""
    units = amount = 0
    for sign, line in ((-1, before), (1, after)):
        if line is not None and expired(line[0], stream):
            units += sign * line[1]
            amount += sign * line[2]
    return units, amount


def apply_lines(
    windows: Windows, before: Line | None, after: Line | None, stream: int | None
) -> None:
    """Replace `before` by `after` in the retained windows, in place, with one change per window."""
    starts = {window(line[0]) for line in (before, after) if line is not None}
    for start in sorted(starts):
        if not expired(start, stream):
            had = before is not None and window(before[0]) == start
            gets = after is not None and window(after[0]) == start
            change = [0] * 5
            if had and before is not None:
                change = [a - b for a, b in zip(change, counters(before), strict=True)]
            if gets and after is not None:
                change = [a + b for a, b in zip(change, counters(after), strict=True)]
            row = windows.get(start, [0] * 7)
            late = closed(start, stream)
            fresh = [a + b for a, b in zip(row, change, strict=False)]
            windows[start] = [
                *fresh,
                row[LATE_LINES] + int(late and gets and not had),
                row[REVISION] + int(late and any(change)),
            ]


def drop_expired(windows: Windows, stream: int | None) -> Windows:
    return {start: row for start, row in windows.items() if not expired(start, stream)}


def units_sold(windows: Windows, starts: Iterable[int]) -> int:
    return sum(windows[start][SOLD] for start in starts if start in windows)
