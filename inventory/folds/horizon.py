"""Days that pass the horizon are folded into opening values and become final (domain.md 2.4)."""

from bisect import bisect_left

from inventory.folds.demand import Rules, Walk, walk_days, walk_on
from inventory.model.arithmetic import DAY_US
from inventory.model.state import Demand, KeyState, Stock, WindowRow
from inventory.model.value import value
from inventory.windows import complete_before_us, horizon_us

Windows = dict[int, WindowRow]


@value
class Retained:
    """What a key retains, and what is final about the days before."""

    stock: Stock
    windows: Windows
    final_demand: Demand
    dropped: tuple[int, ...]


def fold_days(before: KeyState, new_us: int, rules: Rules) -> Retained:
    """Fold the days from the horizon of `before` to the horizon `new_us`, oldest first.

    `rules` are those of `before`, from before the record that moves the horizon. While the key had
    no stream time the walk begins with its oldest fact.
    """
    stock, windows, demand = before.stock, before.windows, before.final_demand
    folded_counts = bisect_left(stock.counts, new_us, key=lambda count: count.at_us)
    dropped = tuple(sorted([start for start in windows if start < new_us]))
    if not dropped and not folded_counts and not demand.begun:
        return Retained(stock, windows, demand, ())
    walk = _walk_to(before, new_us, rules)
    if not dropped and not folded_counts:
        return Retained(stock, windows, walk.demand, ())
    folded = Stock(
        stock.on_hand_units,
        stock.unavailable_units,
        stock.on_order_units,
        stock.in_transit_units,
        stock.sum_movements_units,
        stock.shrink_units,
        walk.level_units,
        stock.counts[folded_counts - 1] if folded_counts else stock.opening_count,
        stock.counts[folded_counts:],
    )
    kept = {start: row for start, row in windows.items() if start >= new_us}
    return Retained(folded, kept, walk.demand, dropped)


def _walk_to(before: KeyState, new_us: int, rules: Rules) -> Walk:
    """The walk to the new horizon, from the last complete day on if that one has passed it too.

    `before.demand` already says what the complete days have taught, by the same facts and rules.
    """
    stock, windows, old_us = before.stock, before.windows, before.stream_time_us
    if old_us is None:
        span = (_oldest_us(before, new_us), new_us)
        return walk_days(before.final_demand, stock, windows, span, rules)
    complete_us = complete_before_us(old_us)
    if complete_us <= new_us:
        walk = walk_on(before.demand, stock, windows, (complete_us, new_us), rules)
        if walk is not None:
            return walk
    first_us = horizon_us(old_us) or 0
    return walk_days(before.final_demand, stock, windows, (first_us, new_us), rules)


def _oldest_us(before: KeyState, until_us: int) -> int:
    oldest_us = min(before.windows, default=until_us)
    if before.stock.counts:
        oldest_us = min(oldest_us, before.stock.counts[0].at_us)
    return min(oldest_us, until_us) // DAY_US * DAY_US
