"""One day of a small shop, written into Postgres as tills and people would, in its own location."""

import uuid
from dataclasses import dataclass, field

import psycopg

_SALES = """
INSERT INTO retail.sale_line (source, source_ref, inv_key, location, sku, quantity_units,
    amount_minor, condition, occurred_at)
SELECT 'shop', %(place)s || '-' || n, %(place)s || '|' || sku, %(place)s, sku, quantity,
    quantity * 999, condition, clock_timestamp() - make_interval(mins => minutes)
FROM unnest(%(numbers)s::int[], %(skus)s::text[], %(quantities)s::bigint[],
    %(conditions)s::text[], %(minutes)s::int[]) line (n, sku, quantity, condition, minutes)
"""
_REST = """
INSERT INTO retail.item_location (inv_key, location, sku, status, replenish_family,
    reorder_point_units, order_up_to_units, supplier, cost_minor)
SELECT %(place)s || '|' || sku, %(place)s, sku, 'active', 'sS', 20, 60, 'ACME', 500
FROM unnest(%(items)s::text[]) sku;
INSERT INTO retail.stock_count (inv_key, location, sku, units, kind, status, occurred_at)
SELECT %(place)s || '|' || sku, %(place)s, sku, 100, 'opening', 'approved',
    clock_timestamp() - interval '3 hours'
FROM unnest(%(items)s::text[]) sku;
INSERT INTO retail.purchase_order_line (inv_key, location, sku, order_ref, supplier, status,
    ordered_units, ordered_at)
SELECT %(place)s || '|A', %(place)s, 'A', 'PO-1', 'ACME', 'sent', 24, clock_timestamp();
INSERT INTO retail.shipment_line (inv_key, location, sku, leg, status, shipped_units,
    received_units, damaged_units, order_units, shipped_at, received_at)
SELECT %(place)s || '|A', %(place)s, 'A', 'supplier_in', 'received', 20, 18, 1, 19,
    clock_timestamp() - interval '1 hour', clock_timestamp() - interval '10 minutes';
INSERT INTO retail.shipment_line (inv_key, location, sku, leg, status, transfer_ref,
    planned_units, shipped_units, shipped_at)
SELECT %(place)s || '|B', %(place)s, 'B', leg, 'shipped', 'T-1', 5, 5, clock_timestamp()
FROM unnest(ARRAY['transfer_in', 'transfer_out']) leg;
INSERT INTO retail.stock_adjustment (inv_key, location, sku, reason, quantity_units, occurred_at)
SELECT %(place)s || '|B', %(place)s, 'B', reason, 3, clock_timestamp()
FROM unnest(ARRAY['damage', 'theft', 'found', 'dispose']) reason
"""


@dataclass(slots=True)
class Shop:
    """A location with three items; `trade` writes one busy morning."""

    url: str
    location: str = field(default_factory=lambda: f"SHOP-{uuid.uuid4().hex[:8].upper()}")

    def trade(self) -> None:
        """Write items, counts, sales, returns, a correction, a receipt, a transfer, adjustments."""
        numbers = list(range(90))
        lines = {
            "place": self.location,
            "numbers": numbers,
            "skus": ["ABC"[n % 3] for n in numbers],
            "quantities": [-1 if n % 10 == 9 else 1 + n % 4 for n in numbers],
            "conditions": ["damaged" if n % 20 == 19 else "resaleable" for n in numbers],
            "minutes": [(n * 7) % 240 for n in numbers],
        }
        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in _REST.split(";"):
                connection.execute(statement, {"place": self.location, "items": ["A", "B", "C"]})
            connection.execute(_SALES, lines)
            connection.execute(
                "UPDATE retail.sale_line SET quantity_units = 6 WHERE source = 'shop' "
                "AND source_ref = %s",
                (f"{self.location}-4",),
            )
            connection.execute(
                "DELETE FROM retail.sale_line WHERE source = 'shop' AND source_ref = %s",
                (f"{self.location}-5",),
            )
