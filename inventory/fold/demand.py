"""The demand rate, learned from complete days in order (domain.md 3.3, 11.6)."""

from typing import Final

from inventory.model.arithmetic import DAY_US, MAX_STORED, WINDOW_US, half_even
from inventory.model.policy import ItemLocation
from inventory.model.price_timeline import PriceRow, step_at
from inventory.model.state import Count, DayEnd, Demand, Stock, WindowRow
from inventory.model.value import value
from inventory.model.windows import WINDOWS_PER_DAY

MICRO: Final = 1_000_000
PERMILLE: Final = 1000

Windows = dict[int, WindowRow]


@value
class Rules:
    """The policy columns and prices that the demand of a day depends on (domain.md 3.3).

    `trading_windows` is the number of ten-minute windows a day in which the store is open.
    `trading_from_window` is the first of them, from 0 to 143. `timeline` has the key's prices.
    """

    trading_windows: int
    trading_from_window: int
    is_tsb: bool
    alpha_permille: int
    initial_rate_micro: int | None
    timeline: tuple[PriceRow, ...]

    def trading_before(self, window: int) -> int:
        """Return the number of trading windows among the first `window` windows of the day.

        A window has ten minutes. In a trading window, the store is open.
        """
        first, over = self.trading_from_window, self.trading_from_window + self.trading_windows
        wrapped = min(window, max(0, over - WINDOWS_PER_DAY))
        return wrapped + max(0, min(window, over, WINDOWS_PER_DAY) - first)


Days = tuple[DayEnd, ...]

# Window rows and counts by the start of their day (µs). Counts keep their order.
Facts = dict[int, tuple[list[WindowRow], list[Count]]]

# Rate, deviation mad, p and z, as in `Demand`. p is in millionths, the others in micro-units a day.
_Rates = tuple[int | None, int | None, int | None, int | None]


def rules_of(policy: ItemLocation | None, timeline: tuple[PriceRow, ...]) -> Rules:
    """Return the demand rules in force. A key without a policy has the default rules."""
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


def last_day_end(
    demand: Demand, stock: Stock, windows: Windows, span: tuple[int, int], rules: Rules
) -> DayEnd:
    """Return demand and stock at the end of the last day of `span`.

    `span` is [from, until) in µs since 1970 UTC, whole days. It must start at the horizon, because
    `stock.opening_units` is on-hand at the horizon. For a key without a horizon, `span` starts with
    the day of the key's oldest fact.
    """
    day_end = opening(demand, stock)
    return continue_days(day_end, facts_of(stock, windows, span), span, rules)


def learn_days(
    demand: Demand, stock: Stock, windows: Windows, span: tuple[int, int], rules: Rules
) -> Days:
    """Return demand and stock at the end of each day of `span`, in order.

    `span` has the form that `last_day_end` requires.
    """
    day_end = opening(demand, stock)
    return days_from(day_end, facts_of(stock, windows, span), span, rules)


def opening(demand: Demand, stock: Stock) -> DayEnd:
    """Return demand and stock at the horizon, the end of the last day that can't change any more.

    `demand` was learned from the days before the horizon.
    """
    return DayEnd(demand, stock.opening_units, stock.opening_count is not None)


def facts_of(stock: Stock, windows: Windows, span: tuple[int, int]) -> Facts:
    """Return the window rows and counts in `span` = [from, until), by the start of their day."""
    first_us, end_us = span
    facts: Facts = {}
    for start_us, row in windows.items():
        if first_us <= start_us < end_us:
            facts.setdefault(start_us // DAY_US * DAY_US, ([], []))[0].append(row)
    for count in stock.counts:
        if first_us <= count.at_us < end_us:
            facts.setdefault(count.at_us // DAY_US * DAY_US, ([], []))[1].append(count)
    return facts


def continue_days(day_end: DayEnd, facts: Facts, span: tuple[int, int], rules: Rules) -> DayEnd:
    """Return demand and stock at the end of `span`, which has whole days.

    `day_end` has the demand and stock at the end of the day before `span`.
    """
    day_us, end_us = span
    for fact_day_us in sorted(facts):
        if day_us <= fact_day_us < end_us:
            day_end = _without_facts(day_end, day_us, fact_day_us, rules)
            day_end = _next_day(day_end, fact_day_us, *facts[fact_day_us], rules)
            day_us = fact_day_us + DAY_US
    return _without_facts(day_end, day_us, end_us, rules)


def days_from(day_end: DayEnd, facts: Facts, span: tuple[int, int], rules: Rules) -> Days:
    """Return demand and stock at the end of each day of `span`, in order.

    `day_end` has the demand and stock at the end of the day before `span`.
    """
    days: Days = ()
    for day_us in range(*span, DAY_US):
        known = facts.get(day_us)
        if known is None:
            day_end = _without_facts(day_end, day_us, day_us + DAY_US, rules)
        else:
            day_end = _next_day(day_end, day_us, *known, rules)
        days = (*days, day_end)
    return days


def _without_facts(day_end: DayEnd, day_us: int, until_us: int, rules: Rules) -> DayEnd:
    """Return the day end after the days [`day_us`, `until_us`), none of which has a fact.

    The days change nothing if the key had no fact before them (`begun` is False). They also change
    nothing if the key is out of stock. The rules then learn no demand from them, and no window
    counts as quiet (open without a sale).
    """
    if (
        day_us == until_us
        or not day_end.demand.begun
        or (day_end.is_counted and day_end.on_hand_units <= 0)
    ):
        return day_end
    demand = day_end.demand
    rates: _Rates = _rates_of(demand)
    observed_days = demand.observed_days
    quiet_windows = demand.quiet_windows + (until_us - day_us) // DAY_US * rules.trading_windows
    while day_us < until_us:
        days = _days_of_one_price(rules.timeline, day_us, until_us)
        if step_at(rules.timeline, day_us) == 0:
            rates = _unsold(rates, days, rules)
            observed_days += days
        day_us += days * DAY_US
    last_sale = demand.rate_at_last_sale_micro
    demand = Demand(demand.begun, *rates, observed_days, quiet_windows, last_sale)
    return DayEnd(demand, day_end.on_hand_units, day_end.is_counted)


def _days_of_one_price(timeline: tuple[PriceRow, ...], day_us: int, until_us: int) -> int:
    """Return the number of days in [`day_us`, `until_us`) that start before the next price row."""
    for row in timeline:
        if day_us < row.effective_from_us < until_us:
            return -((day_us - row.effective_from_us) // DAY_US)
    return (until_us - day_us) // DAY_US


def _unsold(rates: _Rates, days: int, rules: Rules) -> _Rates:
    """Return the rates after `days` further observed days, all without a sale.

    The loop stops early once a further day doesn't change the rates.
    """
    for _ in range(days):
        after = _observe(rates, 0, rules)
        if after == rates:
            break
        rates = after
    return rates


def _next_day(
    day_end: DayEnd, day_us: int, rows: list[WindowRow], counts: list[Count], rules: Rules
) -> DayEnd:
    sold_units, out_windows, level_units = day_totals(day_end, day_us, rows, counts, rules)
    demand = day_end.demand
    if demand.begun:
        step = step_at(rules.timeline, day_us)
        demand = _observe_day(demand, sold_units, rules.trading_windows - out_windows, step, rules)
    elif counts or any(_is_live(row) for row in rows):
        demand = _begun(rules)
    return DayEnd(demand, level_units, day_end.is_counted or bool(counts))


def _begun(rules: Rules) -> Demand:
    """Return the demand after the day of the key's first fact (domain.md 3.3).

    The rules learn nothing from that day. If the policy has an `initial_rate_micro`, this is the
    rate, and the deviation mad is half_even(rate, 2). Without it, rate and mad are unknown.
    """
    rate = rules.initial_rate_micro
    if rate is None:
        return Demand(begun=True)
    rate = _saturated(rate)
    return Demand(begun=True, rate_micro=rate, mad_micro=half_even(rate, 2))


def day_totals(
    day_end: DayEnd, day_us: int, rows: list[WindowRow], counts: list[Count], rules: Rules
) -> tuple[int, int, int]:
    """Return a day's sold units, number of windows out of stock, and on-hand at the day's end.

    The sold units are Σ max(0, `sold_units`) over all window rows of the day. A trading window is
    out of stock if no unit was sold in it and on-hand was ≤ 0 at its start. Before the key's first
    count, no window is out of stock (domain.md 3.3). On-hand is constant between two windows with
    facts, so the windows between them are counted in one step.
    """
    if not day_end.is_counted and not counts:
        sold, level = 0, day_end.on_hand_units
        for uncounted in rows:
            sold += max(0, uncounted.sold_units)
            level += sum(uncounted.moves.values())
        return sold, 0, level
    by_start = {row.start_us: row for row in rows}
    counted: dict[int, list[Count]] = {}
    for count in counts:
        counted.setdefault(count.at_us // WINDOW_US * WINDOW_US, []).append(count)
    sold = out = next_window = 0
    level, is_counted = day_end.on_hand_units, day_end.is_counted
    for start_us in sorted(by_start.keys() | counted.keys() if counts else by_start):
        row = by_start.get(start_us)
        window = (start_us - day_us) // WINDOW_US
        sold_here = 0 if row is None else max(0, row.sold_units)
        if is_counted and level <= 0:
            until_window = window if sold_here > 0 else window + 1
            out += rules.trading_before(until_window) - rules.trading_before(next_window)
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
    """Return on-hand at the end of a window. `level` is on-hand at its start.

    Without a count: level + Σ moves. Otherwise: units of the last count + Σ moves of later seconds.
    """
    moves = {} if row is None else row.moves
    if not counts:
        return level + sum(moves.values())
    last = counts[-1]
    return last.units + sum(delta for at_us, delta in moves.items() if at_us > last.at_us)


def _observe_day(
    demand: Demand, sold_units: int, open_windows: int, step: int, rules: Rules
) -> Demand:
    rates: _Rates = _rates_of(demand)
    observed_days = demand.observed_days
    observed = observed_micro(sold_units, open_windows, step, rules)
    if observed is not None:
        rates = _observe(rates, observed, rules)
        observed_days += 1
    # Positional arguments and one constructor call, because this call is the main cost of a day.
    if sold_units > 0:
        return Demand(demand.begun, *rates, observed_days, 0, rates[0])
    quiet_windows = demand.quiet_windows + open_windows
    last_sale = demand.rate_at_last_sale_micro
    return Demand(demand.begun, *rates, observed_days, quiet_windows, last_sale)


def observed_micro(sold_units: int, open_windows: int, step: int, rules: Rules) -> int | None:
    """Return the observed demand of a day in micro-units a day (domain.md 3.3).

    The demand is half_even(`sold_units`·10^6·N, `open_windows`), with N = `rules.trading_windows`.
    `open_windows` is N minus the windows that were out of stock. `step` is the price step at the
    start of the day. None means that the rules learn nothing from the day, because `step` is not 0
    or 4·`open_windows` < N.
    """
    if 4 * open_windows < rules.trading_windows or step != 0:
        return None
    return half_even(sold_units * MICRO * rules.trading_windows, open_windows)


def _rates_of(demand: Demand) -> _Rates:
    return demand.rate_micro, demand.mad_micro, demand.tsb_p_micro, demand.tsb_z_micro


def _observe(rates: _Rates, observed: int, rules: Rules) -> _Rates:
    rate, mad, p, z = rates
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
