"""Queries of the receiving desk: due orders, announced deliveries, receipts."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from ledger.kernel.checks import is_correctable
from ledger.kernel.rows import select, select_value
from webui.desks.orders.lines import OPEN_UNITS_SQL, OVERDUE_SQL

PAGE_ROWS: Final = 50
MOST_COUNTED: Final = 1000


@dataclass(frozen=True, slots=True)
class DueOrder:
    """An order with units that have not arrived yet."""

    order_ref: str
    location: str
    supplier_name: str
    lines: int
    open_units: int
    in_transit_units: int
    overdue_lines: int
    due_on: date | None


_DUE: Final = f"""
SELECT l.order_ref, l.location, coalesce(min(su.name), min(l.supplier)) AS supplier_name,
       count(*) AS lines, sum({OPEN_UNITS_SQL})::bigint AS open_units,
       coalesce(sum(sh.in_transit_units), 0)::bigint AS in_transit_units,
       count(*) FILTER (WHERE {OVERDUE_SQL}) AS overdue_lines, min(l.due_on) AS due_on
FROM retail.purchase_order_line l
LEFT JOIN LATERAL (
    SELECT sum(order_units)::bigint AS order_units,
           (sum(shipped_units) FILTER (WHERE status = 'shipped'))::bigint AS in_transit_units
    FROM retail.shipment_line WHERE purchase_order_line_id = l.id AND leg = 'supplier_in'
) sh ON true
LEFT JOIN retail.supplier su ON su.code = l.supplier
WHERE l.status IN ('sent', 'confirmed') AND (%(location)s = '' OR l.location = %(location)s)
  AND {OPEN_UNITS_SQL} > 0
  AND (%(text)s = '' OR l.order_ref = %(text)s OR l.sku = %(text)s)
GROUP BY l.order_ref, l.location
"""  # noqa: S608 -- constants of this project


def due_orders(*, location: str, text: str, skip: int = 0) -> list[DueOrder]:
    """Return up to 51 orders with open units, earliest due first; `text` is an order or a SKU."""
    sql = f"""{_DUE} ORDER BY min(l.due_on) NULLS LAST, l.order_ref, l.location
              LIMIT {PAGE_ROWS + 1} OFFSET %(skip)s"""
    return select(sql, {"location": location, "text": text, "skip": skip}, DueOrder)


def count_due(*, location: str, text: str) -> int:
    """Return the number of orders with open units, capped at 1,000."""
    sql = f"SELECT count(*) FROM ({_DUE} LIMIT {MOST_COUNTED}) few"  # noqa: S608 -- the query above
    return int(select_value(sql, {"location": location, "text": text}))


@dataclass(frozen=True, slots=True)
class Announced:
    """A delivery that the supplier has announced and that is not received yet."""

    id: int
    line_id: int
    shipped_units: int
    shipped_at: datetime


def announced(order_ref: str) -> list[Announced]:
    """Return the announced deliveries of an order, oldest first."""
    return select(
        """SELECT s.id, s.purchase_order_line_id AS line_id, s.shipped_units, s.shipped_at
           FROM retail.shipment_line s
           JOIN retail.purchase_order_line l ON l.id = s.purchase_order_line_id
           WHERE l.order_ref = %(ref)s AND s.leg = 'supplier_in' AND s.status = 'shipped'
           ORDER BY s.id""",
        {"ref": order_ref},
        Announced,
    )


@dataclass(frozen=True, slots=True)
class Receipt:
    """One receipt of an order."""

    id: int
    line_id: int
    sku: str
    name: str
    shipped_units: int
    received_units: int
    damaged_units: int
    order_units: int
    received_at: datetime
    recorded_at: datetime
    recorded_by: str | None
    discrepancy_reason: str | None
    now: datetime

    @property
    def version(self) -> str:
        """A text that changes with every write of the receipt."""
        return self.recorded_at.isoformat()

    @property
    def is_fresh(self) -> bool:
        """True while its receiver may still correct it."""
        return is_correctable(self.received_at, self.now)

    @property
    def extra_units(self) -> int:
        """Units beyond the order: they add to stock and don't reduce open units."""
        return self.received_units + self.damaged_units - self.order_units


def receipts(order_ref: str) -> list[Receipt]:
    """Return the newest 200 receipts of an order."""
    return select(
        """SELECT s.id, s.purchase_order_line_id AS line_id, s.sku, coalesce(p.name, s.sku) AS name,
                  s.shipped_units, s.received_units, s.damaged_units, s.order_units, s.received_at,
                  s.recorded_at, s.recorded_by, s.discrepancy_reason, clock_timestamp() AS now
           FROM retail.shipment_line s
           JOIN retail.purchase_order_line l ON l.id = s.purchase_order_line_id
           LEFT JOIN retail.product p ON p.code = s.sku
           WHERE l.order_ref = %(ref)s AND s.leg = 'supplier_in' AND s.status = 'received'
           ORDER BY s.recorded_at DESC, s.id DESC LIMIT 200""",
        {"ref": order_ref},
        Receipt,
    )
