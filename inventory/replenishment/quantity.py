"""The computation of an order quantity, steps 2 to 6 of domain.md 5.2."""

from inventory.model.arithmetic import ceil_div
from inventory.model.policy import ItemLocation
from inventory.model.value import value
from inventory.replenishment.levels import Levels, demand_micro

Term = tuple[str, int | str | None]

LIMIT_BELOW_MINIMUM = "limit_below_minimum"
NO_DEMAND_HISTORY = "no_demand_history"
COVER_OVER_GUARD = "cover_over_guard"


@value
class Quantity:
    """An order quantity q, with the steps of its computation as `terms`.

    If `units` is None, nothing can be ordered, and `reason` is `limit_below_minimum`. `flags` has
    at most one flag. An order with a flag must be approved by a person.
    """

    units: int | None
    reason: str | None
    flags: tuple[str, ...]
    terms: tuple[Term, ...]


def need_units(policy: ItemLocation, level: Levels, base_units: int) -> int:
    """Return the units that the key needs: S - B (order-up-to level - base position).

    A family of shape `LOTS` has no S and orders multiples of the lot Q. Its need is the smallest
    m·Q with m ≥ 1 and B + m·Q > s (reorder point).
    """
    reorder_point = level.reorder_point_units or 0
    if level.order_up_to_units is None:
        batches = (reorder_point - base_units) // policy.order_quantity_units + 1
        return batches * policy.order_quantity_units
    return level.order_up_to_units - base_units


def packed_units(policy: ItemLocation, need: int) -> int:
    """Return the need rounded to whole packs, and perhaps up to whole pallets (domain.md 5.2).

    The policy's `pack_rounding` is `up`, `down` or `threshold`. With `threshold`, the need is
    rounded up if the last pack is full to at least `round_up_permille` thousandths. The result q is
    at least one pack. A pallet has f = `pallet_packs`·`pack_units` units. q is rounded up to whole
    pallets if the last pallet is full enough: (q mod f)·1000 ≥ `pallet_permille`·f > 0.
    """
    pack = policy.pack_units
    rest = need % pack
    up = policy.pack_rounding == "up" or (
        policy.pack_rounding == "threshold" and rest * 1000 >= policy.round_up_permille * pack
    )
    whole = need - rest
    packed = max(pack, whole + pack if rest > 0 and up else whole)
    pallet = policy.pallet_packs * pack
    mark = policy.pallet_permille * pallet
    if mark > 0 and (packed % pallet) * 1000 >= mark:
        return ceil_div(packed, pallet) * pallet
    return packed


def least_units(policy: ItemLocation) -> int:
    """Return the smallest order: `moq_units` rounded up to packs, at least one pack."""
    pack = policy.pack_units
    return max(pack, ceil_div(policy.moq_units, pack) * pack)


def limit_units(policy: ItemLocation, base_units: int) -> int | None:
    """Return the largest order: min(`max_order_units`, `capacity_units` - B), in whole packs.

    B is the base position. A column that is None sets no limit. Return None if both are None.
    """
    limits = []
    if policy.max_order_units is not None:
        limits.append(policy.max_order_units)
    if policy.capacity_units is not None:
        limits.append(policy.capacity_units - base_units)
    if not limits:
        return None
    return min(limits) // policy.pack_units * policy.pack_units


def guard_flags(policy: ItemLocation, rate_micro: int, stock_units: int) -> tuple[str, ...]:
    """Return the flags of an order: reasons why a person must approve it (domain.md 5.2, 6).

    `stock_units` is the base position + the order's units. A rate of 0 gives `no_demand_history`.
    If the stock lasts for more than `guard_days` at the rate, the flag is `cover_over_guard`.
    """
    if rate_micro == 0:
        return (NO_DEMAND_HISTORY,)
    if stock_units * 1_000_000 > rate_micro * policy.guard_days:
        return (COVER_OVER_GUARD,)
    return ()


def order_units(policy: ItemLocation, level: Levels, base_units: int) -> int | None:
    """Return the units that `order_quantity` would return, or None if nothing can be ordered.

    This function is faster, because it builds no terms.
    """
    packed = packed_units(policy, need_units(policy, level, base_units))
    return _limited(packed, least_units(policy), limit_units(policy, base_units))


def _limited(packed: int, least: int, limit: int | None) -> int | None:
    """Return min(max(packed, least), limit), or None if `limit` is below `least`."""
    raised = max(packed, least)
    units = raised if limit is None else min(raised, limit)
    return None if units < least else units


def order_quantity(
    policy: ItemLocation, level: Levels, base_units: int, rate_micro: int | None
) -> Quantity:
    """Return the quantity to order, with flags and terms (domain.md 5.2).

    Call this only if an order is due: base position B ≤ reorder point s.
    """
    need = need_units(policy, level, base_units)
    packed = packed_units(policy, need)
    least = least_units(policy)
    limit = limit_units(policy, base_units)
    units = _limited(packed, least, limit)
    terms: tuple[Term, ...] = (
        ("need_units", need),
        ("pack_units", policy.pack_units),
        ("pack_rounding", policy.pack_rounding),
        ("packed_units", packed),
        ("minimum_units", least),
        ("limit_units", limit),
    )
    if units is None:
        return Quantity(None, LIMIT_BELOW_MINIMUM, (), (*terms, ("quantity_units", None)))
    flags = guard_flags(policy, demand_micro(policy, rate_micro), base_units + units)
    return Quantity(units, None, flags, (*terms, ("quantity_units", units)))
