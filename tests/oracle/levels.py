"""Levels and order quantities (5.1, 5.2)."""

from dataclasses import dataclass
from typing import Any

from tests.oracle.arithmetic import ceil, floor, half_even, isqrt
from tests.oracle.columns import ALWAYS_TYPED, BASE_STOCK, LOTS, PERIODIC

Policy = dict[str, Any]


@dataclass(frozen=True)
class Levels:
    """Safety stock, s and S; S is None for families that order multiples of Q."""

    safety: int
    s: int
    upto: int | None


@dataclass(frozen=True)
class Quantity:
    """q, None if it is below the minimum; `top` is the limit in whole packs, None without limit."""

    q: int | None
    need: int
    top: int | None
    flags: tuple[str, ...] = ()


def span(d: int, centidays: int) -> int:
    return ceil(d * centidays, 10**8)


def safety_stock(policy: Policy, d: int, mad: int, protection: int) -> int:
    """Return the safety stock SS(P) of 5.1; `protection` is P in centidays."""
    method = policy["safety_method"]
    if method == "fixed":
        typed: int = policy["safety_stock_units"]
        return typed
    if method == "days":
        return span(d, policy["safety_centidays"])
    sigma = half_even(mad * 1_253_314, 10**6)
    variance = 100 * sigma**2 * protection + d**2 * policy["lead_time_sd_centidays"] ** 2
    return ceil(policy["service_z_micro"] * isqrt(variance), 10**14)


def levels_of(policy: Policy, d: int, mad: int) -> Levels | None:
    """Return the levels of a policy, or None for the family `off`."""
    family = policy["replenish_family"]
    if family == "off":
        return None
    if policy["levels"] == "fixed" or family in ALWAYS_TYPED:
        return _typed(policy, family)
    return _computed(policy, family, d, mad)


def _typed(policy: Policy, family: str) -> Levels:
    s, upto = policy["reorder_point_units"], policy["order_up_to_units"]
    if family in LOTS:
        return Levels(0, s, None)
    if family in BASE_STOCK:
        return Levels(0, upto - 1, upto)
    return Levels(0, s, upto)


def _computed(policy: Policy, family: str, d: int, mad: int) -> Levels:
    lead, review = policy["lead_time_centidays"], policy["review_centidays"]
    if family == "cover":
        s = span(d, policy["min_cover_centidays"])
        return Levels(0, s, max(s + 1, span(d, policy["max_cover_centidays"])))
    protection = lead + review if family in PERIODIC else lead
    safety = safety_stock(policy, d, mad, protection)
    base = span(d, protection) + safety
    if family in LOTS:
        return Levels(safety, base, None)
    if family in BASE_STOCK:
        return Levels(safety, base - 1, base)
    if family == "sS":
        cycle = span(d, policy["cycle_centidays"])
        return Levels(safety, base, base + max(1, policy["order_quantity_units"], cycle))
    return Levels(safety, base, base + max(1, span(d, review)))


def need_of(policy: Policy, levels: Levels, b: int) -> int:
    """Return the quantity need n of a triggered key (B ≤ s)."""
    if levels.upto is not None:
        return levels.upto - b
    lot: int = policy["order_quantity_units"]
    multiple = max(1, floor(levels.s - b, lot))
    while b + multiple * lot <= levels.s:
        multiple += 1
    return multiple * lot


def packed(policy: Policy, n: int) -> int:
    """Return the need rounded to packs and pallets (step 3 of 5.2)."""
    p: int = policy["pack_units"]
    up, down = ceil(n, p) * p, floor(n, p) * p
    if policy["pack_rounding"] == "up":
        q = up
    elif policy["pack_rounding"] == "down":
        q = down
    else:
        rest = n % p
        q = up if rest > 0 and rest * 1000 >= policy["round_up_permille"] * p else down
    q = max(q, p)
    pallet: int = policy["pallet_packs"] * p
    wanted = policy["pallet_permille"] * pallet
    if pallet > 0 and wanted > 0 and (q % pallet) * 1000 >= wanted:
        q = ceil(q, pallet) * pallet
    return q


def quantity_of(policy: Policy, levels: Levels, b: int, d: int) -> Quantity:
    """Return the order quantity of a triggered key: steps 2 to 6 of 5.2."""
    p = policy["pack_units"]
    n = need_of(policy, levels, b)
    least = max(p, ceil(policy["moq_units"], p) * p)
    q = max(packed(policy, n), least)
    limits = []
    if policy["max_order_units"] is not None:
        limits.append(policy["max_order_units"])
    if policy["capacity_units"] is not None:
        limits.append(policy["capacity_units"] - b)
    top = floor(min(limits), p) * p if limits else None
    if top is not None:
        q = min(q, top)
    if q < least:
        return Quantity(None, n, top)
    if d == 0:
        return Quantity(q, n, top, ("no_demand_history",))
    over = (b + q) * 10**6 > d * policy["guard_days"]
    return Quantity(q, n, top, ("cover_over_guard",) if over else ())
