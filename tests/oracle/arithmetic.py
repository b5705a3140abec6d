"""The three divisions and the calendar of docs/domain.md 0, implemented a second time."""

from math import isqrt

DAY = 86_400_000_000
W = 600_000_000
SECOND = 1_000_000
HOUR = 3_600_000_000
MINUTE = 60_000_000
EDGE = 2**53 - 1
YEAR_2000 = 946_684_800_000_000

__all__ = [
    "DAY",
    "EDGE",
    "HOUR",
    "MINUTE",
    "SECOND",
    "YEAR_2000",
    "W",
    "ceil",
    "clamp",
    "day",
    "floor",
    "half_even",
    "isqrt",
    "weekday",
    "window",
]


def floor(a: int, b: int) -> int:
    return a // b


def ceil(a: int, b: int) -> int:
    return -(-a // b)


def half_even(a: int, b: int) -> int:
    quotient, rest = divmod(a, b)
    if 2 * rest > b or (2 * rest == b and quotient % 2 == 1):
        return quotient + 1
    return quotient


def clamp(a: int) -> int:
    """Return `a` within the range of rates, deviations and z (11.1)."""
    return max(-EDGE, min(EDGE, a))


def day(t: int) -> int:
    return floor(t, DAY)


def window(t: int) -> int:
    return floor(t, W) * W


def weekday(t: int) -> int:
    return (day(t) + 3) % 7
