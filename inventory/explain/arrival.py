"""Classification of a sale line as on time or late, from its table row (domain.md 3.2)."""

from inventory.model.arithmetic import window_start
from inventory.model.windows import horizon_us, is_closed

ON_TIME, COUNTED, UNCOUNTED = "on_time", "late_counted", "late_uncounted"


def arrival(business_us: int, written_us: int, late_lines: int | None) -> str:
    """Return `ON_TIME`, `COUNTED` or `UNCOUNTED` for a sale or return line.

    `business_us` is the line's business time. A line is late if its window was closed when it
    arrived: stream time ≥ window end + grace. A late line is `UNCOUNTED` if it is before the
    horizon, because no window counts it. Otherwise it is `COUNTED`.

    A table row does not hold its commit time, so the caller passes an estimate of the stream time
    as `written_us` (µs since 1970 UTC). For a live key it is the time of the row's last write
    (`recorded_at`). For a replayed key it is the newest business time among the facts that were
    recorded no later than the line.

    `late_lines` is the number of late lines in the window, or None if the window has no row. If it
    is 0, the line was on time, even if its last write was a late correction.
    """
    start_us = window_start(business_us)
    if late_lines == 0 or not is_closed(start_us, written_us):
        return ON_TIME
    oldest_us = horizon_us(written_us)
    return UNCOUNTED if oldest_us is not None and business_us < oldest_us else COUNTED
