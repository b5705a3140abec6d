"""Days that pass the horizon are folded into opening values and become final (domain.md 2.4)."""

from bisect import bisect_left

from inventory.folds.demand import Rules, walk_days
from inventory.model.arithmetic import DAY_US
from inventory.model.state import Demand, Stock, WindowRow
from inventory.model.value import value

Windows = dict[int, WindowRow]


@value
class Retained:
    """What a key retains, and what is final about the days before."""

    stock: Stock
    windows: Windows
    final_demand: Demand
    dropped: tuple[int, ...]


def fold_days(retained: Retained, *, old_us: int | None, new_us: int, rules: Rules) -> Retained:
    """Fold the days from the horizon `old_us` to the horizon `new_us`, oldest first.

    `rules` are those from before the record that moves the horizon. `old_us` is None while the key
    had no stream time; then the walk begins with its oldest fact.
    """
    stock, windows, demand = retained.stock, retained.windows, retained.final_demand
    folded_counts = bisect_left(stock.counts, new_us, key=lambda count: count.at_us)
    dropped = tuple(sorted([start for start in windows if start < new_us]))
    if not dropped and not folded_counts and not demand.begun:
        return Retained(stock, windows, demand, ())
    first_us = _oldest_us(retained, new_us) if old_us is None else old_us
    walk = walk_days(demand, stock, windows, (first_us, new_us), rules)
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


def _oldest_us(retained: Retained, until_us: int) -> int:
    oldest_us = min(retained.windows, default=until_us)
    if retained.stock.counts:
        oldest_us = min(oldest_us, retained.stock.counts[0].at_us)
    return min(oldest_us, until_us) // DAY_US * DAY_US
