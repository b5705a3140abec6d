"""Functions that write a receipt, of a supplier's delivery or of a transfer.

A receipt is written with one statement to one row, so the log has a single record of the receipt.
This record changes on-hand, unavailable, on-order and in-transit together. So the workers never
decide on a part of a receipt.
"""

from dataclasses import dataclass
from datetime import datetime

from ledger.kernel import checks
from ledger.kernel.transactions import business_time_or_now, execute, log_action
from ledger.receiving.shipment_line import ShipmentLine


@dataclass(frozen=True, slots=True)
class Delivered:
    """Goods that arrived: units fit for sale, and damaged units.

    `received_at` None means now. `discrepancy_reason` explains a difference from the expected
    units.
    """

    received_units: int
    damaged_units: int = 0
    received_at: datetime | None = None
    discrepancy_reason: str | None = None

    @property
    def arrived_units(self) -> int:
        """The units that arrived, including damaged units."""
        return self.received_units + self.damaged_units

    def check(self) -> None:
        """Raise `ServiceError` for units outside 0 to 1,000,000."""
        checks.integer("received_units", self.received_units)
        checks.integer("damaged_units", self.damaged_units)

    def require_reason_if_empty(self) -> None:
        """Raise `ServiceError` for a delivery of 0 units without a reason."""
        if self.arrived_units == 0:
            checks.text("discrepancy_reason", self.discrepancy_reason)


def write_receipt(
    shipment_id: int, delivered: Delivered, order_units: int, actor: str | None
) -> None:
    """Write a receipt to a shipment row: status received, units, time and reason.

    `order_units` are the units by which on-order of the order line falls.
    """
    execute(
        "UPDATE retail.shipment_line SET status = 'received', received_units = %s,"
        " damaged_units = %s, order_units = %s, received_at = %s, discrepancy_reason = %s,"
        " recorded_by = %s WHERE id = %s",
        delivered.received_units,
        delivered.damaged_units,
        order_units,
        business_time_or_now("received_at", delivered.received_at),
        delivered.discrepancy_reason,
        actor,
        shipment_id,
    )


def log_receipt(inv_key: str, shipment_id: int, delivered: Delivered, actor: str | None) -> None:
    """Append a receipt to the audit log."""
    detail = {
        "shipment": shipment_id,
        "received": delivered.received_units,
        "damaged": delivered.damaged_units,
        "reason": delivered.discrepancy_reason,
    }
    log_action(actor=actor, action="receive", subject=inv_key, detail=detail)


def log_correction(
    receipt: ShipmentLine,
    delivered: Delivered,
    actor: str | None,
    *,
    order_ref: str | None = None,
    extra_units: int = 0,
) -> None:
    """Append the correction of a receipt to the audit log, with its units before and after.

    `extra_units` are the extra units of other receipts that now count towards the order.
    """
    detail = {
        "shipment": receipt.id,
        "transfer": receipt.transfer_ref,
        "line": receipt.purchase_order_line_id,
        "order": order_ref,
        "received": [receipt.received_units, delivered.received_units],
        "damaged": [receipt.damaged_units, delivered.damaged_units],
        "extra_units": extra_units or None,
        "reason": delivered.discrepancy_reason,
    }
    log_action(actor=actor, action="correct_receipt", subject=receipt.inv_key, detail=detail)
