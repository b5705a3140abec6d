"""Fill a migrated database with a generated retailer: reference data, read model, proposals.

Each key gets a copy of one of 600 levels. Postgres makes the copies, so a million keys take a
minute or two. Through the pipeline, they would take hours. Rows are written in random order, which
resembles the order in which the projector writes.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import psycopg
from psycopg.types.json import Jsonb

from bench.web.retailer import GENERATION, KEY, SUPPLIERS, TEMPLATES, Retailer
from cdc.contracts import tables
from cdc.contracts.topics import ON_HAND_CHANGELOG, PARTITIONS
from inventory.model.arithmetic import HOUR_US
from inventory.replenishment.families import MIN_MAX
from inventory.revision import LOGIC_REVISION

Progress = Callable[[str], None]

_MADE: Final = """
CREATE TEMPORARY TABLE made_product (place int PRIMARY KEY, code text, name text, supplier text);
CREATE TEMPORARY TABLE made_level (LIKE read_model.stock);
ALTER TABLE made_level ADD place int GENERATED ALWAYS AS IDENTITY (START 0 MINVALUE 0);
CREATE TEMPORARY TABLE made_key (inv_key text, location text, sku text, supplier text,
    place int, chance int, partition int);
"""
# `hashint8extended` gives each key its own random number, the same for the same seed.
_KEYS: Final = """
INSERT INTO made_key
SELECT store.code || '|' || p.code, store.code, p.code, p.supplier,
    (hash.drawn %% %(templates)s)::int, (hash.drawn / 4096 %% 1000)::int,
    (hash.drawn / 8388608 %% %(partitions)s)::int
FROM unnest(%(codes)s::text[], %(items)s::int[], %(firsts)s::int[]) WITH ORDINALITY
    AS store (code, items, first, number)
CROSS JOIN LATERAL generate_series(0, store.items - 1) AS item (place)
JOIN made_product p ON p.place = (store.first + item.place) %% %(products)s
CROSS JOIN LATERAL (SELECT abs(hashint8extended(store.number * 1000000 + item.place,
    %(seed)s) / 2) AS drawn) AS hash
ORDER BY hash.drawn;
"""
_REFERENCE: Final = """
INSERT INTO retail.product (code, name, department)
SELECT code, name, split_part(name, ' ', 2) FROM made_product;
INSERT INTO retail.location (code, name) SELECT * FROM unnest(%(codes)s::text[], %(names)s::text[]);
INSERT INTO app.location_region (location, region)
SELECT code, 'R' || number %% 9 FROM unnest(%(codes)s::text[]) WITH ORDINALITY AS s (code, number);
INSERT INTO retail.supplier (code, name)
SELECT 'SUP-' || to_char(number, 'FM00'), 'Supplier ' || number
FROM generate_series(0, %(suppliers)s - 1) AS number;
"""
_POLICIES: Final = """
INSERT INTO retail.item_location (inv_key, location, sku, recorded_at, status, replenish_family,
    reorder_point_units, order_up_to_units, lead_time_centidays, supplier, cost_minor, pack_units,
    regular_minor)
SELECT k.inv_key, k.location, k.sku, now() - interval '60 days', 'active', %(family)s,
    l.reorder_point_units, l.order_up_to_units, 500,
    k.supplier, l.price_minor / 2, 6, l.price_minor
FROM made_key k JOIN made_level l USING (place)
"""
_PRICES: Final = """
INSERT INTO retail.price_change (inv_key, location, sku, recorded_at, effective_from, price_minor,
    kind, floor_minor)
SELECT k.inv_key, k.location, k.sku, now() - interval '60 days', now() - interval '60 days',
    l.price_minor, 'initial', 1
FROM made_key k JOIN made_level l USING (place)
"""
_OWN: Final = {
    "inv_key": "k.inv_key",
    "location": "k.location",
    "sku": "k.sku",
    "partition": "k.partition",
    "state": f"replace(l.state, '\"{KEY}\"', to_json(k.inv_key)::text)",
}


def _stock() -> str:
    columns = list(tables.STOCK_COLUMNS)
    values = [_OWN.get(name, f'l."{name}"') for name in columns]
    names = ", ".join(f'"{name}"' for name in columns)
    return (
        f"INSERT INTO {tables.STOCK} ({names}) SELECT {', '.join(values)}"  # noqa: S608 -- names of this project
        " FROM made_key k JOIN made_level l USING (place)"
    )


# A third of the keys have sales in three of the last hours.
_WINDOWS: Final = """
INSERT INTO read_model.sales_window (inv_key, start_us, sold_units, returned_units, sale_lines,
    return_lines, revenue_minor, late_lines, window_revision, partition, "offset")
SELECT k.inv_key, (%(now_us)s / 600000000 - 1) * 600000000 - hour.number * (1 + k.chance %% 7)
    * %(hour_us)s, 1 + k.chance %% 3, 0, 1, 0, 999, 0, 1, k.partition, 1
FROM made_key k CROSS JOIN generate_series(1, 3) AS hour (number) WHERE k.chance < 333
"""
_POSITIONS: Final = """
INSERT INTO read_model.sink_position (sink, topic, partition, next_offset, as_of_us)
SELECT 'projector', %(topic)s, number, 1, %(now_us)s
FROM generate_series(0, %(partitions)s - 1) AS number
"""
# One of 200 keys has an open need, and one of 500 a proposed price.
_NEEDS: Final = """
INSERT INTO app.reorder_proposal (reorder_id, inv_key, location, sku, supplier, revision, status,
    quantity_units, base_position_units, reorder_point_units, order_up_to_units, cost_minor,
    logic_revision, position, as_of_us)
SELECT 'R:' || k.inv_key || ':1-1', k.inv_key, k.location, k.sku, k.supplier, 1, 'open',
    24, 5, 12, 48, 500, %(revision)s, %(position)s, %(now_us)s
FROM made_key k WHERE k.chance %% 200 = 7
"""
_PROPOSED: Final = """
INSERT INTO app.price_proposal (proposal_id, inv_key, location, sku, revision, status, old_minor,
    new_minor, regular_minor, floor_minor, step, signal, logic_revision, position, as_of_us,
    effective_at_us)
SELECT 'P:' || k.inv_key || ':1-1', k.inv_key, k.location, k.sku, 1, 'open', 999, 899, 999, 500, 1,
    'overstock', %(revision)s, %(position)s, %(now_us)s, %(now_us)s
FROM made_key k WHERE k.chance %% 500 = 11
"""


def fill(url: str, retailer: Retailer, progress: Progress) -> None:
    """Write the retailer into an empty, migrated database; `url` is a superuser's address."""
    given = _parameters(retailer)
    with psycopg.connect(url) as connection:
        # Without triggers: generated rows get no audit entries and no events.
        connection.execute("SET session_replication_role = replica")
        connection.execute(_MADE)
        _copy(connection, retailer)
        steps = {
            "keys": _KEYS,
            "reference data": _REFERENCE,
            "policies": _POLICIES,
            "prices": _PRICES,
            "stock": _stock(),
            "sales": _WINDOWS,
            "proposals": f"{_NEEDS};{_PROPOSED};{_POSITIONS}",
        }
        for name, statements in steps.items():
            progress(f"writing {name}")
            for statement in filter(str.strip, statements.split(";")):
                _run(connection, statement, given)
    with psycopg.connect(url, autocommit=True) as connection:
        progress("vacuum analyze")
        connection.execute("VACUUM ANALYZE")


def _run(connection: psycopg.Connection, statement: str, given: Mapping[str, Any]) -> None:
    # With parameters, psycopg requires `%%` for a percent sign. Statements without placeholders
    # have a single `%`, so they are executed without parameters.
    connection.execute(statement, given if "%(" in statement else None)


def _copy(connection: psycopg.Connection, retailer: Retailer) -> None:
    with connection.cursor() as cursor:
        with cursor.copy("COPY made_product FROM STDIN") as rows:
            for place, one in enumerate(retailer.products):
                rows.write_row((place, one.code, one.name, one.supplier))
        names = ", ".join(f'"{name}"' for name in tables.STOCK_COLUMNS)
        with cursor.copy(f"COPY made_level ({names}) FROM STDIN") as rows:
            for level in retailer.levels:
                rows.write_row([level[name] for name in tables.STOCK_COLUMNS])
        cursor.execute("ANALYZE made_product")
        cursor.execute("ANALYZE made_level")


def _parameters(retailer: Retailer) -> dict[str, Any]:
    stores = retailer.stores
    return {
        "codes": [store.code for store in stores],
        "names": [store.name for store in stores],
        "items": [store.items for store in stores],
        "firsts": [store.first for store in stores],
        "products": len(retailer.products),
        "templates": TEMPLATES,
        "partitions": PARTITIONS,
        "suppliers": SUPPLIERS,
        "seed": retailer.seed,
        "now_us": retailer.now_us,
        "hour_us": HOUR_US,
        "topic": ON_HAND_CHANGELOG,
        "revision": LOGIC_REVISION,
        "family": MIN_MAX.code,
        "position": Jsonb({"generation": GENERATION, "offset": 1}),
    }
