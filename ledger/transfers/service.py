"""Transfers between locations: two rows under two keys, always written together.

The leaving row ends as shipped, the arriving row as received (`ledger.transfers.receipts`).
"""

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from ledger.access.scope import require_either, require_key, require_store
from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.proposals import Answer, answer_need
from ledger.kernel.refusal_text import moment_text, person
from ledger.kernel.transactions import (
    Row,
    business_time_or_now,
    database_now,
    execute,
    ledger_transaction,
    log_action,
    run_idempotent,
)
from ledger.transfers.pair import Transfer, locked_pair, write_pair
from ledger.transfers.route import BEYOND_STOCK, Route, refuse_beyond_stock, refuse_unranged


def plan_transfer(
    *,
    route: Route,
    transfer_ref: str | None = None,
    reorder_id: str | None = None,
    shown_revision: int | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Transfer:
    """Request units from another location: planned on both rows, on order at the destination.

    Raise `ServiceError` unless both ends range the item, the due day is not over, and the source
    has enough unpromised units on hand. With `reorder_id` it answers that need, once only and as
    shown.
    """
    keys = route.keys()
    require_either(route.source, route.destination)

    def work() -> Row:
        moved: Row = {"status": "planned", "planned_units": route.units, "recorded_by": actor}
        if reorder_id is not None:
            answer_need(Answer(reorder_id, keys[1], route.units, actor, shown_revision))
        refuse_unranged(route)
        checks.not_past("due_on", route.due_on, database_now())
        refuse_beyond_stock(keys[0], route.units)
        transfer = write_pair(route, keys, moved, transfer_ref, reorder_id)
        _log("plan_transfer", keys[0], transfer, route, actor)
        return transfer.as_row()

    with ledger_transaction():
        return Transfer(
            **run_idempotent(command_id, f"plan_transfer {keys[0]} {keys[1]}", actor, work)
        )


@dataclass(frozen=True, slots=True)
class ShipTransfer:
    """Units that leave without a plan; `shipped_at` None means now.

    `beyond_stock_allowed` accepts more units than on hand, because the goods have left.
    """

    route: Route
    shipped_at: datetime | None = None
    transfer_ref: str | None = None
    reorder_id: str | None = None
    beyond_stock_allowed: bool = False


def ship_transfer(
    command: ShipTransfer, *, actor: str | None = None, command_id: UUID | None = None
) -> Transfer:
    """Ship units without a plan: both rows are shipped at once.

    Refused like a plan, except for units beyond stock if the command allows them. The due day
    can't be before the shipping day.
    """
    route, reorder_id = command.route, command.reorder_id
    keys = route.keys()
    require_store(route.source, field="source")

    def work() -> Row:
        moved = _leaving(route.units, business_time_or_now("shipped_at", command.shipped_at), actor)
        if reorder_id is not None:
            answer_need(Answer(reorder_id, keys[1], route.units, actor))
        refuse_unranged(route)
        checks.not_past("due_on", route.due_on, moved["shipped_at"])
        if not command.beyond_stock_allowed:
            refuse_beyond_stock(keys[0], route.units, or_else=BEYOND_STOCK)
        transfer = write_pair(route, keys, moved, command.transfer_ref, reorder_id)
        _log("ship_transfer", keys[0], transfer, route, actor)
        return transfer.as_row()

    with ledger_transaction():
        return Transfer(
            **run_idempotent(command_id, f"ship_transfer {keys[0]} {keys[1]}", actor, work)
        )


def _leaving(units: int, leaves_at: datetime, actor: str | None) -> Row:
    """Return the common columns of both rows for units that leave without a plan."""
    return {
        "status": "shipped",
        "planned_units": units,
        "shipped_units": units,
        "shipped_at": leaves_at,
        "recorded_by": actor,
    }


def ship_planned_transfer(
    *,
    shipment_line_id: int,
    units: int,
    shipped_at: datetime | None = None,
    beyond_stock_allowed: bool = False,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> None:
    """Ship a planned transfer with the units that really left; either row identifies it.

    More units than the source has on hand and unpromised need `beyond_stock_allowed`.
    """
    checks.integer("units", units, 1)

    def work() -> Row:
        leaving, arriving = locked_pair(shipment_line_id)
        require_key(leaving["inv_key"])
        _must_be_planned(leaving, arriving)
        if not beyond_stock_allowed:
            refuse_beyond_stock(
                leaving["inv_key"], units, besides=leaving["id"], or_else=BEYOND_STOCK
            )
        execute(
            "UPDATE retail.shipment_line SET status = 'shipped', shipped_units = %s,"
            " shipped_at = %s, recorded_by = %s WHERE id = ANY(%s)",
            units,
            business_time_or_now("shipped_at", shipped_at),
            actor,
            [leaving["id"], arriving["id"]],
        )
        detail = {"transfer": leaving["transfer_ref"], "units": units, "to": arriving["location"]}
        detail |= {"planned": leaving["planned_units"]}
        log_action(actor=actor, action="ship_transfer", subject=leaving["inv_key"], detail=detail)
        return {}

    with ledger_transaction():
        run_idempotent(command_id, f"ship_planned_transfer {shipment_line_id}", actor, work)


def cancel_transfer(
    *, shipment_line_id: int, others_allowed: bool = True, actor: str | None = None
) -> None:
    """Cancel a planned transfer: delete both rows, so its units are no longer on order.

    Unless `others_allowed`, only the person who planned it may.
    """
    with ledger_transaction():
        leaving, arriving = locked_pair(shipment_line_id)
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


def move_transfer_due_date(
    *,
    shipment_line_id: int,
    due_on: date,
    shown_version: str | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> None:
    """Change the due day of a transfer in transit; quantities and decisions stay.

    Either row identifies it and both get the day, which is not before the shipping day. A planned
    transfer is refused: it has no due arrival yet, and its rows must name the person who may cancel
    it.
    """

    def work() -> Row:
        leaving, arriving = locked_pair(shipment_line_id)
        _must_be_on_its_way(arriving, shown_version)
        left_on = checks.day_of(arriving["shipped_at"])
        if due_on < left_on:
            refuse("due_on", due_on, f"not before the day on which it left, {left_on}")
        execute(
            "UPDATE retail.shipment_line SET due_on = %s, recorded_by = %s WHERE id = ANY(%s)",
            due_on,
            actor,
            [leaving["id"], arriving["id"]],
        )
        detail = {"transfer": leaving["transfer_ref"], "to": arriving["location"]}
        detail |= {"due_on": [arriving["due_on"], due_on]}
        log_action(
            actor=actor, action="re_date_transfer", subject=leaving["inv_key"], detail=detail
        )
        return {}

    with ledger_transaction():
        run_idempotent(command_id, f"re_date_transfer {shipment_line_id}", actor, work)


def _must_be_on_its_way(arriving: Row, shown_version: str | None) -> None:
    said = f"{arriving['transfer_ref']} has changed since it was shown"
    if arriving["status"] != "shipped":
        said = f"{arriving['transfer_ref']} is not on its way"
    elif shown_version is None or shown_version == arriving["recorded_at"].isoformat():
        return
    who, at = person(arriving["recorded_by"]), moment_text(arriving["recorded_at"])
    due = f", due {arriving['due_on']}" if arriving["due_on"] else ""
    message = f"{said}: {who} left it {arriving['status']} at {at}{due}"
    raise Conflict(message)


def _log(action: str, subject: str, transfer: Transfer, route: Route, actor: str | None) -> None:
    detail = {"transfer": transfer.transfer_ref, "units": route.units, "to": route.destination}
    log_action(actor=actor, action=action, subject=subject, detail=detail)


def _must_be_planned(leaving: Row, arriving: Row) -> None:
    for row in (arriving, leaving):
        if row["status"] != "planned":
            message = (
                f"transfer {row['transfer_ref']} is {row['status']} already, {row['shipped_units']}"
                f" units by {person(row['recorded_by'])}, {moment_text(row['recorded_at'])}"
            )
            raise Conflict(message)
