"""The demand rate, learnt from complete days in their order (domain.md 3.3, 11.6)."""

from dataclasses import replace
from typing import Final

from inventory.model.arithmetic import DAY_US, MAX_STORED, WINDOW_US, half_even
from inventory.model.policy import ItemLocation
from inventory.model.price_timeline import PriceRow, step_at
from inventory.model.state import Count, Demand, Stock, WindowRow
from inventory.model.value import value
from inventory.windows import WINDOWS_PER_DAY

MICRO: Final = 1_000_000
PERMILLE: Final = 1000

Windows = dict[int, WindowRow]


@value
class Rules:
    """The policy columns and prices that a day is judged by."""

    trading_windows: int
    trading_from_window: int
    is_tsb: bool
    alpha_permille: int
    initial_rate_micro: int | None
    timeline: tuple[PriceRow, ...]

    def trading_before(self, window: int) -> int:
        """How many of the day's first `window` windows trade."""
        first, over = self.trading_from_window, self.trading_from_window + self.trading_windows
        wrapped = min(window, max(0, over - WINDOWS_PER_DAY))
        return wrapped + max(0, min(window, over, WINDOWS_PER_DAY) - first)


@value
class Walk:
    """Where a walk over days has come to: on-hand by all facts so far, whether anyone counted."""

    demand: Demand
    level_units: int
    is_counted: bool


@value
class _Day:
    sold_units: int
    out_windows: int
    has_facts: bool


def rules_of(policy: ItemLocation | None, timeline: tuple[PriceRow, ...]) -> Rules:
    """What counts for demand now; a key without `item_location` uses the defaults."""
    if policy is None:
        return Rules(WINDOWS_PER_DAY, 0, False, 125, None, timeline)  # noqa: FBT003 -- defaults
    return Rules(
        policy.trading_windows,
        policy.trading_from_window,
        policy.demand_method == "tsb",
        policy.demand_alpha_permille,
        policy.initial_rate_micro,
        timeline,
    )


def walk_days(
    demand: Demand, stock: Stock, windows: Windows, span: tuple[int, int], rules: Rules
) -> Walk:
    """Go through the days of `span` = [from, until), in epoch microseconds, from the horizon on.

    The walk starts with `stock`'s opening values, so `span` starts at the horizon, or with the
    oldest fact of a key that has no horizon yet.
    """
    first_us, end_us = span
    rows = [windows[start] for start in sorted(windows) if first_us <= start < end_us]
    counts = [count for count in stock.counts if first_us <= count.at_us < end_us]
    walk = Walk(demand, stock.opening_units, stock.opening_count is not None)
    row_at = count_at = 0
    day_us = first_us
    while day_us < end_us:
        if not walk.demand.begun:
            day_us = _first_fact_day(rows[row_at:], counts[count_at:], day_us, end_us)
            if day_us >= end_us:
                break
        until_us = day_us + DAY_US
        row_end, count_end = row_at, count_at
        while row_end < len(rows) and rows[row_end].start_us < until_us:
            row_end += 1
        while count_end < len(counts) and counts[count_end].at_us < until_us:
            count_end += 1
        walk = _next_day(walk, day_us, rows[row_at:row_end], counts[count_at:count_end], rules)
        row_at, count_at, day_us = row_end, count_end, until_us
    return walk


def _first_fact_day(rows: list[WindowRow], counts: list[Count], from_us: int, end_us: int) -> int:
    """The next day with a row or a count; before the record begins, others teach nothing."""
    oldest_us = min(
        rows[0].start_us if rows else end_us,
        counts[0].at_us if counts else end_us,
    )
    return max(from_us, oldest_us // DAY_US * DAY_US)


def _next_day(
    walk: Walk, day_us: int, rows: list[WindowRow], counts: list[Count], rules: Rules
) -> Walk:
    day, level_units = _look_at(walk, day_us, rows, counts, rules)
    demand = walk.demand
    if demand.begun:
        demand = _learnt(demand, day, step_at(rules.timeline, day_us), rules)
    elif day.has_facts:
        demand = _begun(rules)
    return Walk(demand, level_units, walk.is_counted or bool(counts))


def _begun(rules: Rules) -> Demand:
    """The record after its first day, which is not observed."""
    rate = rules.initial_rate_micro
    if rate is None:
        return Demand(begun=True)
    rate = _saturated(rate)
    return Demand(begun=True, rate_micro=rate, mad_micro=half_even(rate, 2))


def _look_at(
    walk: Walk, day_us: int, rows: list[WindowRow], counts: list[Count], rules: Rules
) -> tuple[_Day, int]:
    """What the day shows, and on-hand at its end.

    Between two windows with facts on-hand does not change, so whole stretches are judged at once.
    """
    by_start = {row.start_us: row for row in rows}
    counted: dict[int, list[Count]] = {}
    for count in counts:
        counted.setdefault(count.at_us // WINDOW_US * WINDOW_US, []).append(count)
    sold = out = next_window = 0
    level, is_counted = walk.level_units, walk.is_counted
    for start_us in sorted(by_start.keys() | counted.keys()):
        row = by_start.get(start_us)
        window = (start_us - day_us) // WINDOW_US
        sold_here = 0 if row is None else row.sold_units
        if is_counted and level <= 0:
            judged = window if sold_here > 0 else window + 1
            out += rules.trading_before(judged) - rules.trading_before(next_window)
        next_window = window + 1
        sold += sold_here
        level = _level_after(level, row, counted.get(start_us, ()))
        is_counted = is_counted or start_us in counted
    if is_counted and level <= 0:
        out += rules.trading_before(WINDOWS_PER_DAY) - rules.trading_before(next_window)
    has_facts = bool(counts) or any(_is_live(row) for row in rows)
    return _Day(sold, out, has_facts), level


def _is_live(row: WindowRow) -> bool:
    return row.sale_lines > 0 or row.return_lines > 0 or bool(row.moves)


def _level_after(level: int, row: WindowRow | None, counts: list[Count] | tuple[Count, ...]) -> int:
    """On-hand at the end of a window; its last count names the end of its second."""
    moves = {} if row is None else row.moves
    if not counts:
        return level + sum(moves.values())
    last = counts[-1]
    return last.units + sum(delta for at_us, delta in moves.items() if at_us > last.at_us)


def _learnt(demand: Demand, day: _Day, step: int, rules: Rules) -> Demand:
    open_windows = rules.trading_windows - day.out_windows
    if 4 * open_windows >= rules.trading_windows and step == 0:
        observed = half_even(day.sold_units * MICRO * rules.trading_windows, open_windows)
        demand = _observe(demand, observed, rules)
    if day.sold_units > 0:
        return replace(demand, quiet_windows=0, rate_at_last_sale_micro=demand.rate_micro)
    return replace(demand, quiet_windows=demand.quiet_windows + open_windows)


def _observe(demand: Demand, observed: int, rules: Rules) -> Demand:
    rate, mad = demand.rate_micro, demand.mad_micro
    alpha = rules.alpha_permille
    if rate is None or mad is None:
        after = observed
        deviation = half_even(observed, 2)
        p = z = None
        if rules.is_tsb:
            p, z = (MICRO if observed > 0 else 0), _saturated(observed)
    else:
        deviation = mad + half_even((abs(observed - rate) - mad) * alpha, PERMILLE)
        p, z, after = _smoothed(demand, rate, observed, rules)
    return Demand(
        True,  # noqa: FBT003 -- begun; positional for speed, one per key and day
        _saturated(after),
        _saturated(deviation),
        p,
        z,
        demand.observed_days + 1,
        demand.quiet_windows,
        demand.rate_at_last_sale_micro,
    )


def _smoothed(
    demand: Demand, rate: int, observed: int, rules: Rules
) -> tuple[int | None, int | None, int]:
    """The parts p and z (None with `ewma`), and the new rate."""
    alpha = rules.alpha_permille
    if not rules.is_tsb:
        return None, None, rate + half_even((observed - rate) * alpha, PERMILLE)
    p = MICRO if demand.tsb_p_micro is None else demand.tsb_p_micro
    z = rate if demand.tsb_z_micro is None else demand.tsb_z_micro
    p += half_even(((MICRO if observed > 0 else 0) - p) * alpha, PERMILLE)
    if observed > 0:
        z = _saturated(z + half_even((observed - z) * alpha, PERMILLE))
    return p, z, half_even(p * z, MICRO)


def _saturated(micro: int) -> int:
    return max(-MAX_STORED, min(MAX_STORED, micro))
