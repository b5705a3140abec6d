"""Time of the nightly proof: an hour on the local clock, or later if the prover didn't run then."""

import time


def newest_moment_s(now_s: float, hour: int) -> float:
    """Return the newest time up to `now_s` at which the local clock showed `hour` o'clock.

    Times are in seconds since 1970 UTC. When daylight saving time begins or ends, the moment
    follows the local clock.
    """
    now = time.localtime(now_s)
    today_s = _moment_s(now, hour, days_ago=0)
    return today_s if today_s <= now_s else _moment_s(now, hour, days_ago=1)


def is_due(now_s: float, hour: int, last_s: float) -> bool:
    """Return True if the last proof, at `last_s`, is older than the newest scheduled moment."""
    return last_s < newest_moment_s(now_s, hour)


def _moment_s(now: time.struct_time, hour: int, *, days_ago: int) -> float:
    # mktime accepts day 0 of a month. With -1 it determines daylight saving time itself.
    day = now.tm_mday - days_ago
    return time.mktime((now.tm_year, now.tm_mon, day, hour, 0, 0, 0, 0, -1))
