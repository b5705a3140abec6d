"""Transfers between locations: two rows under two keys, always written together.

The row that leaves ends as shipped, the row that arrives as received; what got lost on the way
belongs to no location and needs a reason. Both rows are locked in the order of their ids, so that
two people at one transfer wait for each other and never for ever.
"""

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID, uuid4

from webui.ledger.services import checks
from webui.ledger.services.arrivals import Delivered, log_receipt, write_receipt
from webui.ledger.services.errors import Conflict, refuse
from webui.ledger.services.proposals import Answer, answer_need
from webui.ledger.services.transactions import (
    Row,
    database_now,
    execute,
    fetch_all,
    fetch_value,
    happened_or_now,
    insert,
    ledger_transaction,
    log_action,
    once,
)
from webui.ledger.services.transfers_route import (
    BEYOND_STOCK,
    Route,
    lock_source,
    refuse_beyond_stock,
    refuse_unranged,
)


@dataclass(frozen=True, slots=True)
class Transfer:
    """The two rows of one transfer and the reference that joins them."""

    transfer_ref: str
    out_id: int
    in_id: int


def plan_transfer(
    *,
    route: Route,
    transfer_ref: str | None = None,
    reorder_id: str | None = None,
    shown_revision: int | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Transfer:
    """Ask for units from another location: planned on both rows, on order at the destination.

    Both ends have the item, the day it is due is not over, and the source has the units on hand
    and has promised them to nobody: else `ServiceError`. With `reorder_id` it answers that need,
    once only and as it was shown.
    """
    keys = route.keys()

    def work() -> Row:
        moved: Row = {"status": "planned", "planned_units": route.units, "recorded_by": actor}
        if reorder_id is not None:
            answer_need(Answer(reorder_id, keys[1], route.units, actor, shown_revision))
        refuse_unranged(route)
        checks.not_past("due_on", route.due_on, database_now())
        lock_source(keys[0])
        refuse_beyond_stock(keys[0], route.units)
        transfer = _write_pair(route, keys, moved, transfer_ref, reorder_id)
        _log("plan_transfer", keys[0], transfer, route, actor)
        return _as_row(transfer)

    with ledger_transaction():
        return Transfer(**once(command_id, f"plan_transfer {keys[0]} {keys[1]}", actor, work))


def ship_transfer(  # noqa: PLR0913 -- one keyword per column
    *,
    source: str,
    destination: str,
    sku: str,
    units: int,
    shipped_at: datetime | None = None,
    transfer_ref: str | None = None,
    reorder_id: str | None = None,
    due_on: date | None = None,
    beyond_stock_allowed: bool = False,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Transfer:
    """Send units that nobody planned: shipped on both rows at once.

    Refused as a plan is, except that `beyond_stock_allowed` sends more than the book has: what
    has left has left. Due is not before the day on which the goods leave.
    """
    route = Route(source, destination, sku, units, due_on)
    keys = route.keys()

    def work() -> Row:
        leaves_at = happened_or_now("shipped_at", shipped_at)
        moved: Row = {
            "status": "shipped",
            "planned_units": units,
            "shipped_units": units,
            "shipped_at": leaves_at,
            "recorded_by": actor,
        }
        if reorder_id is not None:
            answer_need(Answer(reorder_id, keys[1], route.units, actor))
        refuse_unranged(route)
        checks.not_past("due_on", due_on, leaves_at)
        if not beyond_stock_allowed:
            refuse_beyond_stock(keys[0], units, or_else=BEYOND_STOCK)
        transfer = _write_pair(route, keys, moved, transfer_ref, reorder_id)
        _log("ship_transfer", keys[0], transfer, route, actor)
        return _as_row(transfer)

    with ledger_transaction():
        return Transfer(**once(command_id, f"ship_transfer {keys[0]} {keys[1]}", actor, work))


def ship_planned_transfer(
    *,
    shipment_line_id: int,
    units: int,
    shipped_at: datetime | None = None,
    beyond_stock_allowed: bool = False,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> None:
    """Send a planned transfer, with as many units as there were; either row names it.

    More than the source has on hand and has not promised elsewhere: only if
    `beyond_stock_allowed` says that they have left all the same.
    """
    checks.whole("units", units, 1)

    def work() -> Row:
        leaving, arriving = _locked_pair(shipment_line_id)
        _must_be_planned(leaving, arriving)
        if not beyond_stock_allowed:
            refuse_beyond_stock(
                leaving["inv_key"], units, besides=leaving["id"], or_else=BEYOND_STOCK
            )
        execute(
            "UPDATE retail.shipment_line SET status = 'shipped', shipped_units = %s,"
            " shipped_at = %s, recorded_by = %s WHERE id = ANY(%s)",
            units,
            happened_or_now("shipped_at", shipped_at),
            actor,
            [leaving["id"], arriving["id"]],
        )
        detail = {"transfer": leaving["transfer_ref"], "units": units, "to": arriving["location"]}
        detail |= {"planned": leaving["planned_units"]}
        log_action(actor=actor, action="ship_transfer", subject=leaving["inv_key"], detail=detail)
        return {}

    with ledger_transaction():
        once(command_id, f"ship_planned_transfer {shipment_line_id}", actor, work)


def cancel_transfer(
    *, shipment_line_id: int, others_allowed: bool = True, actor: str | None = None
) -> None:
    """Take a planned transfer back: both rows go, and with them what they had on order.

    Unless `others_allowed`, only the person who planned it may.
    """
    with ledger_transaction():
        leaving, arriving = _locked_pair(shipment_line_id)
        _must_be_planned(leaving, arriving)
        planner = arriving["recorded_by"]
        if not others_allowed and planner != actor:
            rule = f"{planner or 'the system'} asked for it; store staff at either end may cancel"
            refuse("actor", actor, rule)
        execute(
            "DELETE FROM retail.shipment_line WHERE id = ANY(%s)", [leaving["id"], arriving["id"]]
        )
        detail = {"transfer": leaving["transfer_ref"], "units": leaving["planned_units"]}
        detail |= {"to": arriving["location"], "reorder": arriving["reorder_id"]}
        log_action(actor=actor, action="cancel_transfer", subject=leaving["inv_key"], detail=detail)


def receive_transfer(
    *,
    shipment_line_id: int,
    delivered: Delivered,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> int:
    """Receive the inbound row of a transfer; units that were lost or found need a reason.

    Returns the units lost on the way, negative when more arrived than was sent.
    """
    delivered.check()

    def work() -> Row:
        arriving = _locked_inbound(shipment_line_id)
        if arriving["status"] == "received":
            message = (
                f"transfer line {shipment_line_id} is received already:"
                f" {arriving['received_units']} and {arriving['damaged_units']} damaged,"
                f" by {arriving['recorded_by'] or 'the system'}"
            )
            raise Conflict(message)
        if arriving["status"] == "planned":
            message = f"transfer line {shipment_line_id} has not been shipped yet"
            raise Conflict(message)
        return {"lost": _receive(arriving, delivered, actor)}

    with ledger_transaction():
        return int(once(command_id, f"receive_transfer {shipment_line_id}", actor, work)["lost"])


def correct_transfer_receipt(
    *, shipment_line_id: int, delivered: Delivered, actor: str, command_id: UUID | None = None
) -> int:
    """Change one's own receipt of the last 48 h; the units lost on the way as they now are.

    An update takes the old receipt back and books the new one in a single change.
    """
    delivered.check()

    def work() -> Row:
        arriving = _locked_inbound(shipment_line_id)
        if arriving["status"] != "received":
            message = f"transfer line {shipment_line_id} is {arriving['status']}, not received"
            raise Conflict(message)
        if arriving["recorded_by"] != actor:
            refuse("actor", actor, f"{arriving['recorded_by']} received it; adjust stock instead")
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
        return int(once(command_id, f"correct_transfer {shipment_line_id}", actor, work)["lost"])


def _receive(arriving: Row, delivered: Delivered, actor: str | None) -> int:
    lost = int(arriving["shipped_units"]) - delivered.received_units - delivered.damaged_units
    if lost and not (delivered.discrepancy_reason or "").strip():
        refuse("discrepancy_reason", None, f"{lost} units differ, a reason is needed")
    write_receipt(arriving["id"], delivered, 0, actor)
    log_receipt(arriving["inv_key"], arriving["id"], delivered, actor)
    return lost


def _write_pair(
    route: Route,
    keys: tuple[str, str],
    moved: Row,
    transfer_ref: str | None,
    reorder_id: str | None,
) -> Transfer:
    reference = transfer_ref or f"T-{uuid4().hex[:12]}"
    shared = moved | {"sku": route.sku, "transfer_ref": reference, "due_on": route.due_on}
    leaving = {"inv_key": keys[0], "location": route.source, "leg": "transfer_out"}
    arriving = {"inv_key": keys[1], "location": route.destination, "leg": "transfer_in"}
    out_id = insert("shipment_line", shared | leaving)
    in_id = insert("shipment_line", shared | arriving | {"reorder_id": reorder_id})
    return Transfer(reference, out_id, in_id)


def _as_row(transfer: Transfer) -> Row:
    return {
        "transfer_ref": transfer.transfer_ref,
        "out_id": transfer.out_id,
        "in_id": transfer.in_id,
    }


def _log(action: str, subject: str, transfer: Transfer, route: Route, actor: str | None) -> None:
    detail = {"transfer": transfer.transfer_ref, "units": route.units, "to": route.destination}
    log_action(actor=actor, action=action, subject=subject, detail=detail)


def _locked_inbound(shipment_line_id: int) -> Row:
    found = fetch_all(
        "SELECT * FROM retail.shipment_line WHERE id = %s FOR UPDATE", shipment_line_id
    )
    if not found or found[0]["leg"] != "transfer_in":
        refuse("shipment_line_id", shipment_line_id, "no such transfer_in line")
    return found[0]


def _locked_pair(shipment_line_id: int) -> tuple[Row, Row]:
    """The leaving and the arriving row of the transfer that has this row, both locked."""
    reference: str | None = fetch_value(
        "SELECT max(transfer_ref) FROM retail.shipment_line"
        " WHERE id = %s AND leg IN ('transfer_out', 'transfer_in')",
        shipment_line_id,
    )
    gone = f"transfer line {shipment_line_id} is gone: it was cancelled, or never planned"
    if reference is None:
        raise Conflict(gone)
    rows = fetch_all(
        "SELECT * FROM retail.shipment_line WHERE transfer_ref = %s"
        " AND leg IN ('transfer_out', 'transfer_in')"
        " AND sku = (SELECT sku FROM retail.shipment_line WHERE id = %s) ORDER BY id FOR UPDATE",
        reference,
        shipment_line_id,
    )
    if not rows:  # cancelled while its lock was waited for
        raise Conflict(gone)
    legs = {row["leg"]: row for row in rows}
    if len(rows) != len(legs) or len(legs) != 2:  # noqa: PLR2004 -- one row leaves, one arrives
        message = f"transfer {reference} has {len(rows)} rows of this item, not the two of a pair"
        raise Conflict(message)
    return legs["transfer_out"], legs["transfer_in"]


def _must_be_planned(leaving: Row, arriving: Row) -> None:
    for row in (arriving, leaving):
        if row["status"] != "planned":
            message = (
                f"transfer {row['transfer_ref']} is {row['status']} already,"
                f" {row['shipped_units']} units by {row['recorded_by'] or 'the system'}"
            )
            raise Conflict(message)
