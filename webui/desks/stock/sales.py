"""Sales of a key, from its ten-minute windows: sums over the last hours and days, and sessions."""

from dataclasses import dataclass
from typing import Final

from inventory.reports.sales_spans import SPANS, Hop, Session, hop, last_hop_end_us, sessions
from webui.readmodel import explain as selectors

SESSIONS_SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class Span:
    """The sales of the last hour, 24 hours or 7 days, with the name of this time span."""

    name: str
    hop: Hop


@dataclass(frozen=True, slots=True)
class SalesViews:
    """The sales that a page shows.

    A session is a series of sales without a gap of 30 minutes. `sessions` has the newest 12, newest
    first; `session_count` is the number of all sessions. `covered_from_us` is the start of the
    oldest known window, in µs since 1970 UTC.
    """

    spans: tuple[Span, ...]
    sessions: tuple[Session, ...]
    session_count: int
    covered_from_us: int | None


def sales_views(inv_key: str, as_of_us: int) -> SalesViews:
    """Return the units of the last hour, 24 hours and 7 days, and the sessions of those 7 days.

    All time spans end with the last window that was over at `as_of_us`, the as-of time of the key's
    partition in µs. So the units become 0 after sales have stopped.
    """
    longest_us = max(span for _, span in SPANS)
    end_us = last_hop_end_us(as_of_us)
    sold = selectors.sold_units(inv_key, from_us=end_us - longest_us)
    found = sessions(sold)
    return SalesViews(
        spans=tuple(
            Span(name, hop(sold, span_us=span, end_us=end_us, now_us=as_of_us))
            for name, span in SPANS
        ),
        sessions=found[: -SESSIONS_SHOWN - 1 : -1],
        session_count=len(found),
        covered_from_us=selectors.first_window_us(inv_key),
    )
