"""Shipments of suppliers, and receipts of goods for an order line."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from inventory.tables.columns import QUANTITY_MAX
from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import Written, run_command
from ledger.kernel.row_parts import Stamped
from ledger.kernel.transactions import business_time_or_now, fetch_column, insert, log_action
from ledger.kernel.unscoped_rows import read_one
from ledger.messages import Message, gettext_noop
from ledger.nouns import counted
from ledger.ordering import status as orders_status
from ledger.ordering.lines import follow_receipts, open_order_units
from ledger.ordering.order_line import OrderLine, locked_line
from ledger.receiving.receipt_rows import Delivered, write_receipt
from ledger.receiving.shipment_line import ShipmentLine, locked_shipment


@dataclass(frozen=True, slots=True)
class _NewestReceipt(Stamped):
    """The newest receipt of an order line: author, time, and units including damaged units."""

    recorded_by: str | None
    recorded_at: datetime
    units: int


def ship_order_line(
    *,
    line_id: int,
    shipped_units: int,
    shipped_at: datetime | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> int:
    """Record that a supplier has shipped units of an order line; return the shipment's id.

    The units are then in transit; they stay on order.
    """
    checks.integer("shipped_units", shipped_units, 1)

    def work() -> Written:
        line = locked_line(line_id)
        orders_status.after(line.status, "ship", line_id=line_id)
        shipment_id = insert(
            "shipment_line",
            {
                **line.key_columns,
                "leg": "supplier_in",
                "status": "shipped",
                "purchase_order_line_id": line_id,
                "shipped_units": shipped_units,
                "shipped_at": business_time_or_now("shipped_at", shipped_at),
                "recorded_by": actor,
            },
        )
        detail = {"shipment": shipment_id, "line": line_id, "units": shipped_units}
        log_action(
            actor=actor,
            action="ship_order",
            subject=line.inv_key,
            detail=detail | {"order": line.order_ref},
        )
        return Written(shipment_id)

    kind, given = f"ship_order {line_id}", (shipped_units, shipped_at)
    return run_command(command_id, kind, actor, work, Written, content=given).id


def receive_shipment(
    *,
    delivered: Delivered,
    shipment_line_id: int | None = None,
    purchase_order_line_id: int | None = None,
    shown_open_units: int | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> int:
    """Receive goods of an order line; return the id of the shipment row.

    `shipment_line_id` is the supplier's shipment. Without one, the goods were not announced, and
    `purchase_order_line_id` is the order line.

    The line is locked. On-order falls by `order_units` = min(arrived, open units); arrived units
    include damaged ones. Extra units enter stock and change no other order. A line without open
    units is closed.

    Raises:
        ServiceError: no such shipment or line, or 0 units without a reason.
        Conflict: the shipment was received already, or the line is a draft. Or its open units
            differ from `shown_open_units`: another person may have received this delivery.
    """

    def work() -> Written:
        return Written(
            receive_within(
                delivered=delivered,
                shipment_line_id=shipment_line_id,
                purchase_order_line_id=purchase_order_line_id,
                shown_open_units=shown_open_units,
                actor=actor,
            )
        )

    given = (shipment_line_id, purchase_order_line_id, delivered)
    return run_command(command_id, "receive_shipment", actor, work, Written, content=given).id


def receive_within(
    *,
    delivered: Delivered,
    shipment_line_id: int | None,
    purchase_order_line_id: int | None,
    shown_open_units: int | None,
    actor: str | None,
) -> int:
    """Execute `receive_shipment` inside the caller's transaction; return the shipment row's id."""
    delivered.check()
    delivered.require_reason_if_empty()
    if shipment_line_id is not None:
        return _receive_announced(
            shipment_line_id, purchase_order_line_id, delivered, shown_open_units, actor
        )
    if purchase_order_line_id is None:
        refuse("purchase_order_line_id", None, "a shipment or an order line is needed")
    return _receive_unannounced(purchase_order_line_id, delivered, shown_open_units, actor)


def _receivable(line_id: int, shown_open_units: int | None) -> tuple[OrderLine, int]:
    """Return the order line, locked, and its open units.

    Raise `Conflict` if the line's status forbids a receipt, or if the open units differ from
    `shown_open_units`.
    """
    line = locked_line(line_id)
    orders_status.after(line.status, "receive", line_id=line_id)
    open_units = open_order_units(line)
    if shown_open_units is not None and shown_open_units != open_units:
        message = Message(
            "order line %(line_id)s had %(shown)s open when it was shown, and has %(open_units)s "
            "open now%(last)s",
            line_id=line_id,
            shown=counted(shown_open_units, "unit"),
            open_units=f"{open_units:,}",
            last=_last_receipt(line_id),
        )
        raise Conflict(message)
    return line, open_units


def _last_receipt(line_id: int) -> str:
    newest = read_one(
        _NewestReceipt,
        "SELECT recorded_by, recorded_at, received_units + damaged_units AS units"
        " FROM retail.shipment_line"
        " WHERE purchase_order_line_id = %s AND leg = 'supplier_in' AND status = 'received'"
        " ORDER BY recorded_at DESC, id DESC LIMIT 1",
        line_id,
    )
    if newest is None:
        return ""
    return Message(
        ": %(writer)s has received %(units)s, %(write_time)s",
        writer=newest.writer,
        units=counted(newest.units, "unit"),
        write_time=newest.write_time,
    )


def _receive_unannounced(
    line_id: int, delivered: Delivered, shown_open_units: int | None, actor: str | None
) -> int:
    line, open_units = _receivable(line_id, shown_open_units)
    shipment_id = insert(
        "shipment_line",
        {
            **line.key_columns,
            "leg": "supplier_in",
            "status": "received",
            "purchase_order_line_id": line_id,
            "shipped_units": min(delivered.arrived_units, QUANTITY_MAX),
            "received_units": delivered.received_units,
            "damaged_units": delivered.damaged_units,
            "order_units": min(delivered.arrived_units, open_units),
            "received_at": business_time_or_now("received_at", delivered.received_at),
            "discrepancy_reason": delivered.discrepancy_reason,
            "recorded_by": actor,
        },
    )
    follow_receipts(line_id, actor)
    _log(line.inv_key, line, shipment_id, delivered, actor)
    return shipment_id


def _receive_announced(
    shipment_id: int,
    line_id: int | None,
    delivered: Delivered,
    shown_open_units: int | None,
    actor: str | None,
) -> int:
    announced = line_of_shipment(shipment_id)
    if line_id is not None and line_id != announced:
        refuse(
            "shipment_line_id",
            shipment_id,
            Message(
                "not a delivery of order line %(line_id)s: choose one of its deliveries",
                line_id=line_id,
            ),
        )
    # Lock the line before the shipment. Otherwise two receipts of one line could deadlock.
    line = None if announced is None else locked_line(announced)
    shipment = _announced(shipment_id)
    open_units = 0 if line is None else _receivable(line.id, shown_open_units)[1]
    write_receipt(shipment_id, delivered, min(delivered.arrived_units, open_units), actor)
    if line is not None:
        follow_receipts(line.id, actor)
    inv_key = shipment.inv_key if line is None else line.inv_key
    _log(inv_key, line, shipment_id, delivered, actor)
    return shipment_id


def line_of_shipment(shipment_id: int) -> int | None:
    """Return the id of the order line of a supplier's shipment, None if it has no line.

    The id never changes, so it is read without a lock. Raise `ServiceError` if there is no such
    shipment.
    """
    found: list[int | None] = fetch_column(
        "SELECT purchase_order_line_id AS line_id FROM retail.shipment_line"
        " WHERE id = %s AND leg = 'supplier_in'",
        shipment_id,
    )
    if not found:
        refuse("shipment_line_id", shipment_id, "no such delivery of a supplier")
    return found[0]


def _announced(shipment_id: int) -> ShipmentLine:
    """Return a supplier's shipment, locked until the transaction ends.

    Raise `Conflict` if the shipment was received already.
    """
    shipment = locked_shipment(
        shipment_id, "supplier_in", missing=gettext_noop("no such delivery of a supplier")
    )
    if shipment.status == "received":
        message = Message(
            "delivery %(shipment_id)s was already received: %(units)s, recorded by %(writer)s, "
            "%(write_time)s; a delivery can be received only once",
            shipment_id=shipment_id,
            units=counted(shipment.received_units, "unit"),
            writer=shipment.writer,
            write_time=shipment.write_time,
        )
        raise Conflict(message)
    return shipment


def _log(
    inv_key: str,
    line: OrderLine | None,
    shipment_id: int,
    delivered: Delivered,
    actor: str | None,
) -> None:
    detail = {
        "shipment": shipment_id,
        "line": None if line is None else line.id,
        "order": None if line is None else line.order_ref,
        "received": delivered.received_units,
        "damaged": delivered.damaged_units,
        "reason": delivered.discrepancy_reason,
    }
    log_action(actor=actor, action="receive", subject=inv_key, detail=detail)
