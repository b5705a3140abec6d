"""The economic order quantity, which people may type as the batch Q (domain.md 5.1)."""

from math import isqrt

from inventory.model.arithmetic import ceil_div


def economic_order_units(
    *, demand_a_year_units: int, order_cost_minor: int, holding_minor: int
) -> int:
    """Return the economic order quantity: the smallest Q ≥ 1 with Q²·h ≥ 2·D·K.

    D is the demand of a year in units. K is the cost of one order, and h > 0 the cost of holding a
    unit for a year, both in minor units.
    """
    least_square = ceil_div(2 * demand_a_year_units * order_cost_minor, holding_minor)
    return isqrt(max(least_square, 1) - 1) + 1
