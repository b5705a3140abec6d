"""Receipts of transfers, and corrections of one's own receipt.

The arriving row ends as received. Units lost in transit belong to no location and need a reason.
"""

from uuid import UUID

from ledger.access.scope import require_key
from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.refusal_text import moment_text, person
from ledger.kernel.transactions import (
    Row,
    database_now,
    fetch_all,
    ledger_transaction,
    run_idempotent,
)
from ledger.receiving.receipt_rows import Delivered, log_receipt, write_receipt


def receive_transfer(
    *,
    shipment_line_id: int,
    delivered: Delivered,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> int:
    """Receive the arriving row of a transfer; lost or found units need a reason.

    Returns the units lost in transit, negative if more arrived than were shipped.
    """
    delivered.check()

    def work() -> Row:
        arriving = _locked_inbound(shipment_line_id)
        if arriving["status"] == "received":
            message = (
                f"transfer line {shipment_line_id} is received already:"
                f" {arriving['received_units']} and {arriving['damaged_units']} damaged,"
                f" by {person(arriving['recorded_by'])}, {moment_text(arriving['recorded_at'])}"
            )
            raise Conflict(message)
        if arriving["status"] == "planned":
            message = f"transfer line {shipment_line_id} has not been shipped yet"
            raise Conflict(message)
        return {"lost": _receive(arriving, delivered, actor)}

    with ledger_transaction():
        return int(
            run_idempotent(command_id, f"receive_transfer {shipment_line_id}", actor, work)["lost"]
        )


def correct_transfer_receipt(
    *, shipment_line_id: int, delivered: Delivered, actor: str, command_id: UUID | None = None
) -> int:
    """Correct one's own receipt of the last 48 h; return the units lost in transit.

    One update reverses the old receipt and books the new one.
    """
    delivered.check()

    def work() -> Row:
        arriving = _locked_inbound(shipment_line_id)
        if arriving["status"] != "received":
            message = f"transfer line {shipment_line_id} is {arriving['status']}, not received"
            raise Conflict(message)
        if arriving["recorded_by"] != actor:
            who = person(arriving["recorded_by"])
            refuse("actor", actor, f"{who} received it; adjust stock instead")
        if not checks.is_correctable(arriving["received_at"], database_now()):
            refuse("received_at", arriving["received_at"], "older than 48 h: adjust stock instead")
        kept = Delivered(
            delivered.received_units,
            delivered.damaged_units,
            delivered.received_at or arriving["received_at"],
            delivered.discrepancy_reason,
        )
        return {"lost": _receive(arriving, kept, actor)}

    with ledger_transaction():
        return int(
            run_idempotent(command_id, f"correct_transfer {shipment_line_id}", actor, work)["lost"]
        )


def _receive(arriving: Row, delivered: Delivered, actor: str | None) -> int:
    lost = int(arriving["shipped_units"]) - delivered.received_units - delivered.damaged_units
    if lost and not (delivered.discrepancy_reason or "").strip():
        refuse("discrepancy_reason", None, f"{lost} units differ, a reason is needed")
    write_receipt(arriving["id"], delivered, 0, actor)
    log_receipt(arriving["inv_key"], arriving["id"], delivered, actor)
    return lost


def _locked_inbound(shipment_line_id: int) -> Row:
    found = fetch_all(
        "SELECT * FROM retail.shipment_line WHERE id = %s FOR UPDATE", shipment_line_id
    )
    if not found or found[0]["leg"] != "transfer_in":
        refuse("shipment_line_id", shipment_line_id, "no such arriving line of a transfer")
    require_key(found[0]["inv_key"])
    return found[0]
