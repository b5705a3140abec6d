"""Queries of an order's announced deliveries and of its receipts."""

from dataclasses import dataclass
from datetime import datetime

from ledger.kernel.checks import is_correctable
from ledger.kernel.rows import select


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
    """One receipt: goods that arrived for a line of an order.

    `order_units` are the units of the receipt that reduce the open units of the line.
    """

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
        """True while the person who booked the receipt may still correct it."""
        return is_correctable(self.received_at, self.now)

    @property
    def extra_units(self) -> int:
        """Units beyond the order: they add to stock and don't reduce open units."""
        return self.received_units + self.damaged_units - self.order_units


def receipts(order_ref: str) -> list[Receipt]:
    """Return the newest 200 receipts of an order, newest first."""
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
