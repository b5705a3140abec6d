"""The count rule: on-hand, variances and shrink after a movement or a count (domain.md 2.4).

    on-hand = units of C + Σ movements in later seconds than the second of C

C is the last count, in the order (second, id). No running balance is stored. A movement belongs to
the interval that ends with the next count. It changes that count's variance, or on-hand if there is
no next count. An inserted count splits an interval, and a removed count joins two intervals. In
both cases, only the movements between that count and the previous one have to be summed.
"""

from bisect import bisect_left
from dataclasses import replace

from inventory.fold.effects import Effects
from inventory.model.arithmetic import WINDOW_US, window_start
from inventory.model.state import OPENING_KIND, Count, Stock, WindowRow

Windows = dict[int, WindowRow]


def after_movements(stock: Stock, effects: Effects, horizon_at_us: int | None) -> Stock:
    """Return the stock after the effects of one record.

    If a retained count follows a movement, the movement changes that count's variance. If no such
    count follows, the movement changes on-hand. A movement before the horizon also changes
    `opening_units` (on-hand at the horizon). There is one exception: if the last count before the
    horizon (`opening_count`) follows the movement, the movement changes shrink, but neither on-hand
    nor `opening_units`.
    """
    on_hand, shrink = stock.on_hand_units, stock.shrink_units
    total, opening = stock.sum_movements_units, stock.opening_units
    unavailable, on_order = stock.unavailable_units, stock.on_order_units
    in_transit, counts = stock.in_transit_units, stock.counts
    for effect in effects:
        at_us, delta = effect.at_us, effect.moved_units
        unavailable += effect.unavailable_units
        on_order += effect.on_order_units
        in_transit += effect.in_transit_units
        total += delta
        if horizon_at_us is not None and at_us < horizon_at_us:
            folded = stock.opening_count
            if folded is not None and at_us <= folded.at_us:
                shrink += delta
                continue
            opening += delta
        counted_by = _next_count(counts, at_us)
        if counted_by is None:
            on_hand += delta
        elif counted_by.kind != OPENING_KIND:
            shrink += delta
    # Positional arguments, because each record builds a stock.
    return Stock(
        on_hand,
        unavailable,
        on_order,
        in_transit,
        total,
        shrink,
        opening,
        stock.opening_count,
        counts,
    )


def without_count(stock: Stock, windows: Windows, count_id: int) -> Stock:
    """Return the stock without the count of the `stock_count` row `count_id`.

    A count before the horizon is not removed.
    """
    indexes = [index for index, count in enumerate(stock.counts) if count.id == count_id]
    for index in reversed(indexes):
        count = stock.counts[index]
        counts = (*stock.counts[:index], *stock.counts[index + 1 :])
        stock = _restated(stock, counts, index, count, -_variance(stock, windows, index))
    return stock


def with_count(stock: Stock, windows: Windows, count: Count) -> Stock:
    """Return the stock after the approved count `count` is inserted."""
    index = bisect_left(stock.counts, _order(count), key=_order)
    counts = (*stock.counts[:index], count, *stock.counts[index:])
    variance = _variance(replace(stock, counts=counts), windows, index)
    return _restated(stock, counts, index + 1, count, variance)


def net_between(windows: Windows, after_us: int | None, until_us: int) -> int:
    """Return the net units of the retained movements in (`after_us`, `until_us`].

    Without a lower bound, `after_us` is None.
    """
    total = 0
    for start_us in _starts_between(windows, after_us, until_us):
        moves = windows[start_us].moves
        if start_us + WINDOW_US <= until_us and (after_us is None or after_us < start_us):
            total += sum(moves.values())
            continue
        for at_us, delta in moves.items():
            if at_us <= until_us and (after_us is None or at_us > after_us):
                total += delta
    return total


def _starts_between(windows: Windows, after_us: int | None, until_us: int) -> list[int]:
    last_us = window_start(until_us)
    if after_us is not None:
        first_us = window_start(after_us)
        if (last_us - first_us) // WINDOW_US < len(windows):
            span = range(first_us, last_us + WINDOW_US, WINDOW_US)
            return [start_us for start_us in span if start_us in windows]
        return [start_us for start_us in windows if first_us <= start_us <= last_us]
    return [start_us for start_us in windows if start_us <= last_us]


def _variance(stock: Stock, windows: Windows, index: int) -> int:
    """Return the variance of the count at `index`.

    It is the count's units minus the on-hand that follows from all other facts up to and including
    the count's second.
    """
    count = stock.counts[index]
    if index == 0:
        before, since_us = stock.opening_units, None
    else:
        previous = stock.counts[index - 1]
        before, since_us = previous.units, previous.at_us
    return count.units - before - net_between(windows, since_us, count.at_us)


def _restated(
    stock: Stock, counts: tuple[Count, ...], next_index: int, count: Count, gained: int
) -> Stock:
    """Return the stock with `counts`, the result of inserting or removing `count`.

    `gained` is the variance of an inserted count, or the negated variance of a removed one. The
    variance of the next count, at `next_index`, falls by `gained`. If there is no next count,
    on-hand rises by `gained`.
    """
    on_hand, shrink = stock.on_hand_units, stock.shrink_units
    if count.kind != OPENING_KIND:
        shrink -= gained
    if next_index == len(counts):
        on_hand += gained
    elif counts[next_index].kind != OPENING_KIND:
        shrink += gained
    return replace(stock, on_hand_units=on_hand, shrink_units=shrink, counts=counts)


def _next_count(counts: tuple[Count, ...], at_us: int) -> Count | None:
    """Return the first count at or after the second `at_us`, or None.

    Of several counts in the same second, the one with the lowest id is the first.
    """
    if not counts or counts[-1].at_us < at_us:
        return None
    return counts[bisect_left(counts, at_us, key=lambda count: count.at_us)]


def _order(count: Count) -> tuple[int, int]:
    return count.at_us, count.id
