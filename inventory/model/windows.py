"""Ten-minute windows and retained days, as functions of a key's stream time.

A window is [start, start + W), aligned to 1970 UTC. Stream time None means that the key has no
clock yet: nothing is closed and nothing is past the horizon (domain.md 3.1, 3.2).
"""

from typing import Final

from inventory.model.arithmetic import DAY_US, WINDOW_US

GRACE_US: Final = WINDOW_US
RETAINED_DAYS_BEFORE_TODAY: Final = 3
WINDOWS_PER_DAY: Final = 144


def horizon_us(stream_time_us: int | None) -> int | None:
    """Return the start of the oldest retained UTC day: today and three days before are retained."""
    if stream_time_us is None:
        return None
    return (stream_time_us // DAY_US - RETAINED_DAYS_BEFORE_TODAY) * DAY_US


def has_same_days(old_us: int | None, now_us: int) -> bool:
    """Return True if the same days are retained and complete at both stream times."""
    if old_us is None:
        return False
    is_same = old_us // DAY_US == now_us // DAY_US
    return is_same and (old_us - GRACE_US) // DAY_US == (now_us - GRACE_US) // DAY_US


def is_closed(start_us: int, stream_time_us: int | None) -> bool:
    """Return True if the grace of the window that starts at `start_us` is over."""
    return stream_time_us is not None and stream_time_us >= start_us + WINDOW_US + GRACE_US


def complete_before_us(stream_time_us: int) -> int:
    """Return the end of the last complete day: stream time ≥ its end + grace (domain.md 3.3)."""
    return (stream_time_us - GRACE_US) // DAY_US * DAY_US


def evaluation_us(stream_time_us: int | None) -> int | None:
    """Return E of domain.md 6.1: the end of the last closed window.

    Prices are evaluated when it moves.
    """
    if stream_time_us is None:
        return None
    return (stream_time_us - GRACE_US) // WINDOW_US * WINDOW_US
