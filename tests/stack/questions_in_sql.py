"""SQL over the facts in Postgres that answers questions of `analytics/questions`.

It is a second, independent computation, without the log and the fold. Price elasticity, lost sales
and forecast errors are missing: they need each key's stream time or its demand rate. The parameter
of every statement is `stores`, a list of locations.
"""

# ruff: noqa: S608 -- every inserted text is a literal of this module

from typing import Final

_ON_HAND: Final = """
counts AS (
    SELECT inv_key, location, kind, units, business_at,
        lag(units) OVER each_key AS former_units, lag(business_at) OVER each_key AS former_at,
        row_number() OVER each_key = count(*) OVER (PARTITION BY inv_key) AS is_last
    FROM retail.approved_count WHERE location = ANY (%(stores)s)
    WINDOW each_key AS (PARTITION BY inv_key ORDER BY business_at, row_id)
),
on_hand AS (
    SELECT i.inv_key, coalesce(c.units, 0) + coalesce((
            SELECT sum(m.on_hand_units) FROM retail.movement m
            WHERE m.inv_key = i.inv_key
                AND (c.business_at IS NULL OR m.business_at > c.business_at)
        ), 0)::bigint AS units
    FROM retail.item_location i LEFT JOIN counts c ON c.inv_key = i.inv_key AND c.is_last
    WHERE i.location = ANY (%(stores)s)
)"""
_SALES: Final = """
sales AS (
    SELECT s.*, retail.business_at(s.occurred_at, s.recorded_at) AS business_at
    FROM retail.sale_line s WHERE s.location = ANY (%(stores)s)
)"""

IN_SQL: Final = {
    "sell_through": f"""
WITH {_ON_HAND}, {_SALES},
sold AS (SELECT inv_key, sum(quantity_units)::bigint AS units FROM sales GROUP BY inv_key)
SELECT i.location, i.sku, coalesce(sold.units, 0), h.units,
    floor(1000.0 * sold.units / nullif(sold.units + greatest(h.units, 0), 0))::bigint
FROM retail.item_location i JOIN on_hand h USING (inv_key) LEFT JOIN sold USING (inv_key)
""",
    "shrink": f"""
WITH {_ON_HAND},
facts AS (
    SELECT m.inv_key, m.location, a.reason AS cause, m.on_hand_units AS units
    FROM retail.movement m JOIN retail.stock_adjustment a ON a.id = m.row_id
    WHERE m.table_name = 'stock_adjustment' AND m.location = ANY (%(stores)s)
        AND (m.on_hand_units <> 0 OR m.unavailable_units <> 0)
    UNION ALL
    SELECT c.inv_key, c.location, c.kind, c.units - coalesce(c.former_units, 0) - coalesce((
            SELECT sum(m.on_hand_units) FROM retail.movement m
            WHERE m.inv_key = c.inv_key AND m.business_at <= c.business_at
                AND (c.former_at IS NULL OR m.business_at > c.former_at)
        ), 0)::bigint
    FROM counts c WHERE c.kind <> 'opening'
)
SELECT f.location, f.cause, count(*), (-sum(f.units))::bigint,
    (-sum(f.units * i.cost_minor))::bigint
FROM facts f JOIN retail.item_location i USING (inv_key) GROUP BY f.location, f.cause
""",
    "suppliers": """
WITH received AS (
    SELECT purchase_order_line_id AS id, sum(received_units) AS units,
        sum(damaged_units) AS damaged, max(received_at) AS received_at
    FROM retail.shipment_line
    WHERE leg = 'supplier_in' AND status = 'received' AND location = ANY (%(stores)s)
    GROUP BY purchase_order_line_id
),
lines AS (
    SELECT o.supplier, o.ordered_units, r.units, r.damaged, o.due_on,
        (r.received_at AT TIME ZONE 'UTC')::date AS received_on,
        floor(extract(epoch FROM r.received_at)) - floor(extract(epoch FROM o.ordered_at)) AS took
    FROM retail.purchase_order_line o LEFT JOIN received r USING (id)
    WHERE o.location = ANY (%(stores)s)
)
SELECT supplier, count(*), count(took), sum(ordered_units)::bigint,
    coalesce(sum(units), 0)::bigint, coalesce(sum(damaged), 0)::bigint,
    floor(1000 * coalesce(sum(units), 0) / nullif(sum(ordered_units), 0))::bigint,
    floor(1000 * count(*) FILTER (WHERE received_on <= due_on)::numeric / nullif(
        count(*) FILTER (WHERE received_on IS NOT NULL AND due_on IS NOT NULL), 0))::bigint,
    floor(sum(took) / nullif(count(took) * 3600, 0))::bigint
FROM lines GROUP BY supplier
""",
    "promotion_uplift": f"""
WITH {_SALES},
spans AS (
    SELECT p.*, lead(effective_from) OVER each_key AS until
    FROM retail.price_change p WHERE location = ANY (%(stores)s)
    WINDOW each_key AS (PARTITION BY inv_key ORDER BY effective_from, id)
),
reduced AS (
    SELECT *, floor(extract(epoch FROM effective_from)) AS begins,
        floor(extract(epoch FROM until)) - floor(extract(epoch FROM effective_from)) AS took
    FROM spans WHERE step > 0
),
compared AS (
    SELECT r.*, (
            SELECT coalesce(sum(quantity_units), 0) FROM sales s
            WHERE s.inv_key = r.inv_key AND s.quantity_units > 0
                AND extract(epoch FROM s.business_at) >= r.begins - r.took
                AND extract(epoch FROM s.business_at) < r.begins
        ) AS before, (
            SELECT coalesce(sum(quantity_units), 0) FROM sales s
            WHERE s.inv_key = r.inv_key AND s.quantity_units > 0
                AND extract(epoch FROM s.business_at) >= r.begins
                AND extract(epoch FROM s.business_at) < r.begins + r.took
        ) AS during
    FROM reduced r
)
SELECT location, sku, step, price_minor, effective_from, floor(took / 3600)::bigint,
    before::bigint, during::bigint, floor(1000 * (during - before) / nullif(before, 0))::bigint
FROM compared
""",
    "seasonality": f"""
WITH {_SALES},
cells AS (
    SELECT extract(isodow FROM business_at AT TIME ZONE 'UTC')::int AS weekday,
        extract(hour FROM business_at AT TIME ZONE 'UTC')::int AS hour,
        sum(greatest(quantity_units, 0))::bigint AS units,
        count(*) FILTER (WHERE quantity_units > 0) AS lines, sum(amount_minor)::bigint AS minor
    FROM sales WHERE business_at >= date_trunc('day', now() AT TIME ZONE 'UTC')
        AT TIME ZONE 'UTC' - interval '3 days'
    GROUP BY 1, 2
)
SELECT weekday, hour, units, lines, minor,
    floor(1000.0 * units / nullif(sum(units) OVER (), 0))::bigint
FROM cells
""",
    "late_facts": f"""
WITH {_SALES},
delays AS (
    SELECT location, floor(extract(epoch FROM recorded_at)) - extract(epoch FROM business_at)
        AS took
    FROM sales
),
of_stores AS (
    SELECT location, count(*) AS lines, count(*) FILTER (WHERE took > 1200) AS minutes,
        count(*) FILTER (WHERE took > 3600) AS hours,
        count(*) FILTER (WHERE took > 86400) AS days,
        count(*) FILTER (WHERE took > 259200) AS three_days,
        floor(max(took) / 3600)::bigint AS longest
    FROM delays GROUP BY location
)
SELECT d.*, (
        SELECT coalesce(sum(late_lines), 0)::bigint FROM read_model.sales_window
        WHERE split_part(inv_key, '|', 1) = d.location
    ), count(l.id), coalesce(sum(l.units), 0)::bigint, coalesce(sum(l.amount_minor), 0)::bigint
FROM of_stores d
LEFT JOIN read_model.late_sale l ON split_part(l.inv_key, '|', 1) = d.location
GROUP BY d.location, d.lines, d.minutes, d.hours, d.days, d.three_days, d.longest
""",
    "slow_stock": f"""
WITH {_ON_HAND}, {_SALES},
sold AS (
    SELECT inv_key, max(business_at) AS at FROM sales WHERE quantity_units > 0 GROUP BY inv_key
)
SELECT i.location, i.sku, h.units, h.units * i.cost_minor, s.at,
    floor(extract(epoch FROM now() - s.at) / 86400)::bigint
FROM retail.item_location i JOIN on_hand h USING (inv_key) LEFT JOIN sold s USING (inv_key)
WHERE h.units > 0 AND i.location IN (SELECT location FROM sales)
    AND (s.at IS NULL OR now() - s.at >= interval '14 days')
""",
}
