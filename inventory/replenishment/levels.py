"""The computation of safety stock SS, reorder point s and order-up-to level S (domain.md 5.1)."""

from math import isqrt

from inventory.model.arithmetic import ceil_div, half_even
from inventory.model.policy import ItemLocation
from inventory.model.value import value
from inventory.replenishment.families import (
    BASE_STOCK,
    LOTS,
    OFF,
    Family,
    batch_centidays,
    family_of,
    first_centidays,
    has_typed_levels,
    protection_centidays,
)

SIGMA_PER_MAD_MICRO = 1_253_314  # √(π/2): standard / mean absolute deviation of a normal variable


@value
class Levels:
    """Safety stock SS, reorder point s and order-up-to level S of a key, in units.

    s and S are None without a policy or with family `off`. S is also None for families that order
    multiples of a lot (shape `LOTS`). SS is 0 for levels that a person typed, and for families with
    a `span_column`.
    """

    safety_stock_units: int
    reorder_point_units: int | None
    order_up_to_units: int | None


NO_LEVELS = Levels(0, None, None)


def demand_micro(policy: ItemLocation | None, rate_micro: int | None) -> int:
    """Return the demand rate in micro-units a day: the learned rate, else the initial one, else 0.

    The policy has the initial rate.
    """
    if rate_micro is not None:
        return rate_micro
    return 0 if policy is None else policy.initial_rate_micro or 0


def deviation_micro(demand: int, rate_micro: int | None, mad_micro: int | None) -> int:
    """Return the mean absolute deviation of a day's demand, in micro-units a day.

    While the learned rate or deviation is unknown (None), the result is half_even(`demand`, 2).
    `demand` is the demand rate that `demand_micro` returns.
    """
    if rate_micro is None or mad_micro is None:
        return half_even(demand, 2)
    return mad_micro


def sigma_micro(mad_micro: int) -> int:
    """Return sigma = half_even(mad·1253314, 10^6), the standard deviation of daily demand."""
    return half_even(mad_micro * SIGMA_PER_MAD_MICRO, 1_000_000)


def span_units(rate_micro: int, centidays: int) -> int:
    """Return the demand of `centidays` hundredths of a day: ceil(rate·centidays / 10^8) units."""
    return ceil_div(rate_micro * centidays, 100_000_000)


def safety_stock_units(policy: ItemLocation, rate_micro: int, sigma: int) -> int:
    """Return the safety stock SS in units, by the policy's `safety_method` (domain.md 5.1).

    - `fixed`: the units that a person typed.
    - `days`: the demand of `safety_centidays`.
    - `service`: ceil(z·isqrt(V) / 10^14) with V = 100·sigma²·P + d²·sigma_L². The rate d and its
      deviation sigma are in micro-units a day. The protection time P and the deviation sigma_L of
      the lead time are in hundredths of a day, z in millionths.
    """
    if policy.safety_method == "fixed":
        return policy.safety_stock_units
    if policy.safety_method == "days":
        return span_units(rate_micro, policy.safety_centidays)
    demand_variance = 100 * sigma * sigma * protection_centidays(policy)
    lead_time_variance = (rate_micro * policy.lead_time_sd_centidays) ** 2
    root = isqrt(demand_variance + lead_time_variance)
    return ceil_div(policy.service_z_micro * root, 10**14)


def levels(policy: ItemLocation | None, rate_micro: int | None, mad_micro: int | None) -> Levels:
    """Return the policy's typed levels, or levels computed from the demand (domain.md 5.1).

    `rate_micro` and `mad_micro` are the learned rate and deviation, None while unknown.
    """
    if policy is None or policy.replenish_family == OFF.code:
        return NO_LEVELS
    family = family_of(policy)
    if has_typed_levels(policy):
        return _typed(policy, family)
    rate = demand_micro(policy, rate_micro)
    safety = 0
    if not family.span_column:
        sigma = sigma_micro(deviation_micro(rate, rate_micro, mad_micro))
        safety = safety_stock_units(policy, rate, sigma)
    return _computed(policy, family, rate, safety)


def _typed(policy: ItemLocation, family: Family) -> Levels:
    if family.shape == LOTS:
        return Levels(0, policy.reorder_point_units, None)
    if family.shape == BASE_STOCK:
        return Levels(0, policy.order_up_to_units - 1, policy.order_up_to_units)
    return Levels(0, policy.reorder_point_units, policy.order_up_to_units)


def _computed(policy: ItemLocation, family: Family, rate_micro: int, safety: int) -> Levels:
    first = span_units(rate_micro, first_centidays(policy)) + safety
    if family.shape == LOTS:
        return Levels(safety, first, None)
    if family.shape == BASE_STOCK:
        return Levels(safety, first - 1, first)
    demand = span_units(rate_micro, batch_centidays(policy))
    return Levels(safety, first, first + family.batch(policy, demand, first))
