"""Expected values of every key, by SQL over facts (docs/domain.md 2.3, 2.4).

This module repeats the rules on purpose, in another language and without any history. It checks the
fold, so it must not share code with the fold. The views and functions of migration 0014 of `ledger`
define the effect of one row. The statements here only add up the effects.

Parameters of the statements here and in `window_sums`:
* `location` and `only` (keys) limit the rows; null means all.
* `excluded_tables` and `excluded_ids` name rows without effect at the cut.
* `kept_tables` and `kept_images` have the images that count in place of excluded rows. Such an
  image is in force after a rejected update or delete, or it was in force at the cut and its row
  has changed since.
* `instead_*` are window rows at the cut that differ from those of the read model.
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
    """Return the SQL condition that a row is not one of the excluded rows."""
    return (
        "(cardinality(%(excluded_ids)s::bigint[]) = 0 OR "
        f"({table}, {row_id}) NOT IN (SELECT tab, id FROM "
        "unnest(%(excluded_tables)s::text[], %(excluded_ids)s::bigint[]) gone (tab, id)))"
    )


def _kept(table: str) -> str:
    """Return the FROM clause that gives the kept images of `table` as rows named `held`."""
    return f"""
    FROM unnest(%(kept_tables)s::text[], %(kept_images)s::jsonb[]) kept (tab, image)
    CROSS JOIN LATERAL jsonb_populate_record(NULL::retail.{table}, kept.image) held"""


def _is_kept(table: str) -> str:
    return f"kept.tab = '{table}' AND {_wanted('held.inv_key', 'held.location')}"


def source(table: str) -> str:
    """Return SQL for a CTE named `table`: its rows except excluded ones, and kept images."""
    return f"""
{table} AS NOT MATERIALIZED (
    SELECT fact.* FROM retail.{table} fact
    WHERE {_wanted("fact.inv_key", "fact.location")} AND {_in_force(f"'{table}'", "fact.id")}
    UNION ALL
    SELECT held.* {_kept(table)} WHERE {_is_kept(table)}
)"""


def _effects(name: str, rule: str, columns: str, tables: tuple[str, ...]) -> str:
    """Return SQL for a CTE named `name`. Its rows are effects.

    They are the effects in the view `name`, except those of excluded rows, plus the effects of kept
    images.

    `rule` is the SQL function that gives the effect of one image.
    """
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
    + ",".join((source("stock_count"), source("item_location"), _MOVEMENTS, _INBOUND, _EXPECTED))
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


COMMITTED: Final = """
SELECT count(*), coalesce(sum(quantity_units), 0)::bigint, coalesce(sum(amount_minor), 0)::bigint
FROM retail.sale_line WHERE %(location)s::text IS NULL OR location = %(location)s::text"""
