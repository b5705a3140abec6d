"""Integer division and constants of time (domain.md 0). The floor(a,b) of the rules is `a // b`."""

DAY_US = 86_400_000_000
HOUR_US = 3_600_000_000
MINUTE_US = 60_000_000
SECOND_US = 1_000_000
WINDOW_US = 600_000_000
MAX_STORED = 2**53 - 1
MIN_STORED = -MAX_STORED
PRICE_MIN, PRICE_MAX = 1, 10**9  # limits in minor units, of entered and of proposed prices


def ceil_div(dividend: int, divisor: int) -> int:
    """Return the quotient rounded towards positive infinity; `divisor` > 0."""
    return -(-dividend // divisor)


def half_even(dividend: int, divisor: int) -> int:
    """Return the nearest integer to the quotient, the even one if two are equally near.

    `divisor` > 0. Example: 5 / 2 gives 2, 7 / 2 gives 4.
    """
    quotient, remainder = divmod(dividend, divisor)
    twice = 2 * remainder
    if twice < divisor or (twice == divisor and quotient % 2 == 0):
        return quotient
    return quotient + 1


def day_of(at_us: int) -> int:
    """Return the number of the UTC day that contains `at_us`, counted from 1970-01-01."""
    return at_us // DAY_US


def weekday_of(at_us: int) -> int:
    """Return the weekday of the UTC day that contains `at_us`, from Monday = 0 to Sunday = 6."""
    return (day_of(at_us) + 3) % 7


def window_start(at_us: int) -> int:
    """Return the start of the window [start, start + WINDOW_US) that contains `at_us`."""
    return at_us // WINDOW_US * WINDOW_US
