"""Receipts of transfers, and corrections of a receipt by the person who made it.

A transfer has a row for its source and one for its destination. A receipt changes the
destination's row (the arriving row) to status received. Units that were lost in transit are in the
stock of no location, and need a reason.
"""

from dataclasses import dataclass, replace
from uuid import UUID

from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import run_command
from ledger.kernel.transactions import database_now
from ledger.messages import Counted, Message, gettext_noop
from ledger.nouns import counted
from ledger.receiving.receipt_rows import Delivered, log_correction, log_receipt, write_receipt
from ledger.receiving.shipment_line import ShipmentLine, locked_shipment


@dataclass(frozen=True, slots=True)
class _Lost:
    """The result stored for a command id: the units lost in transit.

    `lost` is below 0 if more units arrived than were shipped.
    """

    lost: int


def receive_transfer(
    *,
    shipment_line_id: int,
    delivered: Delivered,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> int:
    """Receive a transfer; return shipped minus arrived units. Arrived units include damaged ones.

    If shipped and arrived units differ, `delivered` must have a reason. `shipment_line_id` is the
    id of the transfer's row at the destination.

    Raises:
        ServiceError: no such row, or no reason for a difference.
        Conflict: the transfer was received already, or is not shipped yet.
    """
    delivered.check()

    def work() -> _Lost:
        arriving = _locked_inbound(shipment_line_id)
        if arriving.status == "received":
            message = Message(
                "transfer %(shipment_line_id)s was already received: %(received)s fit "
                "for sale and %(damaged_units)s damaged, recorded by %(writer)s, %(write_time)s",
                shipment_line_id=shipment_line_id,
                received=counted(arriving.received_units, "unit"),
                damaged_units=arriving.damaged_units,
                writer=arriving.writer,
                write_time=arriving.write_time,
            )
            raise Conflict(message)
        if arriving.status == "planned":
            message = Message(
                "transfer %(shipment_line_id)s has not been shipped yet: its source has to ship it",
                shipment_line_id=shipment_line_id,
            )
            raise Conflict(message)
        lost = _write(arriving, delivered, actor)
        log_receipt(arriving.inv_key, arriving.id, delivered, actor)
        return lost

    return run_command(
        command_id, f"receive_transfer {shipment_line_id}", actor, work, _Lost, content=delivered
    ).lost


def correct_transfer_receipt(
    *, shipment_line_id: int, delivered: Delivered, actor: str, command_id: UUID | None = None
) -> int:
    """Replace `actor`'s own receipt, within 48 h; return shipped minus arrived units.

    One update reverses the old receipt and books the new one. If `delivered` has no time, the new
    receipt gets the time of the old one.

    Raises:
        ServiceError: another person received the transfer, the receipt is older than 48 h, or a
            difference has no reason.
        Conflict: the transfer is not received.
    """
    delivered.check()

    def work() -> _Lost:
        arriving = _locked_inbound(shipment_line_id)
        if arriving.status != "received":
            message = Message(
                "transfer %(shipment_line_id)s is %(status)s, so it has no receipt yet",
                shipment_line_id=shipment_line_id,
                status=Message(arriving.status),
            )
            raise Conflict(message)
        if arriving.recorded_by != actor:
            refuse(
                "actor",
                actor,
                Message(
                    "only %(writer)s, who received this transfer, may correct it: adjust the stock "
                    "instead",
                    writer=arriving.writer,
                ),
            )
        if not checks.is_correctable(arriving.arrived_at, database_now()):
            refuse("received_at", arriving.arrived_at, "older than 48 h: adjust the stock instead")
        received_at = delivered.received_at or arriving.arrived_at
        lost = _write(arriving, replace(delivered, received_at=received_at), actor)
        log_correction(arriving, delivered, actor)
        return lost

    return run_command(
        command_id, f"correct_transfer {shipment_line_id}", actor, work, _Lost, content=delivered
    ).lost


def _write(arriving: ShipmentLine, delivered: Delivered, actor: str | None) -> _Lost:
    lost = arriving.shipped_units - delivered.arrived_units
    if lost and not (delivered.discrepancy_reason or "").strip():
        refuse(
            "discrepancy_reason",
            None,
            Counted(
                "%(shipped)s unit was sent and %(arrived)s arrived: give a reason for the "
                "difference",
                "%(shipped)s units were sent and %(arrived)s arrived: give a reason for the "
                "difference",
                arriving.shipped_units,
                shipped=f"{arriving.shipped_units:,}",
                arrived=f"{delivered.arrived_units:,}",
            ),
        )
    write_receipt(arriving.id, delivered, 0, actor)
    return _Lost(lost)


def _locked_inbound(shipment_line_id: int) -> ShipmentLine:
    return locked_shipment(
        shipment_line_id, "transfer_in", missing=gettext_noop("no such arriving transfer")
    )
