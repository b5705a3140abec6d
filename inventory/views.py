"""Hopping windows and selling sessions of a key, as functions of its ten-minute windows.

Both are views: nothing is stored, and no other rule reads them. They count `sold_units`; returns
never lower them, as they never lower demand. Whoever asks passes the units sold by window start,
and with them says how far back the answer reaches: a worker's state holds today and three days, the
read model every window since its first record.
"""

from collections.abc import Mapping
from typing import Final

from inventory.model.arithmetic import DAY_US, HOUR_US, MINUTE_US, WINDOW_US, window_start
from inventory.model.value import value
from inventory.windows import is_closed

SPANS: Final = (("hour", HOUR_US), ("24 hours", DAY_US), ("7 days", 7 * DAY_US))
SESSION_GAP_US: Final = 30 * MINUTE_US

Sold = Mapping[int, int]


@value
class Hop:
    """Units sold in [start_us, end_us); hops of a span begin ten minutes after each other.

    `is_settled`: the last window of the hop is closed. Before that an ordinary sale still counts;
    after it only a late one does.
    """

    start_us: int
    end_us: int
    units: int
    is_settled: bool


@value
class Session:
    """One stretch of selling: [start_us, end_us), from its first window to the end of its last."""

    start_us: int
    end_us: int
    units: int
    windows: int


def last_hop_end_us(now_us: int) -> int:
    """End of the newest hop: the last window edge at or before `now_us`.

    The window in which `now_us` lies belongs to no hop yet; it has hardly begun.
    """
    return window_start(now_us)


def hop(sold: Sold, *, span_us: int, end_us: int, now_us: int) -> Hop:
    """Units sold in the `span_us` before `end_us`; both are multiples of a window.

    An event at `end_us` is in the next hop, as an event at a window's end is in the next window.
    """
    starts = range(end_us - span_us, end_us, WINDOW_US)
    units = sum(sold.get(start, 0) for start in starts)
    return Hop(end_us - span_us, end_us, units, is_closed(end_us - WINDOW_US, now_us))


def hops(sold: Sold, *, span_us: int, count: int, now_us: int) -> tuple[Hop, ...]:
    """The newest `count` hops of a span, oldest first, each ten minutes after the one before."""
    last_us = last_hop_end_us(now_us)
    first_us = last_us - (count - 1) * WINDOW_US
    units = hop(sold, span_us=span_us, end_us=first_us, now_us=now_us).units
    found: list[Hop] = []
    for end_us in range(first_us, last_us + 1, WINDOW_US):
        if found:
            # One window enters as another leaves; adding up a week for each hop would cost 1,008.
            units += sold.get(end_us - WINDOW_US, 0) - sold.get(end_us - WINDOW_US - span_us, 0)
        is_settled = is_closed(end_us - WINDOW_US, now_us)
        found.append(Hop(end_us - span_us, end_us, units, is_settled))
    return tuple(found)


def sessions(sold: Sold, gap_us: int = SESSION_GAP_US) -> tuple[Session, ...]:
    """The selling sessions of a key, oldest first; they partition the windows with units sold.

    Two windows with units sold that follow each other belong to one session if the gap between
    them, from the end of the first to the start of the second, is less than `gap_us`. So with 30
    minutes two quiet windows between them keep a session together, and three end it. A session is
    as exact as its windows: it starts and ends at window edges.
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
