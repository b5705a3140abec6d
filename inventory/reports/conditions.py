"""The arithmetic conditions of the exceptions inbox (domain.md 8).

The inbox itself is set-based SQL over many keys. Tests compare it with these functions on both
sides of each boundary.
"""

from inventory.model.arithmetic import ceil_div, half_even

LEAST_TOLERANCE_UNITS = 2
SILENT_LINES = 7
SILENT_DAYS = 7


def quiet_lambda_micro(
    rate_at_last_sale_micro: int, quiet_windows: int, trading_windows: int
) -> int:
    """Return λ in millionths: the units that should have been sold in the quiet windows."""
    return rate_at_last_sale_micro * quiet_windows // trading_windows


def quiet_since_count(quiet_windows: int, days_since_count: int, trading_windows: int) -> int:
    """Return the quiet windows of the complete days after the last count."""
    return min(quiet_windows, max(0, days_since_count) * trading_windows)


def raised_lambda_micro(lambda_micro: int) -> int:
    """Return the threshold after a false alarm, raised by half."""
    return half_even(3 * lambda_micro, 2)


def tolerance_units(expected_units: int) -> int:
    """Return the largest difference from the expected units that needs no second count."""
    return max(LEAST_TOLERANCE_UNITS, ceil_div(expected_units, 10))


def is_variance_due(counted_units: int, expected_units: int) -> bool:
    """Return True if the difference exceeds the tolerance."""
    return abs(counted_units - expected_units) > tolerance_units(expected_units)


def is_silence_strange(lines_of_seven_days: int) -> bool:
    """Return True if these hours of seven days hold so many lines that silence is suspicious."""
    return lines_of_seven_days >= SILENT_LINES * SILENT_DAYS
