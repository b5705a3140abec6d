"""Expected values of every key and window, by SQL over facts (docs/domain.md 2.3, 2.4).

This repeats the rules on purpose, in another language and without any history. It is the oracle for
the fold, so it must not share code with it. The views and functions of migration 0014 define the
effect of one row; here the effects are only added up.

Parameters of every statement: `location` (null for all), `only` (keys; null for all), rows without
effect at the cut (`excluded_tables`, `excluded_ids`), and images in force in their place
(`kept_tables`, `kept_images`). A row has such an image if a rejected update or delete left it in
force, or if the row has changed since the cut. `instead_*` are window rows at the cut that differ
from those shown.
"""

# ruff: noqa: S608 -- every inserted text is a literal of this module

from typing import Final

from inventory.tables.catalogue import CAPTURED


def _wanted(key: str, location: str) -> str:
    return (
        f"(%(location)s::text IS NULL OR {location} = %(location)s::text) "
        f"AND (%(only)s::text[] IS NULL OR {key} = ANY (%(only)s::text[]))"
    )


def _in_force(table: str, row_id: str) -> str:
    """Return the condition that the row is not excluded."""
    return (
        "(cardinality(%(excluded_ids)s::bigint[]) = 0 OR "
        f"({table}, {row_id}) NOT IN (SELECT tab, id FROM "
        "unnest(%(excluded_tables)s::text[], %(excluded_ids)s::bigint[]) gone (tab, id)))"
    )


def _kept(table: str) -> str:
    """Return the FROM clause with the images of `table` in force, as rows `held`."""
    return f"""
    FROM unnest(%(kept_tables)s::text[], %(kept_images)s::jsonb[]) kept (tab, image)
    CROSS JOIN LATERAL jsonb_populate_record(NULL::retail.{table}, kept.image) held"""


def _is_kept(table: str) -> str:
    return f"kept.tab = '{table}' AND {_wanted('held.inv_key', 'held.location')}"


def _source(table: str) -> str:
    """Return a CTE of `table` as the fold has it: without excluded rows, with images in force."""
    return f"""
{table} AS NOT MATERIALIZED (
    SELECT fact.* FROM retail.{table} fact
    WHERE {_wanted("fact.inv_key", "fact.location")} AND {_in_force(f"'{table}'", "fact.id")}
    UNION ALL
    SELECT held.* {_kept(table)} WHERE {_is_kept(table)}
)"""


def _effects(name: str, rule: str, columns: str, tables: tuple[str, ...]) -> str:
    """Return a CTE of the view `name` as the fold has it; `rule` is its function for one row."""
    kept = "".join(
        f"""
    UNION ALL
    SELECT held.inv_key, {columns} {_kept(table)}
    CROSS JOIN LATERAL retail.{rule}(held) fact WHERE {_is_kept(table)}"""
        for table in tables
    )
    return f"""
{name} AS NOT MATERIALIZED (
    SELECT fact.inv_key, {columns} FROM retail.{name} fact
    WHERE {_wanted("fact.inv_key", "fact.location")}
      AND {_in_force("fact.table_name", "fact.row_id")}{kept}
)"""


_MOVEMENTS: Final = _effects(
    "movement",
    "movement_of",
    "fact.business_at, fact.on_hand_units, fact.unavailable_units",
    tuple(table.name for table in CAPTURED if table.has_movements),
)
_INBOUND: Final = _effects(
    "inbound",
    "inbound_of",
    "fact.on_order_units, fact.in_transit_units",
    tuple(table.name for table in CAPTURED if table.has_inbound),
)

_EXPECTED: Final = """
last_count AS (
    SELECT DISTINCT ON (inv_key) inv_key, units,
        retail.business_at(occurred_at, recorded_at) AS business_at
    FROM stock_count WHERE status = 'approved'
    ORDER BY inv_key, retail.business_at(occurred_at, recorded_at) DESC, id DESC
),
moved AS (
    SELECT m.inv_key, sum(m.unavailable_units) AS unavailable,
        sum(m.on_hand_units) FILTER (WHERE c.inv_key IS NULL OR m.business_at > c.business_at)
            AS units
    FROM movement m LEFT JOIN last_count c USING (inv_key) GROUP BY m.inv_key
),
awaited AS (
    SELECT inv_key, sum(on_order_units) AS on_order, sum(in_transit_units) AS in_transit
    FROM inbound GROUP BY inv_key
),
known_keys AS (
    SELECT inv_key FROM moved UNION SELECT inv_key FROM awaited
    UNION SELECT inv_key FROM last_count UNION SELECT inv_key FROM item_location
),
expected AS (
    SELECT inv_key, (coalesce(c.units, 0) + coalesce(m.units, 0))::bigint AS on_hand,
        coalesce(m.unavailable, 0)::bigint AS unavailable,
        coalesce(a.on_order, 0)::bigint AS on_order,
        coalesce(a.in_transit, 0)::bigint AS in_transit, c.inv_key IS NOT NULL AS stock_known
    FROM known_keys LEFT JOIN moved m USING (inv_key) LEFT JOIN awaited a USING (inv_key)
    LEFT JOIN last_count c USING (inv_key)
)"""

LEVELS: Final = (
    "WITH "
    + ",".join((_source("stock_count"), _source("item_location"), _MOVEMENTS, _INBOUND, _EXPECTED))
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
    "(extract(epoch FROM retail.business_at(occurred_at, recorded_at))::bigint / 600) * 600000000"
)

# Subtract signed contributions that no window counted (stock.late), then compare.
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

# Rows that workers still retain, with columns in the order of their counters.
SHOWN_WINDOWS: Final = """
SELECT w.inv_key, w.start_us, w.sold_units, w.returned_units, w.sale_lines, w.return_lines,
    w.revenue_minor, w.late_lines, w.window_revision, w."offset"
FROM read_model.sales_window w
JOIN unnest(%(horizon_keys)s::text[], %(horizons)s::bigint[]) h (inv_key, horizon_us)
    ON h.inv_key = w.inv_key AND w.start_us + 600000000 > h.horizon_us"""

COMMITTED: Final = """
SELECT count(*), coalesce(sum(quantity_units), 0)::bigint, coalesce(sum(amount_minor), 0)::bigint
FROM retail.sale_line WHERE %(location)s::text IS NULL OR location = %(location)s::text"""
