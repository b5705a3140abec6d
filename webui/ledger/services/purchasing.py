"""Purchase-order lines: whatever one says is on order until it is received or cancelled."""

from datetime import date, datetime
from typing import Final

from webui.ledger.services import checks
from webui.ledger.services.errors import Conflict, refuse
from webui.ledger.services.transactions import (
    Row,
    database_now,
    execute,
    fetch_one,
    fetch_value,
    insert,
    ledger_transaction,
    log_action,
)

STATUSES: Final = ("draft", "sent", "confirmed", "closed")


def place_order_line(  # noqa: PLR0913 -- one keyword per column
    *,
    location: str,
    sku: str,
    supplier: str,
    ordered_units: int,
    order_ref: str,
    reorder_id: str | None = None,
    status: str = "sent",
    ordered_at: datetime | None = None,
    due_on: date | None = None,
    actor: str | None = None,
) -> int:
    """Write an order line; its id. With `reorder_id` it is the answer to that need, once only."""
    inv_key = checks.key(location, sku)
    values = {
        "inv_key": inv_key,
        "location": location,
        "sku": sku,
        "supplier": checks.text("supplier", supplier),
        "ordered_units": checks.whole("ordered_units", ordered_units),
        "order_ref": checks.text("order_ref", order_ref),
        "reorder_id": reorder_id,
        "status": checks.one_of("status", status, STATUSES),
        "due_on": due_on,
        "recorded_by": actor,
    }
    with ledger_transaction():
        values["ordered_at"] = ordered_at or database_now()
        line_id = insert("purchase_order_line", values)
        detail = {"line": line_id, "units": ordered_units, "order": order_ref}
        log_action(actor=actor, action="order", subject=inv_key, detail=detail)
    return line_id


def confirm_order_line(*, line_id: int, confirmed_units: int, actor: str | None = None) -> None:
    """Write what the supplier promises; from now on that is on order, not what was asked."""
    checks.whole("confirmed_units", confirmed_units)
    with ledger_transaction():
        line = locked_line(line_id)
        if line["status"] == "closed":
            message = f"order line {line_id} is closed"
            raise Conflict(message)
        execute(
            "UPDATE retail.purchase_order_line SET confirmed_units = %s, status = 'confirmed',"
            " recorded_by = %s WHERE id = %s",
            confirmed_units,
            actor,
            line_id,
        )
        log_action(
            actor=actor,
            action="confirm_order",
            subject=line["inv_key"],
            detail={"line": line_id, "units": confirmed_units},
        )


def cancel_order_units(*, line_id: int, actor: str | None = None) -> int:
    """Cancel what is still open on a line and close it; how many units that were."""
    with ledger_transaction():
        line = locked_line(line_id)
        open_units = open_order_units(line)
        execute(
            "UPDATE retail.purchase_order_line SET status = 'closed',"
            " cancelled_units = cancelled_units + %s, recorded_by = %s WHERE id = %s",
            open_units,
            actor,
            line_id,
        )
        log_action(
            actor=actor,
            action="cancel_order",
            subject=line["inv_key"],
            detail={"line": line_id, "units": open_units},
        )
    return open_units


def locked_line(line_id: int) -> Row:
    """An order line, locked until the transaction ends."""
    line = fetch_one("SELECT * FROM retail.purchase_order_line WHERE id = %s FOR UPDATE", line_id)
    if line is None:
        refuse("purchase_order_line_id", line_id, "no such order line")
    return line


def open_order_units(line: Row) -> int:
    """Units of a locked line that are neither cancelled nor received, never below 0."""
    received: int = fetch_value(
        "SELECT coalesce(sum(order_units), 0)::bigint FROM retail.shipment_line"
        " WHERE purchase_order_line_id = %s AND leg = 'supplier_in'",
        line["id"],
    )
    promised = line["confirmed_units"]
    total = line["ordered_units"] if promised is None else promised
    return max(0, int(total) - int(line["cancelled_units"]) - received)
