"""Functions that move the horizon, the start of a key's oldest retained day (domain.md 2.4).

Of the days before the horizon, the state has only the opening values: stock and demand at the
horizon. The days before the horizon are final. A late movement of a final day changes stock, but
not demand.
"""

from bisect import bisect_left

from inventory.fold.demand import (
    Days,
    Rules,
    continue_days,
    days_from,
    facts_of,
    learn_days,
    opening,
    rules_of,
)
from inventory.model.arithmetic import DAY_US
from inventory.model.state import Count, DayEnd, Demand, KeyState, Stock, WindowRow
from inventory.model.value import value
from inventory.model.windows import complete_before_us, horizon_us

Windows = dict[int, WindowRow]


@value
class Passed:
    """The fields of a key's state that change when days pass.

    Days before the new horizon become final. Days that ended ten minutes ago become complete.
    """

    stock: Stock
    windows: Windows
    final_demand: Demand
    demand: Demand
    days: Days


def pass_days(before: KeyState, now_us: int) -> Passed:
    """Return the state's fields after the stream time has moved to `now_us` (µs since 1970 UTC).

    Days before the new horizon are folded into the opening values (stock and demand at the
    horizon), oldest first. Demand is learned from all complete days. `before` is the state before
    the record that moves the time. The fact, policy or price of this record therefore has no effect
    on these days (domain.md 11.1). If the key had no stream time, the first day is the day of its
    oldest fact.
    """
    stock, windows, horizon_at_us = before.stock, before.windows, horizon_us(now_us) or 0
    last, days = _new_day_ends(before, (horizon_at_us, complete_before_us(now_us)))
    folded_counts = bisect_left(stock.counts, horizon_at_us, key=_time) if stock.counts else 0
    if folded_counts or (windows and min(windows) < horizon_at_us):
        stock = _folded(stock, last.on_hand_units, folded_counts)
        windows = {start: row for start, row in windows.items() if start >= horizon_at_us}
    return Passed(stock, windows, last.demand, days[-1].demand, days)


def _folded(stock: Stock, opening_units: int, folded_counts: int) -> Stock:
    """Return the stock without its oldest `folded_counts` counts, which lie before the new horizon.

    `opening_units` is on-hand at the new horizon. The newest of the removed counts becomes
    `opening_count`. If no count is removed, `opening_count` is unchanged.
    """
    return Stock(
        stock.on_hand_units,
        stock.unavailable_units,
        stock.on_order_units,
        stock.in_transit_units,
        stock.sum_movements_units,
        stock.shrink_units,
        opening_units,
        stock.counts[folded_counts - 1] if folded_counts else stock.opening_count,
        stock.counts[folded_counts:],
    )


def _new_day_ends(before: KeyState, span: tuple[int, int]) -> tuple[DayEnd, Days]:
    """Return the day end at the new horizon, and the day ends of the complete days after it.

    `span` is [new horizon, end of the last complete day). The state has the day ends of days that
    were already complete, so only newly complete days are computed.
    """
    horizon_at_us, complete_us = span
    rules = rules_of(before.policy, before.timeline)
    first_us, ends = _known_ends(before, horizon_at_us, rules)
    known_us = first_us + (len(ends) - 1) * DAY_US
    facts = facts_of(before.stock, before.windows, (known_us, complete_us))
    if known_us <= horizon_at_us:
        last = continue_days(ends[-1], facts, (known_us, horizon_at_us), rules)
        return last, days_from(last, facts, span, rules)
    index = (horizon_at_us - first_us) // DAY_US
    days = days_from(ends[-1], facts, (known_us, complete_us), rules)
    return ends[index], ends[index + 1 :] + days


def _known_ends(before: KeyState, horizon_at_us: int, rules: Rules) -> tuple[int, Days]:
    """Return the start of the oldest day that `before` retains (µs), and the known day ends.

    The first day end belongs to the day before that oldest day. The further day ends belong to the
    complete days from that oldest day on.
    """
    stock, windows, old_us = before.stock, before.windows, before.stream_time_us
    first = opening(before.final_demand, stock)
    if old_us is None:
        return _oldest_us(before, horizon_at_us), (first,)
    first_us, days = horizon_us(old_us) or 0, before.days
    if days is None:
        span = (first_us, complete_before_us(old_us))
        days = learn_days(before.final_demand, stock, windows, span, rules)
    return first_us, (first, *days)


def _time(count: Count) -> int:
    return count.at_us


def _oldest_us(before: KeyState, until_us: int) -> int:
    oldest_us = min(before.windows, default=until_us)
    if before.stock.counts:
        oldest_us = min(oldest_us, before.stock.counts[0].at_us)
    return min(oldest_us, until_us) // DAY_US * DAY_US
