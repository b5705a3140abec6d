"""The last 90 days of one key for charts: on-hand, demand and price by day.

Charts use the same facts as the explanation (`webui.readmodel.explain`), and the rules of
`inventory.explain.days`. So a chart ends with the on-hand that the explanation shows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cdc.contracts.times import moment_of, us_of
from cdc.window_lines import LACKS_LINES, LEDGER_LINES, WINDOW_OF_FACT
from inventory.explain.arrival import ON_TIME, UNCOUNTED, arrival
from inventory.explain.days import (
    DayFact,
    DemandDay,
    Opening,
    PriceDay,
    StockDay,
    demand_days,
    price_days,
    stock_days,
)
from inventory.fold.demand import rules_of
from inventory.model import price_timeline
from inventory.model.arithmetic import DAY_US
from inventory.model.state import KeyState
from ledger.kernel.rows import select

DAYS_SHOWN: Final = 90

_FACTS: Final = f"""
WITH told AS MATERIALIZED (
    SELECT f.place, f.table_name, f.business_at, f.heard_at, f.cause, f.delta_units,
           f.running_units, f.counted_units, count(f.counted_units) OVER (ORDER BY f.place) > 0
               AS is_counted, min(f.business_at) OVER () AS began_at,
           {LEDGER_LINES}
    FROM retail.stock_facts(%(key)s) f
)
SELECT f.*, w.late_lines, {LACKS_LINES} FROM told f {WINDOW_OF_FACT}
WHERE f.business_at >= %(from)s
   OR f.place = (SELECT max(e.place) FROM told e WHERE e.business_at < %(from)s)
ORDER BY f.place
"""  # noqa: S608 -- constants of this project
_TIMELINE: Final = """
SELECT (extract(epoch FROM effective_from) * 1000000)::bigint AS effective_from_us, id, price_minor,
       coalesce(step, 0) AS step, kind
FROM retail.price_change WHERE inv_key = %(key)s ORDER BY effective_from, id
"""


@dataclass(frozen=True, slots=True)
class _Row:
    """One fact; `is_counted` is True if this fact or an earlier one is a count."""

    place: int
    table_name: str
    business_at: datetime
    heard_at: datetime
    cause: str
    delta_units: int
    running_units: int
    counted_units: int | None
    is_counted: bool
    began_at: datetime
    ledger_lines: int
    late_lines: int | None
    lacks_lines: bool

    def as_fact(self) -> DayFact:
        """Return the fact as `inventory.explain.days` reads it."""
        at_us, came = us_of(self.business_at), ON_TIME
        if self.table_name == "sale_line":
            heard_us = us_of(self.heard_at)
            came = arrival(at_us, heard_us, self.late_lines, lacks_lines=self.lacks_lines)
        is_sold = self.cause == "sales" and came != UNCOUNTED
        return DayFact(
            at_us=at_us,
            cause=self.cause,
            delta_units=self.delta_units,
            running_units=self.running_units,
            counted_units=self.counted_units,
            sold_units=-self.delta_units if is_sold else 0,
            is_late=came != ON_TIME,
        )


@dataclass(frozen=True, slots=True)
class History:
    """The facts of a key in the whole days [`from_us`, `until_us`).

    `opening` is the key's stock at `from_us`. Times are in µs since 1970 UTC.
    """

    inv_key: str
    from_us: int
    until_us: int
    opening: Opening
    facts: tuple[DayFact, ...]

    def stock(self) -> tuple[StockDay, ...]:
        """Return on-hand at the end of each day. For the last day, it is on-hand now."""
        return stock_days(self.opening.units, self.facts, (self.from_us, self.until_us))

    def demand(self, state: KeyState) -> tuple[DemandDay, ...]:
        """Return the demand of each day but the last, which isn't complete.

        The demand follows from the policy in `state` and from the key's prices.
        """
        span = self.from_us, max(self.from_us, self.until_us - DAY_US)
        rules = rules_of(state.policy, timeline(self.inv_key))
        return demand_days(self.opening, self.facts, span, rules)


def history(inv_key: str, end_us: int) -> History:
    """Return the facts of the 90 days that end with the day of `end_us`, in µs since 1970 UTC.

    If the key has no fact before these days, the result begins with the day of its first fact.
    """
    last_us = end_us // DAY_US * DAY_US
    first_us = last_us - (DAYS_SHOWN - 1) * DAY_US
    rows = select(_FACTS, {"key": inv_key, "from": moment_of(first_us)}, _Row)
    return _history(inv_key, rows, (first_us, last_us + DAY_US))


def _history(inv_key: str, rows: Sequence[_Row], span: tuple[int, int]) -> History:
    first_us, until_us = span
    if not rows:
        return History(inv_key, until_us - DAY_US, until_us, Opening(0, False, until_us), ())  # noqa: FBT003 -- not counted
    began_us = us_of(rows[0].began_at) // DAY_US * DAY_US
    before = rows[0] if us_of(rows[0].business_at) < first_us else None
    opening = Opening(
        units=0 if before is None else before.running_units,
        is_counted=before is not None and before.is_counted,
        began_us=began_us,
    )
    facts = tuple(row.as_fact() for row in rows if row is not before)
    return History(inv_key, max(first_us, began_us), until_us, opening, facts)


def timeline(inv_key: str) -> price_timeline.Timeline:
    """Return every price of a key, ordered by the start of its validity and by id."""
    return tuple(select(_TIMELINE, {"key": inv_key}, price_timeline.PriceRow))


def prices_by_day(prices: price_timeline.Timeline, now_us: int) -> tuple[PriceDay, ...]:
    """Return the price and the 30-day lowest price of each day, for the 90 days to `now_us`.

    If the key has no price before these days, the result begins with the day of its first price.
    """
    until_us = now_us // DAY_US * DAY_US + DAY_US
    began_us = prices[0].effective_from_us // DAY_US * DAY_US if prices else until_us
    span = max(until_us - DAYS_SHOWN * DAY_US, min(began_us, until_us)), until_us
    return price_days(prices, span, now_us=now_us)
