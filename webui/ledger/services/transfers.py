"""Transfers between locations: two rows under two keys, always written together."""

from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from webui.ledger.services import checks
from webui.ledger.services.arrivals import Delivered, locked_shipment, log_receipt, write_receipt
from webui.ledger.services.errors import Conflict, refuse
from webui.ledger.services.transactions import (
    Row,
    happened_or_now,
    insert,
    ledger_transaction,
    log_action,
)


@dataclass(frozen=True, slots=True)
class Transfer:
    """The two rows of one transfer and the reference that joins them."""

    transfer_ref: str
    out_id: int
    in_id: int


def ship_transfer(  # noqa: PLR0913 -- one keyword per column
    *,
    source: str,
    destination: str,
    sku: str,
    units: int,
    shipped_at: datetime | None = None,
    transfer_ref: str | None = None,
    reorder_id: str | None = None,
    actor: str | None = None,
) -> Transfer:
    """Send units from one location to another: two rows, two keys, one transaction."""
    if source == destination:
        refuse("destination", destination, "a transfer goes to another location")
    checks.whole("units", units, 1)
    keys = checks.key(source, sku), checks.key(destination, sku)
    reference = transfer_ref or f"T-{uuid4().hex[:12]}"
    with ledger_transaction():
        shared: Row = {
            "sku": sku,
            "status": "shipped",
            "transfer_ref": reference,
            "planned_units": units,
            "shipped_units": units,
            "shipped_at": happened_or_now("shipped_at", shipped_at),
            "recorded_by": actor,
        }
        leaving = {"inv_key": keys[0], "location": source, "leg": "transfer_out"}
        arriving = {
            "inv_key": keys[1],
            "location": destination,
            "leg": "transfer_in",
            "reorder_id": reorder_id,
        }
        out_id = insert("shipment_line", shared | leaving)
        in_id = insert("shipment_line", shared | arriving)
        detail = {"transfer": reference, "units": units, "to": destination}
        log_action(actor=actor, action="ship_transfer", subject=keys[0], detail=detail)
    return Transfer(reference, out_id, in_id)


def receive_transfer(
    *, shipment_line_id: int, delivered: Delivered, actor: str | None = None
) -> int:
    """Receive the inbound row of a transfer; units that were lost or found need a reason.

    Returns the units lost on the way, negative when more arrived than was sent.
    """
    delivered.check()
    with ledger_transaction():
        shipment = locked_shipment(shipment_line_id, "transfer_in")
        if shipment["status"] != "shipped":
            message = f"transfer line {shipment_line_id} has not been shipped yet"
            raise Conflict(message)
        arrived = delivered.received_units + delivered.damaged_units
        lost = int(shipment["shipped_units"]) - arrived
        if lost and not (delivered.discrepancy_reason or "").strip():
            refuse("discrepancy_reason", None, f"{lost} units differ, a reason is needed")
        write_receipt(shipment_line_id, delivered, 0, actor)
        log_receipt(shipment["inv_key"], shipment_line_id, delivered, actor)
    return lost
