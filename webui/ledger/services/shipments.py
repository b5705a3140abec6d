"""Goods on the move: receipts from suppliers, and transfers as two rows under two keys.

A receipt is one row whose single change moves on-hand, unavailable, on-order and in-transit
together, so no decision ever sees half of it.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from webui.ledger.services import checks
from webui.ledger.services.errors import Conflict, refuse
from webui.ledger.services.purchasing import locked_line, open_order_units
from webui.ledger.services.transactions import (
    Row,
    execute,
    fetch_one,
    happened_or_now,
    insert,
    ledger_transaction,
    log_action,
    once,
)


@dataclass(frozen=True, slots=True)
class Delivered:
    """What arrived: fit for sale, damaged, when, and why it differs from what was sent."""

    received_units: int
    damaged_units: int = 0
    received_at: datetime | None = None
    discrepancy_reason: str | None = None

    def check(self) -> None:
        """Raise `ServiceError` for impossible units."""
        checks.whole("received_units", self.received_units)
        checks.whole("damaged_units", self.damaged_units)


def ship_order_line(
    *,
    line_id: int,
    shipped_units: int,
    shipped_at: datetime | None = None,
    actor: str | None = None,
) -> int:
    """Write that a supplier has shipped units of a line: they are in transit. The shipment's id."""
    checks.whole("shipped_units", shipped_units, 1)
    with ledger_transaction():
        line = _receivable(line_id)
        return insert(
            "shipment_line",
            {
                **{name: line[name] for name in ("inv_key", "location", "sku")},
                "leg": "supplier_in",
                "status": "shipped",
                "purchase_order_line_id": line_id,
                "shipped_units": shipped_units,
                "shipped_at": happened_or_now("shipped_at", shipped_at),
                "recorded_by": actor,
            },
        )


def receive_shipment(
    *,
    delivered: Delivered,
    shipment_line_id: int | None = None,
    purchase_order_line_id: int | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> int:
    """Receive goods of an order line, announced (`shipment_line_id`) or not. The shipment's id.

    `order_units` = min(delivered, still open on the line), under a lock on that line: extra units
    enter stock but never lower the order of somebody else.
    """
    delivered.check()

    def work() -> Row:
        if shipment_line_id is None:
            if purchase_order_line_id is None:
                refuse("purchase_order_line_id", None, "a shipment or an order line is needed")
            return {"id": _receive_unannounced(purchase_order_line_id, delivered, actor)}
        return {"id": _receive_announced(shipment_line_id, delivered, actor)}

    with ledger_transaction():
        return int(once(command_id, "receive_shipment", actor, work)["id"])


def _receivable(line_id: int) -> Row:
    line = locked_line(line_id)
    if line["status"] == "draft":
        message = f"order line {line_id} is a draft: nothing was ordered yet"
        raise Conflict(message)
    return line


def _receive_unannounced(line_id: int, delivered: Delivered, actor: str | None) -> int:
    line = _receivable(line_id)
    arrived = delivered.received_units + delivered.damaged_units
    shipment_id = insert(
        "shipment_line",
        {
            **{name: line[name] for name in ("inv_key", "location", "sku")},
            "leg": "supplier_in",
            "status": "received",
            "purchase_order_line_id": line_id,
            "shipped_units": min(arrived, checks.MOST_UNITS),
            "received_units": delivered.received_units,
            "damaged_units": delivered.damaged_units,
            "order_units": min(arrived, open_order_units(line)),
            "received_at": happened_or_now("received_at", delivered.received_at),
            "discrepancy_reason": delivered.discrepancy_reason,
            "recorded_by": actor,
        },
    )
    _log_receipt(line["inv_key"], shipment_id, delivered, actor)
    return shipment_id


def _receive_announced(shipment_id: int, delivered: Delivered, actor: str | None) -> int:
    shipment = _locked_shipment(shipment_id, "supplier_in")
    arrived = delivered.received_units + delivered.damaged_units
    line_id = shipment["purchase_order_line_id"]
    order_units = 0 if line_id is None else min(arrived, open_order_units(_receivable(line_id)))
    _write_receipt(shipment_id, delivered, order_units, actor)
    _log_receipt(shipment["inv_key"], shipment_id, delivered, actor)
    return shipment_id


def _write_receipt(
    shipment_id: int, delivered: Delivered, order_units: int, actor: str | None
) -> None:
    execute(
        "UPDATE retail.shipment_line SET status = 'received', received_units = %s,"
        " damaged_units = %s, order_units = %s, received_at = %s, discrepancy_reason = %s,"
        " recorded_by = %s WHERE id = %s",
        delivered.received_units,
        delivered.damaged_units,
        order_units,
        happened_or_now("received_at", delivered.received_at),
        delivered.discrepancy_reason,
        actor,
        shipment_id,
    )


def _log_receipt(inv_key: str, shipment_id: int, delivered: Delivered, actor: str | None) -> None:
    detail = {
        "shipment": shipment_id,
        "received": delivered.received_units,
        "damaged": delivered.damaged_units,
        "reason": delivered.discrepancy_reason,
    }
    log_action(actor=actor, action="receive", subject=inv_key, detail=detail)


def _locked_shipment(shipment_id: int, leg: str) -> Row:
    shipment = fetch_one("SELECT * FROM retail.shipment_line WHERE id = %s FOR UPDATE", shipment_id)
    if shipment is None or shipment["leg"] != leg:
        refuse("shipment_line_id", shipment_id, f"no such {leg} line")
    if shipment["status"] == "received":
        message = f"shipment line {shipment_id} is received already; a line is received once"
        raise Conflict(message)
    return shipment


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
        shipment = _locked_shipment(shipment_line_id, "transfer_in")
        if shipment["status"] != "shipped":
            message = f"transfer line {shipment_line_id} has not been shipped yet"
            raise Conflict(message)
        arrived = delivered.received_units + delivered.damaged_units
        lost = int(shipment["shipped_units"]) - arrived
        if lost and not (delivered.discrepancy_reason or "").strip():
            refuse("discrepancy_reason", None, f"{lost} units differ, a reason is needed")
        _write_receipt(shipment_line_id, delivered, 0, actor)
        _log_receipt(shipment["inv_key"], shipment_line_id, delivered, actor)
    return lost
