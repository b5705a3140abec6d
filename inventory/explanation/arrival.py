"""Whether a sale came late, as far as its row can tell (domain.md 3.2)."""

from inventory.model.arithmetic import window_start
from inventory.windows import horizon_us, is_closed

ON_TIME, COUNTED, UNCOUNTED = "on_time", "late_counted", "late_uncounted"


def arrival(business_us: int, heard_us: int, late_lines: int | None) -> str:
    """Outcome of the sale or return line of `business_us` that the key heard of at `heard_us`.

    Late is a line whose window was closed, its end and the grace over, on the key's own clock when
    the line came. A row keeps no commit time, so `heard_us` is the time of its last write for a
    live key: never later than the commit that the workers judged by, and earlier by the length of
    the transaction. For a replayed key it is the newest business time that came before.

    `late_lines` is what the window's row has counted, None if there is no row. A window that has
    counted no late line has none: a row that was corrected later was written again, not late.
    """
    start_us = window_start(business_us)
    if late_lines == 0 or not is_closed(start_us, heard_us):
        return ON_TIME
    oldest_us = horizon_us(heard_us)
    return UNCOUNTED if oldest_us is not None and business_us < oldest_us else COUNTED
