"""Conditions of exception tasks that services check for one key (domain.md 8).

The conditions over many keys are SQL in `ledger.automation.conditions`.
"""

from inventory.model.arithmetic import ceil_div, half_even

LEAST_TOLERANCE_UNITS = 2
# The task *stale source* opens if a store has recorded no sale line for one or more full hours in
# which it usually sells. In the same hours of the last `SILENT_DAYS` days, the store must have
# recorded at least `SILENT_LINES` lines a day on average.
SILENT_LINES = 7
SILENT_DAYS = 7


def raised_lambda_micro(lambda_micro: int) -> int:
    """Return an item's threshold for phantom suspects after a false alarm: half_even(3·λ, 2).

    λ is the item's present threshold `lambda_micro`, in millionths of a unit. A phantom suspect has
    on-hand, but hasn't sold for so long that its shelf may be empty.
    """
    return half_even(3 * lambda_micro, 2)


def tolerance_units(expected_units: int) -> int:
    """Return max(2, ceil(expected / 10)): the largest variance that needs no second count."""
    return max(LEAST_TOLERANCE_UNITS, ceil_div(expected_units, 10))


def is_variance_due(counted_units: int, expected_units: int) -> bool:
    """Return True if a count differs so much that a second, blind count is due.

    The condition is |counted - expected| > `tolerance_units`.
    """
    return abs(counted_units - expected_units) > tolerance_units(expected_units)
