"""Hopping windows and selling sessions of a key, computed from its ten-minute windows.

No table or topic stores these results, and no rule reads them. Hops and sessions count only
`sold_units`, so returns never lower a number.

The caller passes a mapping from each window's start (µs since 1970 UTC) to the units sold in the
window. A worker's state has the windows of today and of the three days before. The read model has
all windows since its first record.
"""

from collections.abc import Mapping
from typing import Final

from inventory.model.arithmetic import DAY_US, HOUR_US, MINUTE_US, WINDOW_US, window_start
from inventory.model.value import value
from inventory.model.windows import is_closed

SPANS: Final = (("hour", HOUR_US), ("24 hours", DAY_US), ("7 days", 7 * DAY_US))
SESSION_GAP_US: Final = 30 * MINUTE_US

Sold = Mapping[int, int]


@value
class Hop:
    """One hopping window [start_us, end_us) with the units sold. Hops begin ten minutes apart.

    `is_settled` is True once the last ten-minute window of the hop is closed. After that, only a
    late sale changes `units`.
    """

    start_us: int
    end_us: int
    units: int
    is_settled: bool


@value
class Session:
    """One selling session [start_us, end_us), from its first window to the end of its last.

    `windows` is the number of its ten-minute windows in which units were sold.
    """

    start_us: int
    end_us: int
    units: int
    windows: int


def last_hop_end_us(now_us: int) -> int:
    """Return the end of the newest hop: the last window edge at or before `now_us`.

    The window that contains `now_us` is in no hop yet, because it is not over.
    """
    return window_start(now_us)


def hop(sold: Sold, *, span_us: int, end_us: int, now_us: int) -> Hop:
    """Return the hopping window [`end_us` - `span_us`, `end_us`) with the units sold in it.

    `end_us` and `span_us` are multiples of ten minutes. `now_us` decides if the hop is settled.
    """
    starts = range(end_us - span_us, end_us, WINDOW_US)
    units = sum(sold.get(start, 0) for start in starts)
    return Hop(end_us - span_us, end_us, units, is_closed(end_us - WINDOW_US, now_us))


def hops(sold: Sold, *, span_us: int, count: int, now_us: int) -> tuple[Hop, ...]:
    """Return the newest `count` hopping windows of length `span_us`, oldest first.

    They start ten minutes apart.
    """
    last_us = last_hop_end_us(now_us)
    first_us = last_us - (count - 1) * WINDOW_US
    units = hop(sold, span_us=span_us, end_us=first_us, now_us=now_us).units
    found: list[Hop] = []
    for end_us in range(first_us, last_us + 1, WINDOW_US):
        if found:
            # The next hop gains one window and loses one. A new sum for each hop of a week would
            # cost 1,008 additions.
            units += sold.get(end_us - WINDOW_US, 0) - sold.get(end_us - WINDOW_US - span_us, 0)
        is_settled = is_closed(end_us - WINDOW_US, now_us)
        found.append(Hop(end_us - span_us, end_us, units, is_settled))
    return tuple(found)


def sessions(sold: Sold, gap_us: int = SESSION_GAP_US) -> tuple[Session, ...]:
    """Return the selling sessions of a key, oldest first. Each window with sales is in a session.

    Two successive windows with units sold belong to one session if the gap between them is less
    than `gap_us`. The gap is from the end of the first to the start of the second. With 30 minutes,
    two windows without sales continue a session and three end it. A session starts and ends at
    window edges.
    """
    found: list[Session] = []
    for start_us in sorted(start for start, units in sold.items() if units > 0):
        units, end_us = sold[start_us], start_us + WINDOW_US
        if found and start_us - found[-1].end_us < gap_us:
            last = found[-1]
            found[-1] = Session(last.start_us, end_us, last.units + units, last.windows + 1)
        else:
            found.append(Session(start_us, end_us, units, 1))
    return tuple(found)
