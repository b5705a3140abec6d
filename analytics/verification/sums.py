"""What every key and window must be, by SQL over the facts of Postgres (docs/domain.md 2.3, 2.4).

A second statement of the rules on purpose, in another language and without any history: it is the
oracle that the fold is held against, so it must not share code with it.

Parameters of every statement: `location` (null for all), `only` (keys; null for all), the rows
that a rejection left without effect (`excluded_tables`, `excluded_ids`), and images that a rejected
change or delete left in force (`kept_tables`, `kept_images`).
"""

# ruff: noqa: S608 -- every inserted text is a literal of this module

from typing import Final

BUSINESS_TIME: Final = "date_trunc('second', least({column}, recorded_at))"


def _source(table: str) -> str:
    """Rows of `table` as the fold has them: without rejected ones, with images still in force."""
    return f"""
{table} AS NOT MATERIALIZED (
    SELECT fact.* FROM retail.{table} fact
    WHERE {_wanted("fact.inv_key", "fact.location")}
      AND (cardinality(%(excluded_ids)s::bigint[]) = 0 OR NOT EXISTS (
          SELECT FROM unnest(%(excluded_tables)s::text[], %(excluded_ids)s::bigint[]) e (tab, id)
          WHERE e.tab = '{table}' AND e.id = fact.id))
    UNION ALL
    SELECT (jsonb_populate_record(NULL::retail.{table}, kept.image)).*
    FROM unnest(%(kept_tables)s::text[], %(kept_images)s::jsonb[]) kept (tab, image)
    WHERE kept.tab = '{table}' AND {_wanted("kept.image->>'inv_key'", "kept.image->>'location'")}
)"""


def _wanted(key: str, location: str) -> str:
    return (
        f"(%(location)s::text IS NULL OR {location} = %(location)s::text) "
        f"AND (%(only)s::text[] IS NULL OR {key} = ANY (%(only)s::text[]))"
    )


_TABLES: Final = (
    "sale_line",
    "purchase_order_line",
    "shipment_line",
    "stock_count",
    "stock_adjustment",
    "item_location",
)

# One line per contribution that moves on-hand: (key, business time, units).
_MOVEMENTS: Final = f"""
movements AS (
    SELECT inv_key, {BUSINESS_TIME.format(column="occurred_at")} AS at, -quantity_units AS units
    FROM sale_line WHERE quantity_units > 0 OR condition = 'resaleable'
    UNION ALL
    SELECT inv_key, {BUSINESS_TIME.format(column="received_at")}, received_units
    FROM shipment_line WHERE leg <> 'transfer_out' AND status = 'received'
    UNION ALL
    SELECT inv_key, {BUSINESS_TIME.format(column="shipped_at")}, -shipped_units
    FROM shipment_line WHERE leg = 'transfer_out' AND status = 'shipped'
    UNION ALL
    SELECT inv_key, {BUSINESS_TIME.format(column="occurred_at")}, CASE
        WHEN reason IN ('found', 'correction_up', 'repair') THEN quantity_units
        WHEN reason IN ('theft', 'loss', 'waste', 'own_use', 'correction_down', 'vendor_return',
                        'damage') THEN -quantity_units
        ELSE 0 END
    FROM stock_adjustment
)"""

_COUNTS: Final = f"""
last_count AS (
    SELECT DISTINCT ON (inv_key) inv_key, units,
        {BUSINESS_TIME.format(column="occurred_at")} AS at
    FROM stock_count WHERE status = 'approved'
    ORDER BY inv_key, {BUSINESS_TIME.format(column="occurred_at")} DESC, id DESC
)"""

_BUCKETS: Final = """
buckets AS (
    SELECT inv_key, -quantity_units AS unavailable, 0::bigint AS on_order, 0::bigint AS in_transit
    FROM sale_line WHERE quantity_units < 0 AND condition = 'damaged'
    UNION ALL
    SELECT inv_key, 0, coalesce(confirmed_units, ordered_units) - cancelled_units, 0
    FROM purchase_order_line
    UNION ALL
    SELECT inv_key,
        CASE WHEN status = 'received' AND leg <> 'transfer_out' THEN damaged_units ELSE 0 END,
        CASE WHEN leg = 'supplier_in' AND status = 'received' THEN -order_units
             WHEN leg = 'transfer_in' AND status = 'planned' THEN planned_units
             WHEN leg = 'transfer_in' AND status = 'shipped' THEN shipped_units ELSE 0 END,
        CASE WHEN leg <> 'transfer_out' AND status = 'shipped' THEN shipped_units ELSE 0 END
    FROM shipment_line
    UNION ALL
    SELECT inv_key, CASE reason WHEN 'damage' THEN quantity_units
        WHEN 'repair' THEN -quantity_units WHEN 'dispose' THEN -quantity_units
        WHEN 'vendor_return_damaged' THEN -quantity_units ELSE 0 END, 0, 0
    FROM stock_adjustment
)"""

_EXPECTED: Final = """
moved AS (
    SELECT m.inv_key, sum(m.units) FILTER (WHERE c.at IS NULL OR m.at > c.at) AS units
    FROM movements m LEFT JOIN last_count c USING (inv_key) GROUP BY m.inv_key
),
bucketed AS (
    SELECT inv_key, sum(unavailable) AS unavailable, sum(on_order) AS on_order,
        sum(in_transit) AS in_transit
    FROM buckets GROUP BY inv_key
),
known_keys AS (
    SELECT inv_key FROM moved UNION SELECT inv_key FROM bucketed
    UNION SELECT inv_key FROM last_count UNION SELECT inv_key FROM item_location
),
expected AS (
    SELECT inv_key, (coalesce(c.units, 0) + coalesce(m.units, 0))::bigint AS on_hand,
        coalesce(b.unavailable, 0)::bigint AS unavailable, coalesce(b.on_order, 0)::bigint
        AS on_order, coalesce(b.in_transit, 0)::bigint AS in_transit,
        c.inv_key IS NOT NULL AS stock_known
    FROM known_keys LEFT JOIN moved m USING (inv_key) LEFT JOIN bucketed b USING (inv_key)
    LEFT JOIN last_count c USING (inv_key)
)"""

LEVELS: Final = (
    "WITH "
    + ",".join((*map(_source, _TABLES), _MOVEMENTS, _COUNTS, _BUCKETS, _EXPECTED))
    + """
SELECT e.inv_key,
    e.on_hand, e.unavailable, e.on_order, e.in_transit, e.stock_known,
    s.on_hand_units, s.unavailable_units, s.on_order_units, s.in_transit_units, s.stock_known,
    s."offset", coalesce(e.inv_key, s.inv_key)
FROM expected e FULL JOIN (
    SELECT * FROM read_model.stock r WHERE """
    + _wanted("r.inv_key", "r.location")
    + """
) s USING (inv_key)"""
)

_START_US: Final = (
    f"(extract(epoch FROM {BUSINESS_TIME.format(column='occurred_at')})::bigint / 600) * 600000000"
)

# Signed contributions that no window took (stock.late) are taken from the sums, then compared.
WINDOWS: Final = (
    "WITH "
    + _source("sale_line")
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
shown AS (
    SELECT * FROM read_model.sales_window w
    WHERE (%(location)s::text IS NULL OR starts_with(w.inv_key, %(location)s::text || '|'))
      AND (%(only)s::text[] IS NULL OR w.inv_key = ANY (%(only)s::text[]))
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

# Rows that workers still hold, in the order of their own counters.
SHOWN_WINDOWS: Final = """
SELECT w.inv_key, w.start_us, w.sold_units, w.returned_units, w.sale_lines, w.return_lines,
    w.revenue_minor, w.late_lines, w.window_revision
FROM read_model.sales_window w
JOIN unnest(%(horizon_keys)s::text[], %(horizons)s::bigint[]) h (inv_key, horizon_us)
    ON h.inv_key = w.inv_key AND w.start_us + 600000000 > h.horizon_us"""

COMMITTED: Final = """
SELECT count(*), coalesce(sum(quantity_units), 0)::bigint, coalesce(sum(amount_minor), 0)::bigint
FROM retail.sale_line WHERE %(location)s::text IS NULL OR location = %(location)s::text"""
