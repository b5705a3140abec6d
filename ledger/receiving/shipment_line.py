"""Locked rows of `retail.shipment_line`: shipments of suppliers, and rows of transfers."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from ledger.access.scope import require_key
from ledger.kernel.errors import refuse
from ledger.kernel.row_parts import Stamped
from ledger.kernel.unscoped_rows import read_one

Leg = Literal["supplier_in", "transfer_out", "transfer_in"]


@dataclass(frozen=True, slots=True)
class ShipmentLine(Stamped):
    """One row of `retail.shipment_line`, locked.

    Leg `supplier_in` is a supplier's delivery. A transfer has two rows: `transfer_out` at the
    source and `transfer_in` at the destination.
    """

    id: int
    inv_key: str
    location: str
    leg: Leg
    status: str
    purchase_order_line_id: int | None
    transfer_ref: str | None
    reorder_id: str | None
    planned_units: int
    shipped_units: int
    received_units: int
    damaged_units: int
    order_units: int
    shipped_at: datetime | None
    received_at: datetime | None
    due_on: date | None
    recorded_at: datetime
    recorded_by: str | None

    @property
    def left_at(self) -> datetime:
        """The shipping time, which each shipped row has; raise `LookupError` for other rows."""
        return _required(self.shipped_at, f"shipment line {self.id} has no shipping time")

    @property
    def arrived_at(self) -> datetime:
        """The time of receipt, which each received row has; raise `LookupError` for other rows."""
        return _required(self.received_at, f"shipment line {self.id} has no receiving time")


def _required(at: datetime | None, problem: str) -> datetime:
    if at is None:
        raise LookupError(problem)
    return at


def locked_shipment(shipment_id: int, leg: Leg, *, missing: str) -> ShipmentLine:
    """Return the row with this id and leg, locked until the transaction ends.

    Raise `ServiceError` with the text `missing` if there is no such row.
    """
    sql = "SELECT * FROM retail.shipment_line WHERE id = %s FOR UPDATE"
    line = read_one(ShipmentLine, sql, shipment_id)
    if line is None or line.leg != leg:
        refuse("shipment_line_id", shipment_id, missing)
    require_key(line.inv_key)
    return line
