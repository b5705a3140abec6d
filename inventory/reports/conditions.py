"""Conditions of the exceptions inbox that services check too (domain.md 8).

The other conditions concern many keys at once. They exist as set-based SQL only, in
`ledger.automation.conditions`, and tests check both sides of each boundary there.
"""

from inventory.model.arithmetic import ceil_div, half_even

LEAST_TOLERANCE_UNITS = 2
SILENT_LINES = 7
SILENT_DAYS = 7


def raised_lambda_micro(lambda_micro: int) -> int:
    """Return the threshold after a false alarm, raised by half."""
    return half_even(3 * lambda_micro, 2)


def tolerance_units(expected_units: int) -> int:
    """Return the largest difference from the expected units that needs no second count."""
    return max(LEAST_TOLERANCE_UNITS, ceil_div(expected_units, 10))


def is_variance_due(counted_units: int, expected_units: int) -> bool:
    """Return True if the difference exceeds the tolerance."""
    return abs(counted_units - expected_units) > tolerance_units(expected_units)
