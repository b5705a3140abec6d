"""The days of a key for charts: on-hand, demand and price, one value per UTC day.

The functions use the fold's rules for demand and prices, as the explanation of a key does. So a
chart and an explanation show the same numbers.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from inventory.fold.demand import Rules, day_totals, observed_micro
from inventory.model.arithmetic import DAY_US, SECOND_US, window_start
from inventory.model.price_timeline import Timeline, in_force, prior_price, step_at
from inventory.model.state import NO_DEMAND, Count, DayEnd, WindowRow
from inventory.model.value import value

COUNTED, FIRST, MARKDOWN, OUT = "counted", "first", "markdown", "out"


@value
class DayFact:
    """One movement or count of a key.

    Facts are sorted by business time, with movements before counts of equal time.
    `running_units` is on-hand after this fact. `counted_units` is None for a movement.
    `delta_units` is the movement's units, or the count's variance (units counted minus expected).
    `sold_units` is the quantity of a sale. It is 0 for all other facts, and for a late sale that no
    window counts.
    """

    at_us: int
    cause: str
    delta_units: int
    running_units: int
    counted_units: int | None = None
    sold_units: int = 0
    is_late: bool = False


@value
class Opening:
    """The stock of a key before the first fact of a span.

    `units` is on-hand. `is_counted` is True if the key had a count before the span. `began_us` is
    the start of the key's first day, on which its first fact happened. The rules learn no demand
    from the sales of that day (domain.md 3.3).
    """

    units: int
    is_counted: bool
    began_us: int


@value
class StockDay:
    """On-hand at the end of a day.

    `moved` has pairs of cause and net units, in the order in which the causes first occur.
    `counted_units` is the result of the day's last count, None on a day without a count.
    `late_facts` is the number of late sale and return lines.
    """

    day_us: int
    closing_units: int
    moved: tuple[tuple[str, int], ...] = ()
    counted_units: int | None = None
    late_facts: int = 0


@value
class DemandDay:
    """Units sold on a complete day, and the demand that the rules learn from it (domain.md 3.3).

    The item was out of stock in `out_windows` of the day's `trading_windows` ten-minute windows.

    If the rules learn a demand, `observed_micro` is this demand in micro-units a day, and `reason`
    is `counted`. Otherwise `observed_micro` is None, and `reason` is the first of these that
    applies:

    * `first`: the key's first day
    * `markdown`: the price in force at the start of the day was a markdown or a raise
    * `out`: more than three quarters of the trading windows were out of stock
    """

    day_us: int
    sold_units: int
    out_windows: int
    trading_windows: int
    observed_micro: int | None
    reason: str


@value
class PriceDay:
    """The price at the end of a day, and the lowest price of the 30 days before that moment.

    Both are None before the first price.
    """

    day_us: int
    price_minor: int | None
    lowest_minor: int | None


def stock_days(
    opening_units: int, facts: Sequence[DayFact], span: tuple[int, int]
) -> tuple[StockDay, ...]:
    """Return one `StockDay` for each day of `span` = [from, until), midnights in µs since 1970 UTC.

    `facts` are all facts of the span, sorted as `DayFact` describes. `opening_units` is on-hand
    before them.
    """
    by_day = {day: tuple(found) for day, found in groupby(facts, lambda fact: _day(fact.at_us))}
    days: list[StockDay] = []
    level = opening_units
    for day_us in range(*span, DAY_US):
        found = by_day.get(day_us, ())
        level = found[-1].running_units if found else level
        days.append(_stock_day(day_us, level, found))
    return tuple(days)


def _stock_day(day_us: int, closing_units: int, facts: tuple[DayFact, ...]) -> StockDay:
    moved: dict[str, int] = {}
    counted = None
    for fact in facts:
        if fact.counted_units is None:
            moved[fact.cause] = moved.get(fact.cause, 0) + fact.delta_units
        else:
            counted = fact.counted_units
    late = sum(fact.is_late for fact in facts)
    return StockDay(day_us, closing_units, tuple(moved.items()), counted, late)


def demand_days(
    opening: Opening,
    facts: Sequence[DayFact],
    span: tuple[int, int],
    rules: Rules,
) -> tuple[DemandDay, ...]:
    """Return one `DemandDay` for each day of `span`.

    `span` is [from, until), midnights in µs since 1970 UTC. All its days must have ended at least
    ten minutes ago. `facts` are all facts of the span, sorted as `DayFact` describes. `rules` apply
    to every day, even if other rules were in force on that day.
    """
    rows, counts = _rows(facts), _counts(facts)
    level, is_counted = opening.units, opening.is_counted
    days: list[DemandDay] = []
    for day_us in range(*span, DAY_US):
        here = counts.get(day_us, [])
        end = DayEnd(NO_DEMAND, level, is_counted)
        units, out, level = day_totals(end, day_us, rows.get(day_us, []), here, rules)
        is_counted = is_counted or bool(here)
        days.append(_demand_day(day_us, (units, out), rules, is_first=day_us <= opening.began_us))
    return tuple(days)


def _rows(facts: Iterable[DayFact]) -> dict[int, list[WindowRow]]:
    """Return the ten-minute window rows by the start of their day in µs.

    A day without a movement has no entry.
    """
    sold: dict[int, int] = {}
    moves: dict[int, dict[int, int]] = {}
    for fact in facts:
        if fact.counted_units is None:
            start, second = window_start(fact.at_us), fact.at_us // SECOND_US * SECOND_US
            sold[start] = sold.get(start, 0) + fact.sold_units
            here = moves.setdefault(start, {})
            here[second] = here.get(second, 0) + fact.delta_units
    days: dict[int, list[WindowRow]] = {}
    for start, units in sold.items():
        row = WindowRow(start, sold_units=units, moves=moves[start])
        days.setdefault(_day(start), []).append(row)
    return days


def _counts(facts: Iterable[DayFact]) -> dict[int, list[Count]]:
    days: dict[int, list[Count]] = {}
    for index, fact in enumerate(facts):
        if fact.counted_units is not None:
            second = fact.at_us // SECOND_US * SECOND_US
            days.setdefault(_day(second), []).append(Count(second, index, fact.counted_units, ""))
    return days


def _demand_day(
    day_us: int, sold_and_out: tuple[int, int], rules: Rules, *, is_first: bool
) -> DemandDay:
    sold, out = sold_and_out
    open_windows, step = rules.trading_windows - out, step_at(rules.timeline, day_us)
    observed = None if is_first else observed_micro(sold, open_windows, step, rules)
    if observed is not None:
        reason = COUNTED
    elif is_first:
        reason = FIRST
    else:
        reason = MARKDOWN if step else OUT
    return DemandDay(day_us, sold, out, rules.trading_windows, observed, reason)


def price_days(timeline: Timeline, span: tuple[int, int], *, now_us: int) -> tuple[PriceDay, ...]:
    """Return one `PriceDay` for each day of `span` = [from, until), midnights in µs since 1970 UTC.

    A day's price is the price in force at the end of the day, or at `now_us` if the day isn't over
    by then. `lowest_minor` is the lowest price of the 30 days before that moment. If the price were
    reduced at that moment, `lowest_minor` would be the prior price of the reduction.
    """
    days: list[PriceDay] = []
    for day_us in range(*span, DAY_US):
        last_us = min(day_us + DAY_US - 1, now_us)
        row = in_force(timeline, last_us)
        lowest = prior_price(timeline, last_us + 1, progressive=False)
        days.append(PriceDay(day_us, None if row is None else row.price_minor, lowest))
    return tuple(days)


def _day(at_us: int) -> int:
    return at_us // DAY_US * DAY_US
