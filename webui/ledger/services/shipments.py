"""Goods from suppliers: shipped, then received against an order line."""

from datetime import datetime
from uuid import UUID

from webui.ledger.services import checks
from webui.ledger.services.arrivals import Delivered, locked_shipment, log_receipt, write_receipt
from webui.ledger.services.errors import Conflict, refuse
from webui.ledger.services.purchasing import locked_line, open_order_units
from webui.ledger.services.transactions import (
    Row,
    happened_or_now,
    insert,
    ledger_transaction,
    once,
)


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
    log_receipt(line["inv_key"], shipment_id, delivered, actor)
    return shipment_id


def _receive_announced(shipment_id: int, delivered: Delivered, actor: str | None) -> int:
    shipment = locked_shipment(shipment_id, "supplier_in")
    arrived = delivered.received_units + delivered.damaged_units
    line_id = shipment["purchase_order_line_id"]
    order_units = 0 if line_id is None else min(arrived, open_order_units(_receivable(line_id)))
    write_receipt(shipment_id, delivered, order_units, actor)
    log_receipt(shipment["inv_key"], shipment_id, delivered, actor)
    return shipment_id
