"""Queries of the page *Demand health*: quality of demand estimates, unsuitable demand methods.

A key's demand is intermittent if the mean time between its selling days reaches a limit
(`inventory.reports.demand_health`). The method `tsb` suits intermittent demand, and `ewma` steady
demand.
"""

from dataclasses import dataclass
from typing import Any, Final

from inventory.model.arithmetic import DAY_US
from inventory.reports.demand_health import GAP_CENTIDAYS, LEAST_SELLING_DAYS
from ledger.kernel.rows import select, select_one

DAYS: Final = 28  # the page calls them four weeks
HINTS_SHOWN: Final = 50


@dataclass(frozen=True, slots=True)
class EstimateCounts:
    """Numbers of keys with an active policy; `keys` counts all of them.

    A key without an observed day is `unknown`, or `guessed` if it has a rate. `under_a_week` means
    1 to 6 observed days, `under_two_weeks` 7 to 13, and `learnt` 14 or more.

    `close`, `rough` and `wild` count keys with a rate above 0 by the mean absolute deviation of
    their demand. This deviation is up to half of the rate for `close`, above half and up to the
    rate for `rough`, and above the rate for `wild`.
    """

    keys: int
    unknown: int
    guessed: int
    under_a_week: int
    under_two_weeks: int
    learnt: int
    uninformed: int
    close: int
    rough: int
    wild: int


@dataclass(frozen=True, slots=True)
class Gaps:
    """Numbers of selling keys: active keys with sales on two or more of 29 days, up to today.

    `selling` counts all of them, and `intermittent` those with intermittent demand.
    `intermittent_ewma` and `steady_tsb` count the keys with an unsuitable method.
    """

    selling: int
    intermittent: int
    intermittent_ewma: int
    steady_tsb: int


@dataclass(frozen=True, slots=True)
class Hint:
    """A key whose demand method doesn't fit its sales.

    `gap_centidays` is the mean time between its selling days, in hundredths of a day.
    """

    location: str
    sku: str
    name: str
    demand_method: str
    is_intermittent: bool
    selling_days: int
    gap_centidays: int
    rate_micro: int | None


# `uninformed`: the policy orders by a demand of 0, because no rate is known.
_ESTIMATE_COUNTS: Final = """
SELECT count(*) AS keys,
    count(*) FILTER (WHERE observed = 0 AND rate IS NULL) AS unknown,
    count(*) FILTER (WHERE observed = 0 AND rate IS NOT NULL) AS guessed,
    count(*) FILTER (WHERE observed BETWEEN 1 AND 6) AS under_a_week,
    count(*) FILTER (WHERE observed BETWEEN 7 AND 13) AS under_two_weeks,
    count(*) FILTER (WHERE observed >= 14) AS learnt,
    count(*) FILTER (WHERE family <> 'off' AND rate IS NULL AND initial IS NULL) AS uninformed,
    count(*) FILTER (WHERE rate > 0 AND mad * 2 <= rate) AS close,
    count(*) FILTER (WHERE rate > 0 AND mad * 2 > rate AND mad <= rate) AS rough,
    count(*) FILTER (WHERE rate > 0 AND mad > rate) AS wild
FROM (
    SELECT (d.demand ->> 'observed_days')::bigint AS observed,
           (d.demand ->> 'rate_micro')::numeric AS rate,
           (d.demand ->> 'mad_micro')::numeric AS mad,
           i.replenish_family AS family, i.initial_rate_micro AS initial
    FROM read_model.stock s
    JOIN retail.item_location i ON i.inv_key = s.inv_key AND i.status = 'active'
    CROSS JOIN LATERAL json_to_record(s.state::json) AS d (demand json)
    WHERE %(location)s = '' OR s.location = %(location)s
) told
"""

_SELLING: Final = """
WITH days AS (
    SELECT w.inv_key, w.start_us / %(day_us)s AS day
    FROM read_model.sales_window w
    WHERE w.sold_units > 0 AND w.start_us >= %(from_us)s
      AND (%(location)s = '' OR starts_with(w.inv_key, %(location)s || '|'))
    GROUP BY 1, 2
), spans AS (
    SELECT inv_key, count(*) AS selling_days, max(day) - min(day) AS span FROM days GROUP BY 1
    HAVING count(*) >= %(least_days)s
), gaps AS (
    SELECT i.location, i.sku, i.demand_method, s.selling_days,
           s.span * 100 / (s.selling_days - 1) AS gap_centidays,
           s.span * 100 >= %(gap_centidays)s * (s.selling_days - 1) AS is_intermittent,
           s.inv_key
    FROM spans s JOIN retail.item_location i ON i.inv_key = s.inv_key AND i.status = 'active'
)
"""
_GAPS: Final = (
    _SELLING
    + """
SELECT count(*) AS selling, count(*) FILTER (WHERE is_intermittent) AS intermittent,
    count(*) FILTER (WHERE is_intermittent AND demand_method = 'ewma') AS intermittent_ewma,
    count(*) FILTER (WHERE NOT is_intermittent AND demand_method = 'tsb') AS steady_tsb
FROM gaps
"""
)
_HINTS: Final = (
    _SELLING
    + """
SELECT g.location, g.sku, coalesce(p.name, g.sku) AS name, g.demand_method, g.is_intermittent,
       g.selling_days, g.gap_centidays, l.demand_rate_micro AS rate_micro
FROM gaps g
LEFT JOIN retail.product p ON p.code = g.sku
LEFT JOIN read_model.stock l ON l.inv_key = g.inv_key
WHERE g.is_intermittent = (g.demand_method = 'ewma')
ORDER BY g.gap_centidays DESC, g.inv_key LIMIT %(most)s
"""
)


def parameters(location: str, now_us: int) -> dict[str, Any]:
    """Return the SQL parameters of `hints` and `gaps`; an empty `location` selects all locations.

    Both functions read the sales of today and of the 28 days before.
    """
    return {
        "location": location,
        "day_us": DAY_US,
        "from_us": (now_us // DAY_US - DAYS) * DAY_US,
        "least_days": LEAST_SELLING_DAYS,
        "gap_centidays": GAP_CENTIDAYS,
        "most": HINTS_SHOWN,
    }


def hints(location: str, now_us: int) -> list[Hint]:
    """Return up to 50 keys whose demand method doesn't fit their sales, the longest gap first."""
    return select(_HINTS, parameters(location, now_us), Hint)


def gaps(location: str, now_us: int) -> Gaps | None:
    """Return the numbers of selling keys, intermittent keys and keys with an unsuitable method."""
    return select_one(_GAPS, parameters(location, now_us), Gaps)


def estimate_counts(location: str) -> EstimateCounts | None:
    """Return the numbers of keys by the state of their demand estimate."""
    return select_one(_ESTIMATE_COUNTS, {"location": location}, EstimateCounts)
