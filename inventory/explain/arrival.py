"""Classification of a sale line as on time or late, from its table row (domain.md 3.2)."""

from inventory.model.arithmetic import window_start
from inventory.model.windows import horizon_us, is_closed

ON_TIME, COUNTED, UNCOUNTED = "on_time", "late_counted", "late_uncounted"


def arrival(
    business_us: int, written_us: int, late_lines: int | None, *, lacks_lines: bool = False
) -> str:
    """Return `ON_TIME`, `COUNTED` or `UNCOUNTED` for a sale or return line.

    A line is late if its ten-minute window was closed when the line arrived: stream time ≥ window
    end + ten minutes. A late line is `UNCOUNTED` if `business_us` is before the horizon, because no
    window counts such a line. The horizon is the start of the day three days before the stream
    time's day. Any other late line is `COUNTED`.

    `business_us` is the time of the sale or return, in µs since 1970 UTC. `written_us` is the
    stream time at which the line arrived. The caller estimates it, because a table row doesn't
    contain its commit time. For a live key, pass the row's `recorded_at`. For a replayed key, whose
    stream time follows business times, pass the newest business time of the facts up to this line.

    `late_lines` is the number of late lines that the window counts, or None if the window has no
    row. `lacks_lines` is True if the window counts fewer lines than the ledger has for it.

    There is one exception. If `late_lines` is 0, every line that the window counts arrived on time.
    A line that looks late is then `ON_TIME`, for example a line whose row was corrected later. But
    a line before the horizon remains `UNCOUNTED` if the window lacks lines.
    """
    start_us = window_start(business_us)
    if not is_closed(start_us, written_us):
        return ON_TIME
    oldest_us = horizon_us(written_us)
    is_expired = oldest_us is not None and business_us < oldest_us
    if late_lines == 0:
        return UNCOUNTED if is_expired and lacks_lines else ON_TIME
    return UNCOUNTED if is_expired else COUNTED
