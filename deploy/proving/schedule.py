"""Time of the nightly proof: an hour on the local clock, or later if the prover didn't run then."""

import time
from datetime import date, datetime, timedelta
from datetime import time as clock


def newest_moment_s(now_s: float, hour: int) -> float:
    """Return the newest time up to `now_s` at which the local clock showed `hour` o'clock.

    All times are in seconds since 1970 UTC. On the day on which daylight saving time ends, the
    clock may show the hour twice. Then the first time counts.
    """
    now = time.localtime(now_s)
    today = date(now.tm_year, now.tm_mon, now.tm_mday)
    today_s = _moment_s(today, hour)
    return today_s if today_s <= now_s else _moment_s(today - timedelta(days=1), hour)


def is_due(now_s: float, hour: int, last_s: float) -> bool:
    """Return True if the last proof, at `last_s`, was made before the newest scheduled time."""
    return last_s < newest_moment_s(now_s, hour)


def _moment_s(day: date, hour: int) -> float:
    # Don't use time.mktime: if the clock shows the hour twice, mktime returns the first or the
    # second time, depending on earlier calls.
    return datetime.combine(day, clock(hour)).timestamp()
