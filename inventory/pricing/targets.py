"""The computation of a price from a price step (domain.md 6.2).

A step has a target price. Clamps limit it, and the allowed endings round it.
"""

from inventory.model.arithmetic import PRICE_MAX, PRICE_MIN, ceil_div
from inventory.model.policy import ItemLocation
from inventory.model.value import value

FLOOR, MAX_STEP, MAX_OFF, CEILING = "floor", "max_step", "max_off", "ceiling"
ENDING, ENDING_UP = "ending", "ending_up"


@value
class Clamped:
    """A price after the clamps, and the names of the clamps that changed it, in order.

    `price_minor` is None if no price passes all clamps.
    """

    price_minor: int | None
    clamps: tuple[str, ...]


@value
class PriceFrame:
    """The prices in minor units and the endings that limit a new price.

    `old_minor` is the price in force when the new price would start. `endings` are the allowed last
    two digits; an empty tuple allows all.
    """

    old_minor: int
    regular_minor: int
    floor_minor: int
    endings: tuple[int, ...]


def floor_minor(cost_minor: int, margin_permille: int, tax_bp: int) -> int:
    """Return the lowest price that covers cost, margin and tax, in minor units (domain.md 6.2).

    It is ceil(net·(10000 + tax_bp) / 10000) with net = ceil(cost·1000 / (1000 - margin_permille)).
    """
    net_minor = ceil_div(cost_minor * 1000, 1000 - margin_permille)
    return ceil_div(net_minor * (10_000 + tax_bp), 10_000)


def target_minor(policy: ItemLocation, regular_minor: int, step: int) -> int | None:
    """Return the target price of `step` k before any limit, or None if there is no such step.

    * k = 0: regular
    * k > 0: regular·(1000 - ladder[k]) // 1000
    * k < 0: regular·(1000 + raise[-k]) // 1000

    `ladder` are the policy's reductions and `raise` its raises, in thousandths. The first entry
    of each list has the index 1.
    """
    if step == 0:
        return regular_minor
    ladder = policy.ladder_permille if step > 0 else policy.raise_permille
    if abs(step) > len(ladder):
        return None
    permille = ladder[abs(step) - 1]
    return regular_minor * (1000 - permille if step > 0 else 1000 + permille) // 1000


def clamped_down(policy: ItemLocation, frame: PriceFrame, target: int) -> Clamped:
    """Return the reduced price for `target` (domain.md 6.2, Down).

    The price has an allowed ending or is the regular price. It is < old, ≥ floor,
    ≥ old - old·max_step // 1000, and ≥ regular - regular·max_off // 1000. `price_minor` is None if
    there is no such price.
    """
    lowest = (
        (FLOOR, frame.floor_minor),
        (MAX_STEP, frame.old_minor - frame.old_minor * policy.max_step_permille // 1000),
        (MAX_OFF, frame.regular_minor - frame.regular_minor * policy.max_off_permille // 1000),
    )
    price = target
    clamps: list[str] = []
    for name, bound in lowest:
        if price < bound:
            price = bound
            clamps.append(name)
    ended = largest_allowed(frame, price)
    if ended is None or ended < max(bound for _, bound in lowest):
        ended = smallest_allowed(frame, price + 1)
        clamps.append(ENDING_UP)
    elif ended < price:
        clamps.append(ENDING)
    is_left = ended is not None and ended < frame.old_minor
    return _clamped(ended if is_left else None, tuple(clamps))


def clamped_up(policy: ItemLocation, frame: PriceFrame, target: int) -> Clamped:
    """Return the raised price for `target` (domain.md 6.2, Up).

    The price has an allowed ending or is the regular price. It is > old, ≥ floor,
    ≤ old + old·max_step // 1000, and ≤ regular + regular·cap // 1000. `price_minor` is None if
    there is no such price.
    """
    highest = (
        (MAX_STEP, frame.old_minor + frame.old_minor * policy.max_step_permille // 1000),
        (CEILING, frame.regular_minor + frame.regular_minor * policy.cap_permille // 1000),
    )
    clamps: list[str] = []
    price = target
    if price < frame.floor_minor:
        price = frame.floor_minor
        clamps.append(FLOOR)
    for name, bound in highest:
        if price > bound:
            price = bound
            clamps.append(name)
    least = max(frame.old_minor + 1, frame.floor_minor)
    ended = largest_allowed(frame, price)
    if ended is not None and ended >= least:
        return _clamped(ended, (*clamps, ENDING) if ended < price else tuple(clamps))
    # Add `ENDING_UP` even if there is no price: the clamps' names then explain why there is none.
    ended = smallest_allowed(frame, price + 1)
    is_left = ended is not None and least <= ended <= min(bound for _, bound in highest)
    return _clamped(ended if is_left else None, (*clamps, ENDING_UP))


def raised_to_floor(frame: PriceFrame) -> Clamped:
    """Return the smallest allowed price that is not below the floor. No other clamp limits it."""
    return _clamped(smallest_allowed(frame, frame.floor_minor), (FLOOR,))


def _clamped(price_minor: int | None, clamps: tuple[str, ...]) -> Clamped:
    """Return price and clamps. A price outside 1 to 10^9 becomes None (domain.md 6.2, Range)."""
    is_price = price_minor is not None and PRICE_MIN <= price_minor <= PRICE_MAX
    return Clamped(price_minor if is_price else None, clamps)


def largest_allowed(frame: PriceFrame, at_most: int) -> int | None:
    """Return the largest allowed price ≤ `at_most`. The regular price is always allowed."""
    if not frame.endings:
        return at_most
    allowed = [at_most - (at_most - ending) % 100 for ending in _endings(frame)]
    if frame.regular_minor <= at_most:
        allowed.append(frame.regular_minor)
    return max(allowed, default=None)


def smallest_allowed(frame: PriceFrame, at_least: int) -> int | None:
    """Return the smallest allowed price ≥ `at_least`. The regular price is always allowed."""
    if not frame.endings:
        return at_least
    allowed = [at_least + (ending - at_least) % 100 for ending in _endings(frame)]
    if frame.regular_minor >= at_least:
        allowed.append(frame.regular_minor)
    return min(allowed, default=None)


def _endings(frame: PriceFrame) -> list[int]:
    """Return the allowed endings without those outside 0 to 99, which no price can have."""
    return [ending for ending in frame.endings if 0 <= ending < 100]  # noqa: PLR2004 -- two digits
