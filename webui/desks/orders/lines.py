"""Lines of purchase orders with their received, damaged and open units."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from ledger.kernel.rows import select
from ledger.ordering import status as orders_status

# `orders_status.open_units` as SQL, for lists that Postgres filters. A test compares both versions.
OPEN_UNITS_SQL: Final = (
    "greatest(0, coalesce(l.confirmed_units, l.ordered_units) - l.cancelled_units"
    " - coalesce(sh.order_units, 0))"
)
# `orders_status.is_overdue` as SQL.
OVERDUE_SQL: Final = (
    f"l.due_on + 1 <= (clock_timestamp() AT TIME ZONE 'UTC')::date AND {OPEN_UNITS_SQL} > 0"
)
ARRIVED_SQL: Final = """
LEFT JOIN LATERAL (
    SELECT sum(order_units)::bigint AS order_units,
           (sum(received_units) FILTER (WHERE status = 'received'))::bigint AS received_units,
           (sum(damaged_units) FILTER (WHERE status = 'received'))::bigint AS damaged_units,
           (sum(shipped_units) FILTER (WHERE status = 'shipped'))::bigint AS in_transit_units
    FROM retail.shipment_line
    WHERE purchase_order_line_id = l.id AND leg = 'supplier_in'
) sh ON true
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One order line with the sums of its receipts.

    `order_units` are the received units that reduce the open units. `in_transit_units` were
    announced by the supplier and haven't arrived.
    """

    id: int
    inv_key: str
    location: str
    sku: str
    name: str
    order_ref: str
    reorder_id: str | None
    supplier: str
    supplier_name: str
    status: orders_status.Status
    ordered_units: int
    confirmed_units: int | None
    cancelled_units: int
    order_units: int
    received_units: int
    damaged_units: int
    in_transit_units: int
    ordered_at: datetime
    due_on: date | None
    cost_minor: int | None
    pack_units: int
    recorded_at: datetime
    recorded_by: str | None
    today: date

    @property
    def open_units(self) -> int:
        """Units ordered, not received and not cancelled."""
        return orders_status.open_units(
            ordered=self.ordered_units,
            confirmed=self.confirmed_units,
            cancelled=self.cancelled_units,
            received_for_order=self.order_units,
        )

    @property
    def is_overdue(self) -> bool:
        """True if open units are past their due day."""
        return orders_status.is_overdue(self.due_on, today=self.today, units=self.open_units)

    @property
    def days_late(self) -> int:
        """Days since the due day; 0 if the line isn't late or has no due day."""
        return 0 if self.due_on is None else max(0, (self.today - self.due_on).days)

    @property
    def promised_units(self) -> int:
        """Units that the supplier has to deliver in total."""
        asked = self.ordered_units if self.confirmed_units is None else self.confirmed_units
        return asked - self.cancelled_units

    @property
    def value_minor(self) -> int | None:
        """The cost of the promised units; None if the unit cost is missing or 0."""
        return self.promised_units * self.cost_minor if self.cost_minor else None

    @property
    def packs(self) -> int | None:
        """The promised units in packs; None if they aren't a whole number of packs."""
        packs, rest = divmod(self.promised_units, self.pack_units)
        return None if rest else packs

    @property
    def version(self) -> str:
        """A text that changes with every write of the line."""
        return self.recorded_at.isoformat()

    def may(self, action: orders_status.Action) -> bool:
        """Return True if the line's status allows the action."""
        return (self.status, action) in orders_status.ALLOWED

    @property
    def actions(self) -> dict[str, bool]:
        """{action: True if the line's status allows it}, for templates, which can't call `may`."""
        return {action: self.may(action) for action in orders_status.ACTIONS}


LINE_COLUMNS: Final = """
SELECT l.id, l.inv_key, l.location, l.sku, coalesce(p.name, l.sku) AS name, l.order_ref,
       l.reorder_id, l.supplier, coalesce(su.name, l.supplier) AS supplier_name, l.status,
       l.ordered_units, l.confirmed_units, l.cancelled_units,
       coalesce(sh.order_units, 0) AS order_units,
       coalesce(sh.received_units, 0) AS received_units,
       coalesce(sh.damaged_units, 0) AS damaged_units,
       coalesce(sh.in_transit_units, 0) AS in_transit_units,
       l.ordered_at, l.due_on, l.cost_minor, coalesce(l.pack_units, 1) AS pack_units,
       l.recorded_at, l.recorded_by, (clock_timestamp() AT TIME ZONE 'UTC')::date AS today
"""
LINE_FROM: Final = f"""
FROM retail.purchase_order_line l
{ARRIVED_SQL}
LEFT JOIN retail.product p ON p.code = l.sku
LEFT JOIN retail.supplier su ON su.code = l.supplier
"""


def order_lines(order_ref: str) -> list[Line]:
    """Return every line of an order, oldest first."""
    sql = f"{LINE_COLUMNS} {LINE_FROM} WHERE l.order_ref = %(ref)s ORDER BY l.id"
    return select(sql, {"ref": order_ref}, Line)
