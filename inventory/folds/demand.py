"""The demand rate, learnt from complete days in their order (domain.md 3.3, 11.6)."""

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


# Rate, deviation, and the two parts of tsb, in micro-units.
_Learned = tuple[int | None, int | None, int | None, int | None]


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
    start = Walk(demand, stock.opening_units, stock.opening_count is not None)
    return _walked(start, stock.counts, windows, span, rules)


def walk_on(
    demand: Demand, stock: Stock, windows: Windows, span: tuple[int, int], rules: Rules
) -> Walk | None:
    """The same from a later day on: `demand` is what the days before `span` have taught.

    On-hand at its start is what it is now without the movements since. That does not hold before
    a count: then the answer is None.
    """
    first_us, _ = span
    if stock.counts and stock.counts[-1].at_us >= first_us:
        return None
    since = [sum(row.moves.values()) for start_us, row in windows.items() if start_us >= first_us]
    start = Walk(demand, stock.on_hand_units - sum(since), stock.known)
    return _walked(start, (), windows, span, rules)


def _walked(
    walk: Walk,
    all_counts: tuple[Count, ...],
    windows: Windows,
    span: tuple[int, int],
    rules: Rules,
) -> Walk:
    first_us, end_us = span
    starts = sorted([start for start in windows if first_us <= start < end_us])
    rows = [windows[start] for start in starts]
    counts = [count for count in all_counts if first_us <= count.at_us < end_us]
    row_at = count_at = 0
    day_us = first_us
    while day_us < end_us:
        fact_us = min(
            rows[row_at].start_us if row_at < len(rows) else end_us,
            counts[count_at].at_us if count_at < len(counts) else end_us,
        )
        fact_day_us = fact_us // DAY_US * DAY_US
        if day_us < fact_day_us:
            walk = _without_facts(walk, day_us, fact_day_us, rules)
            day_us = fact_day_us
            continue
        until_us = day_us + DAY_US
        row_end, count_end = row_at, count_at
        while row_end < len(rows) and rows[row_end].start_us < until_us:
            row_end += 1
        while count_end < len(counts) and counts[count_end].at_us < until_us:
            count_end += 1
        walk = _next_day(walk, day_us, rows[row_at:row_end], counts[count_at:count_end], rules)
        row_at, count_at, day_us = row_end, count_end, until_us
    return walk


def _without_facts(walk: Walk, day_us: int, until_us: int, rules: Rules) -> Walk:
    """Days that show nothing but what is in stock; before the record begins they teach nothing."""
    # Out of stock no window is open, so nothing is observed and no window is quiet.
    if not walk.demand.begun or (walk.is_counted and walk.level_units <= 0):
        return walk
    demand = walk.demand
    learned: _Learned = _learned(demand)
    observed_days = demand.observed_days
    quiet_windows = demand.quiet_windows + (until_us - day_us) // DAY_US * rules.trading_windows
    while day_us < until_us:
        days = _days_of_one_price(rules.timeline, day_us, until_us)
        if step_at(rules.timeline, day_us) == 0:
            learned = _unsold(learned, days, rules)
            observed_days += days
        day_us += days * DAY_US
    last_sale = demand.rate_at_last_sale_micro
    demand = Demand(demand.begun, *learned, observed_days, quiet_windows, last_sale)
    return Walk(demand, walk.level_units, walk.is_counted)


def _days_of_one_price(timeline: tuple[PriceRow, ...], day_us: int, until_us: int) -> int:
    """How many days from `day_us` on begin before the next price does."""
    for row in timeline:
        if day_us < row.effective_from_us < until_us:
            return -((day_us - row.effective_from_us) // DAY_US)
    return (until_us - day_us) // DAY_US


def _unsold(learned: _Learned, days: int, rules: Rules) -> _Learned:
    """Days observed without a sale, one by one until another one changes nothing."""
    for _ in range(days):
        after = _observe(learned, 0, rules)
        if after == learned:
            break
        learned = after
    return learned


def _next_day(
    walk: Walk, day_us: int, rows: list[WindowRow], counts: list[Count], rules: Rules
) -> Walk:
    sold_units, out_windows, level_units = look_at_day(walk, day_us, rows, counts, rules)
    demand = walk.demand
    if demand.begun:
        step = step_at(rules.timeline, day_us)
        demand = _learnt(demand, sold_units, rules.trading_windows - out_windows, step, rules)
    elif counts or any(_is_live(row) for row in rows):
        demand = _begun(rules)
    return Walk(demand, level_units, walk.is_counted or bool(counts))


def _begun(rules: Rules) -> Demand:
    """The record after its first day, which is not observed."""
    rate = rules.initial_rate_micro
    if rate is None:
        return Demand(begun=True)
    rate = _saturated(rate)
    return Demand(begun=True, rate_micro=rate, mad_micro=half_even(rate, 2))


def look_at_day(
    walk: Walk, day_us: int, rows: list[WindowRow], counts: list[Count], rules: Rules
) -> tuple[int, int, int]:
    """Units that the day sells, windows out of stock, and on-hand at its end.

    Between two windows with facts on-hand does not change, so whole stretches are judged at once.
    """
    if not walk.is_counted and not counts:
        sold, level = 0, walk.level_units
        for uncounted in rows:
            sold += uncounted.sold_units
            level += sum(uncounted.moves.values())
        return sold, 0, level
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
    return sold, out, level


def _is_live(row: WindowRow) -> bool:
    return row.sale_lines > 0 or row.return_lines > 0 or bool(row.moves)


def _level_after(level: int, row: WindowRow | None, counts: list[Count] | tuple[Count, ...]) -> int:
    """On-hand at the end of a window; its last count names the end of its second."""
    moves = {} if row is None else row.moves
    if not counts:
        return level + sum(moves.values())
    last = counts[-1]
    return last.units + sum(delta for at_us, delta in moves.items() if at_us > last.at_us)


def _learnt(demand: Demand, sold_units: int, open_windows: int, step: int, rules: Rules) -> Demand:
    learned: _Learned = _learned(demand)
    observed_days = demand.observed_days
    observed = observed_micro(sold_units, open_windows, step, rules)
    if observed is not None:
        learned = _observe(learned, observed, rules)
        observed_days += 1
    # Built once and by position, because that is the price of a day.
    if sold_units > 0:
        return Demand(demand.begun, *learned, observed_days, 0, learned[0])
    quiet_windows = demand.quiet_windows + open_windows
    last_sale = demand.rate_at_last_sale_micro
    return Demand(demand.begun, *learned, observed_days, quiet_windows, last_sale)


def observed_micro(sold_units: int, open_windows: int, step: int, rules: Rules) -> int | None:
    """Units a day that a complete day shows; None for a day that is not observed."""
    if 4 * open_windows < rules.trading_windows or step != 0:
        return None
    return half_even(sold_units * MICRO * rules.trading_windows, open_windows)


def _learned(demand: Demand) -> _Learned:
    return demand.rate_micro, demand.mad_micro, demand.tsb_p_micro, demand.tsb_z_micro


def _observe(learned: _Learned, observed: int, rules: Rules) -> _Learned:
    rate, mad, p, z = learned
    alpha = rules.alpha_permille
    if rate is None or mad is None:
        p = z = None
        if rules.is_tsb:
            p, z = (0 if observed == 0 else MICRO), _saturated(observed)
        return _saturated(observed), _saturated(half_even(observed, 2)), p, z
    mad = _saturated(mad + half_even((abs(observed - rate) - mad) * alpha, PERMILLE))
    if not rules.is_tsb:
        rate = _saturated(rate + half_even((observed - rate) * alpha, PERMILLE))
        return rate, mad, None, None
    p = MICRO if p is None else p
    z = rate if z is None else z
    p += half_even(((MICRO if observed > 0 else 0) - p) * alpha, PERMILLE)
    if observed > 0:
        z = _saturated(z + half_even((observed - z) * alpha, PERMILLE))
    return _saturated(half_even(p * z, MICRO)), mad, p, z


def _saturated(micro: int) -> int:
    if -MAX_STORED <= micro <= MAX_STORED:
        return micro
    return MAX_STORED if micro > 0 else -MAX_STORED
