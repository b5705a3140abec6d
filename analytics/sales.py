"""`inventory sales`: a key's sales in the last hour, day and week, and its selling sessions.

The report is computed from the window rows in the read model (`inventory.reports.sales_spans`). The
read model has the windows since the first record of the running logic revision, also those that
workers no longer retain. The report shows the start of the oldest window. Sales that arrived after
their window had expired are only in `stock.late`.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

import psycopg

from analytics.explain_facts import why_unknown
from cdc.contracts.times import time_text
from cdc.contracts.topics import ON_HAND_CHANGELOG
from cdc.settings import Connections
from inventory.explain.formatting import counted_text
from inventory.reports.sales_spans import SPANS, Hop, Session, hops, last_hop_end_us, sessions

_AS_OF: Final = """
SELECT greatest(s.as_of_us, p.as_of_us), (SELECT min(w.start_us) FROM read_model.sales_window w
    WHERE w.inv_key = s.inv_key)
FROM read_model.stock s
LEFT JOIN read_model.sink_position p ON p.sink = 'projector' AND p.topic = %(topic)s
    AND p.partition = s.partition
WHERE s.inv_key = %(key)s
"""
_SOLD: Final = """
SELECT start_us, sold_units FROM read_model.sales_window
WHERE inv_key = %(key)s AND start_us >= %(from)s AND sold_units > 0
"""


class UnknownItem(ValueError):
    """The read model has no such key."""


@dataclass(frozen=True, slots=True)
class SalesReport:
    """The units that one key sold in spans of time, and its selling sessions of the last 7 days.

    `hops` maps each span (an hour, 24 hours, 7 days) to its newest hops, newest last. A hop has the
    units sold in one span of time. The hops of one span end ten minutes apart. A session is a time
    with sales and without a pause of 30 minutes.
    """

    inv_key: str
    as_of_us: int
    covered_from_us: int | None
    hops: dict[str, tuple[Hop, ...]]
    sessions: tuple[Session, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object. Times are microseconds since 1970 UTC."""
        return {
            "inv_key": self.inv_key,
            "as_of_us": self.as_of_us,
            "covered_from_us": self.covered_from_us,
            "hops": {name: [asdict(one) for one in found] for name, found in self.hops.items()},
            "sessions": [asdict(one) for one in self.sessions],
        }

    def as_text(self) -> str:
        """Return the report as text for a terminal."""
        return "\n".join(_lines(self))

    __str__ = as_text


def sales(
    sku: str, location: str, *, count: int = 6, settings: Connections | None = None
) -> SalesReport:
    """Return the newest `count` hops of each span, and the selling sessions of the last 7 days.

    Raises:
        UnknownItem: the read model has no such key.
    """
    known = settings or Connections()
    key = f"{location}|{sku}"
    with psycopg.connect(known.read_database_url.get_secret_value()) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        parameters: dict[str, Any] = {"key": key, "topic": ON_HAND_CHANGELOG}
        found = connection.execute(_AS_OF, parameters).fetchone()
        if found is None:
            raise UnknownItem(why_unknown(connection, sku, location))
        now_us, covered_us = found
        longest_us = max(span for _, span in SPANS)
        first_us = last_hop_end_us(now_us) - longest_us
        parameters["from"] = last_hop_end_us(now_us) - 2 * longest_us
        sold: dict[int, int] = dict(connection.execute(_SOLD, parameters).fetchall())
    return SalesReport(
        inv_key=key,
        as_of_us=now_us,
        covered_from_us=covered_us,
        hops={name: hops(sold, span_us=span, count=count, now_us=now_us) for name, span in SPANS},
        sessions=sessions({at: units for at, units in sold.items() if at >= first_us}),
    )


def _lines(report: SalesReport) -> Iterator[str]:
    covered = report.covered_from_us
    since = "no window is known" if covered is None else f"windows known from {time_text(covered)}"
    yield f"{report.inv_key}, as of {time_text(report.as_of_us)}, {since}"
    for name, found in report.hops.items():
        yield f"  last {name}, every 10 minutes"
        for one in found:
            start, end = time_text(one.start_us), time_text(one.end_us)
            grows = "" if one.is_settled else "  can still grow"
            yield f"    {start} to {end} {one.units:>9,}{grows}"
    yield f"  selling sessions of 7 days: {len(report.sessions)}"
    for session in report.sessions:
        start, end = time_text(session.start_us), time_text(session.end_us)
        windows = counted_text(session.windows, "window")
        yield f"    {start} to {end} {session.units:>9,} in {windows}"
