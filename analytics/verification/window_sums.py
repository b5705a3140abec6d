"""Expected values of every window, by SQL over facts (docs/domain.md 2.4).

The parameters are those of `sums`, and `late_*`: the signed contributions of late records.
"""

# ruff: noqa: S608 -- every inserted text is a literal of this module or of `sums`

from typing import Final

from analytics.verification.sums import source

_START_US: Final = (
    "(extract(epoch FROM retail.business_at(occurred_at, recorded_at))::bigint / 600) * 600000000"
)
# Subtract signed contributions that no window counted (stock.late), then compare.
WINDOWS: Final = (
    "WITH "
    + source("sale_line")
    + f""",
contributed AS (
    SELECT inv_key, {_START_US} AS start_us,
        sum(quantity_units) FILTER (WHERE quantity_units > 0) AS sold,
        -sum(quantity_units) FILTER (WHERE quantity_units < 0) AS returned,
        count(*) FILTER (WHERE quantity_units > 0) AS sale_lines,
        count(*) FILTER (WHERE quantity_units < 0) AS return_lines,
        sum(amount_minor) AS revenue
    FROM sale_line GROUP BY 1, 2
    UNION ALL
    SELECT inv_key, start_us, -sold, -returned, -sale_lines, -return_lines, -revenue
    FROM unnest(%(late_keys)s::text[], %(late_starts)s::bigint[], %(late_sold)s::bigint[],
        %(late_returned)s::bigint[], %(late_sale_lines)s::bigint[],
        %(late_return_lines)s::bigint[], %(late_revenue)s::bigint[])
        late (inv_key, start_us, sold, returned, sale_lines, return_lines, revenue)
    WHERE (%(only)s::text[] IS NULL OR inv_key = ANY (%(only)s::text[]))
),
expected AS (
    SELECT inv_key, start_us, coalesce(sum(sold), 0)::bigint AS sold,
        coalesce(sum(returned), 0)::bigint AS returned, sum(sale_lines)::bigint AS sale_lines,
        sum(return_lines)::bigint AS return_lines, sum(revenue)::bigint AS revenue
    FROM contributed GROUP BY 1, 2
),
instead AS (
    SELECT * FROM unnest(%(instead_keys)s::text[], %(instead_starts)s::bigint[],
        %(instead_sold)s::bigint[], %(instead_returned)s::bigint[],
        %(instead_sale_lines)s::bigint[], %(instead_return_lines)s::bigint[],
        %(instead_revenue)s::bigint[])
        rows (inv_key, start_us, sold_units, returned_units, sale_lines, return_lines,
            revenue_minor)
),
shown AS (
    SELECT inv_key, start_us, sold_units, returned_units, sale_lines, return_lines, revenue_minor
    FROM read_model.sales_window w
    WHERE (%(location)s::text IS NULL OR starts_with(w.inv_key, %(location)s::text || '|'))
      AND (%(only)s::text[] IS NULL OR w.inv_key = ANY (%(only)s::text[]))
      AND (cardinality(%(instead_keys)s::text[]) = 0
           OR (inv_key, start_us) NOT IN (SELECT i.inv_key, i.start_us FROM instead i))
    UNION ALL
    SELECT * FROM instead i
    WHERE (%(location)s::text IS NULL OR starts_with(i.inv_key, %(location)s::text || '|'))
      AND (%(only)s::text[] IS NULL OR i.inv_key = ANY (%(only)s::text[]))
),
compared AS (
    SELECT coalesce(e.inv_key, w.inv_key) AS inv_key, coalesce(e.start_us, w.start_us) AS start_us,
        ARRAY[coalesce(e.sold, 0), coalesce(e.returned, 0), coalesce(e.sale_lines, 0),
              coalesce(e.return_lines, 0), coalesce(e.revenue, 0)] AS expected,
        ARRAY[coalesce(w.sold_units, 0), coalesce(w.returned_units, 0),
              coalesce(w.sale_lines, 0), coalesce(w.return_lines, 0),
              coalesce(w.revenue_minor, 0)] AS shown
    FROM expected e FULL JOIN shown w ON e.inv_key = w.inv_key AND e.start_us = w.start_us
)"""
)
WINDOW_TOTALS: Final = (
    WINDOWS
    + """
SELECT count(*) FILTER (WHERE expected[3] + expected[4] > 0 OR shown[3] + shown[4] > 0),
    count(*) FILTER (WHERE expected <> shown),
    coalesce(sum(shown[3] + shown[4]), 0)::bigint,
    coalesce(sum(shown[1] - shown[2]), 0)::bigint,
    coalesce(sum(shown[5]), 0)::bigint
FROM compared"""
)
WINDOW_DIFFERENCES: Final = (
    WINDOWS
    + """
SELECT inv_key, start_us, expected, shown FROM compared WHERE expected <> shown
ORDER BY inv_key, start_us"""
)
# Rows that workers still retain, with columns in the order of the workers' counters.
SHOWN_WINDOWS: Final = """
SELECT w.inv_key, w.start_us, w.sold_units, w.returned_units, w.sale_lines, w.return_lines,
    w.revenue_minor, w.late_lines, w.window_revision, w."offset"
FROM read_model.sales_window w
JOIN unnest(%(horizon_keys)s::text[], %(horizons)s::bigint[]) h (inv_key, horizon_us)
    ON h.inv_key = w.inv_key AND w.start_us + 600000000 > h.horizon_us"""
