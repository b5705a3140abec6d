"""Reorder point and order-up-to level of the seven families (domain.md 5.1)."""

from math import isqrt

from inventory.model.arithmetic import ceil_div, half_even
from inventory.model.value import value
from inventory.tables.facts import ItemLocation

PERIODIC_FAMILIES = ("RS", "RsS")
SIGMA_PER_MAD_MICRO = 1_253_314  # √(π/2): standard over mean deviation of a normal variable


@value
class Levels:
    """SS, s and S. `s` is None without a policy or with family `off`, `S` also for sQ."""

    safety_stock_units: int
    reorder_point_units: int | None
    order_up_to_units: int | None


NO_LEVELS = Levels(0, None, None)


def demand_micro(policy: ItemLocation | None, rate_micro: int | None) -> int:
    """Return the demand rate d: `rate_micro`, or the initial rate until a day is observed."""
    if rate_micro is not None:
        return rate_micro
    return 0 if policy is None else policy.initial_rate_micro or 0


def deviation_micro(demand: int, rate_micro: int | None, mad_micro: int | None) -> int:
    """Return the mean absolute deviation. For an unknown rate it is half of `demand`."""
    if rate_micro is None or mad_micro is None:
        return half_even(demand, 2)
    return mad_micro


def sigma_micro(mad_micro: int) -> int:
    """Return the standard deviation of daily demand from its mean absolute deviation."""
    return half_even(mad_micro * SIGMA_PER_MAD_MICRO, 1_000_000)


def span_units(rate_micro: int, centidays: int) -> int:
    """Return the demand of a span in units, rounded up."""
    return ceil_div(rate_micro * centidays, 100_000_000)


def protection_centidays(policy: ItemLocation) -> int:
    """Return P: the time that an order placed now must last until the next one can arrive."""
    if policy.replenish_family in PERIODIC_FAMILIES:
        return policy.lead_time_centidays + policy.review_centidays
    return policy.lead_time_centidays


def safety_stock_units(policy: ItemLocation, rate_micro: int, sigma: int) -> int:
    """Return SS of the policy's protection span by its safety method; `sigma` is in micro-units."""
    if policy.safety_method == "fixed":
        return policy.safety_stock_units
    if policy.safety_method == "days":
        return span_units(rate_micro, policy.safety_centidays)
    demand_variance = 100 * sigma * sigma * protection_centidays(policy)
    lead_time_variance = (rate_micro * policy.lead_time_sd_centidays) ** 2
    root = isqrt(demand_variance + lead_time_variance)
    return ceil_div(policy.service_z_micro * root, 10**14)


def levels(policy: ItemLocation | None, rate_micro: int | None, mad_micro: int | None) -> Levels:
    """Return the levels of the policy and the current demand. `rate_micro` None is unknown."""
    if policy is None or policy.replenish_family == "off":
        return NO_LEVELS
    # domain.md 5.1: "S always typed" for par, so `computed` changes nothing there.
    if policy.levels == "fixed" or policy.replenish_family == "par":
        return _typed(policy)
    rate = demand_micro(policy, rate_micro)
    if policy.replenish_family == "cover":
        return _cover(policy, rate)
    return _computed(policy, rate, sigma_micro(deviation_micro(rate, rate_micro, mad_micro)))


def _typed(policy: ItemLocation) -> Levels:
    if policy.replenish_family == "sQ":
        return Levels(0, policy.reorder_point_units, None)
    if policy.replenish_family in ("RS", "par"):
        return Levels(0, policy.order_up_to_units - 1, policy.order_up_to_units)
    return Levels(0, policy.reorder_point_units, policy.order_up_to_units)


def _cover(policy: ItemLocation, rate_micro: int) -> Levels:
    reorder_point = span_units(rate_micro, policy.min_cover_centidays)
    order_up_to = max(reorder_point + 1, span_units(rate_micro, policy.max_cover_centidays))
    return Levels(0, reorder_point, order_up_to)


def _computed(policy: ItemLocation, rate_micro: int, sigma: int) -> Levels:
    safety = safety_stock_units(policy, rate_micro, sigma)
    protected = span_units(rate_micro, protection_centidays(policy)) + safety
    match policy.replenish_family:
        case "sQ":
            return Levels(safety, protected, None)
        case "sS":
            batch = max(
                1, policy.order_quantity_units, span_units(rate_micro, policy.cycle_centidays)
            )
            return Levels(safety, protected, protected + batch)
        case "RS":
            return Levels(safety, protected - 1, protected)
        case _:
            batch = max(1, span_units(rate_micro, policy.review_centidays))
            return Levels(safety, protected, protected + batch)
