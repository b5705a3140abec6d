"""Classification of a sale as on time or late, as far as its row shows (domain.md 3.2)."""

from inventory.model.arithmetic import window_start
from inventory.model.windows import horizon_us, is_closed

ON_TIME, COUNTED, UNCOUNTED = "on_time", "late_counted", "late_uncounted"


def arrival(business_us: int, written_us: int, late_lines: int | None) -> str:
    """Return the outcome of the sale or return line with `business_us`.

    A line is late if its window was closed (end and grace passed) on the key's clock at arrival. A
    row stores no commit time. For a live key, `written_us` is therefore the row's last write: never
    later than the commit time that the workers judged by, and earlier by the length of the
    transaction. For a replayed key it is the newest business time before the line.

    `late_lines` is the late-line count of the window's row, None if there is no row. If it is 0,
    the line was on time: a row that was corrected later was written again, not late.
    """
    start_us = window_start(business_us)
    if late_lines == 0 or not is_closed(start_us, written_us):
        return ON_TIME
    oldest_us = horizon_us(written_us)
    return UNCOUNTED if oldest_us is not None and business_us < oldest_us else COUNTED
