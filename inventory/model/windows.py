"""Ten-minute windows and retained days, as functions of a key's stream time.

A window is [start, start + W) with W = ten minutes, aligned to 1970 UTC. While a key has no stream
time (None), no window is closed and none is before the horizon (domain.md 3.1, 3.2).
"""

from typing import Final

from inventory.model.arithmetic import DAY_US, WINDOW_US

GRACE_US: Final = WINDOW_US
RETAINED_DAYS_BEFORE_TODAY: Final = 3
WINDOWS_PER_DAY: Final = 144

_RETAINED_US: Final = RETAINED_DAYS_BEFORE_TODAY * DAY_US


def horizon_us(stream_time_us: int | None) -> int | None:
    """Return the horizon in µs: the start of the oldest of the four retained days.

    It is midnight UTC three days before the stream time's day. None means no stream time yet.
    """
    if stream_time_us is None:
        return None
    return (stream_time_us // DAY_US - RETAINED_DAYS_BEFORE_TODAY) * DAY_US


def retained_days(stream_time_us: int) -> tuple[int, int]:
    """Return the span of the retained days that are complete at a stream time.

    It is [horizon, end of the last complete day) in µs.
    """
    return stream_time_us // DAY_US * DAY_US - _RETAINED_US, complete_before_us(stream_time_us)


def has_days(old_us: int | None, days: tuple[int, int]) -> bool:
    """Return True if `retained_days(old_us)` equals `days`, the retained days of a later time.

    They are equal if both times are on the same UTC day, and both before 00:10 or both from 00:10
    on. At 00:10 the grace of the day before ends, so the day before is complete from then on.
    """
    horizon_at_us, complete_us = days
    return (
        old_us is not None
        and old_us >= horizon_at_us + _RETAINED_US
        and old_us >= complete_us + GRACE_US
    )


def is_closed(start_us: int, stream_time_us: int | None) -> bool:
    """Return True if the window that starts at `start_us` is closed at the stream time.

    It is closed ten minutes (the grace) after its end.
    """
    return stream_time_us is not None and stream_time_us >= start_us + WINDOW_US + GRACE_US


def complete_before_us(stream_time_us: int) -> int:
    """Return the end of the last complete day, in µs since 1970 UTC (domain.md 3.3).

    A day is complete when stream time ≥ its end + ten minutes.
    """
    return (stream_time_us - GRACE_US) // DAY_US * DAY_US


def evaluation_us(stream_time_us: int | None) -> int | None:
    """Return the end E of the last closed window, or None without a stream time (domain.md 6.1).

    A window is closed ten minutes after its end. A record that moves E triggers a price evaluation.
    """
    if stream_time_us is None:
        return None
    return (stream_time_us - GRACE_US) // WINDOW_US * WINDOW_US
