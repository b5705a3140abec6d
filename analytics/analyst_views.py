"""Sales views for analysts, over the states that a recomputation writes.

Each function `…_rows` takes the bytes of one state (column `state` of a run's `states.parquet`) and
yields plain tuples. So each function works with PySpark's `flatMap`, in a loop and in a test. A
state keeps the windows of today and of the three days before (docs/domain.md 3.2), so no row is
older. The read model and the facts have older sales.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from analytics.backfill.plan import load
from analytics.backfill.units import finished_units
from analytics.engines.results import STATES, checked_path
from cdc.contracts.state import decode_state
from inventory.model.windows import horizon_us
from inventory.reports.sales_spans import SPANS, hop, last_hop_end_us, sessions

WINDOW_COLUMNS: Final = [
    "inv_key",
    "start_us",
    "sold_units",
    "returned_units",
    "sale_lines",
    "return_lines",
    "revenue_minor",
    "late_lines",
    "window_revision",
]
SESSION_COLUMNS: Final = ["inv_key", "start_us", "end_us", "units", "windows"]
HOP_COLUMNS: Final = ["inv_key", "span", "start_us", "end_us", "units", "covered_from_us"]


def state_files(run: Path) -> list[str]:
    """Return the path of `states.parquet` of each finished unit. Ignore files of killed attempts.

    Raises:
        UnknownRun: the run's plan or a line of its manifest was changed.
        DamagedResult: a file differs from what its unit wrote.
    """
    rows = finished_units(run, load(run)).values()
    return [str(checked_path(row, STATES)) for row in rows]


def window_rows(state: bytes) -> Iterator[tuple[str, int, int, int, int, int, int, int, int]]:
    """Yield a row for each ten-minute window with a sale or return line, oldest window first.

    The row's values are in the order of `WINDOW_COLUMNS`.
    """
    found = decode_state(bytes(state))
    for start_us in sorted(found.windows):
        row = found.windows[start_us]
        if row.had_line:
            yield (
                found.inv_key,
                start_us,
                row.sold_units,
                row.returned_units,
                row.sale_lines,
                row.return_lines,
                row.revenue_minor,
                row.late_lines,
                row.window_revision,
            )


def session_rows(state: bytes) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield a row for each selling session in the days that the state keeps, oldest first.

    A session is a sequence of ten-minute windows with units sold. The gaps between these windows
    are shorter than 30 minutes. The row's values are in the order of `SESSION_COLUMNS`.
    """
    found = decode_state(bytes(state))
    for one in sessions({at: row.sold_units for at, row in found.windows.items()}):
        yield found.inv_key, one.start_us, one.end_us, one.units, one.windows


def hop_rows(state: bytes) -> Iterator[tuple[str, str, int, int, int, int]]:
    """Yield three rows with the units sold in the last hour, the last 24 hours and the last 7 days.

    The values are in the order of `HOP_COLUMNS`. A state without stream time has no row. Each span
    ends with the newest ten-minute window that was over at the key's stream time (its "now" for the
    rules). The state has only windows from `covered_from_us` on, so a span that begins earlier
    lacks some sales.
    """
    found = decode_state(bytes(state))
    now_us = found.stream_time_us
    if now_us is None:
        return
    sold = {at: row.sold_units for at, row in found.windows.items()}
    oldest_us = horizon_us(now_us) or 0
    for name, span_us in SPANS:
        one = hop(sold, span_us=span_us, end_us=last_hop_end_us(now_us), now_us=now_us)
        yield found.inv_key, name, one.start_us, one.end_us, one.units, oldest_us
