"""Services that plan, ship and cancel transfers between locations, and change their due days.

A transfer is two rows of `retail.shipment_line`, one with the key of the source and one with the
key of the destination. Both rows are always written in one transaction. The source's row ends with
status shipped, the destination's with received (`ledger.transfers.receipts`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from ledger.access.scope import require_either, require_key, require_store
from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import Done, run_command
from ledger.kernel.proposals import Answer, answer_need
from ledger.kernel.refusal_text import person
from ledger.kernel.transactions import (
    business_time_or_now,
    database_now,
    execute,
    log_action,
)
from ledger.messages import Message, joined
from ledger.nouns import counted
from ledger.receiving.shipment_line import ShipmentLine
from ledger.transfers.pair import LockedTransfer, Transfer, locked_transfer, write_pair
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
    """Plan a transfer; return its reference and the ids of its two rows.

    The units are then on order at the destination. With `reorder_id`, the transfer answers the need
    (proposed reorder) with this id.

    Raises:
        ServiceError: the item isn't ranged at a location, the due day is past, or the source has
            too few units on hand that are not promised.
        Conflict: the need is closed, snoozed or decided, or has another revision than
            `shown_revision`.
    """
    keys = route.keys()
    require_either(route.source, route.destination)

    def work() -> Transfer:
        moved = {"status": "planned", "planned_units": route.units, "recorded_by": actor}
        if reorder_id is not None:
            answer_need(Answer(reorder_id, keys[1], route.units, actor, shown_revision))
        refuse_unranged(route)
        checks.not_past("due_on", route.due_on, database_now())
        refuse_beyond_stock(keys[0], route.units)
        transfer = write_pair(route, keys, moved, transfer_ref, reorder_id)
        _log("plan_transfer", keys[0], transfer, route, actor)
        return transfer

    return run_command(
        command_id,
        f"plan_transfer {keys[0]} {keys[1]}",
        actor,
        work,
        Transfer,
        content=(route, transfer_ref, reorder_id),
    )


@dataclass(frozen=True, slots=True)
class ShipTransfer:
    """A transfer that was not planned and has left; `shipped_at` None means now.

    With `beyond_stock_allowed`, the units may exceed the source's available to sell.
    """

    route: Route
    shipped_at: datetime | None = None
    transfer_ref: str | None = None
    reorder_id: str | None = None
    beyond_stock_allowed: bool = False


def ship_transfer(
    command: ShipTransfer, *, actor: str | None = None, command_id: UUID | None = None
) -> Transfer:
    """Write a transfer that was not planned, with both rows in status shipped.

    Return the transfer's reference and the ids of its two rows. The checks are those of
    `plan_transfer`, with these differences:
    * The person must work for the source; working for the destination is not enough.
    * The revision of the need is not compared.
    * The due day may be past, but not before the shipping day.
    * With `beyond_stock_allowed`, the units may exceed the source's available to sell.
    """
    route, reorder_id = command.route, command.reorder_id
    keys = route.keys()
    require_store(route.source, field="source")

    def work() -> Transfer:
        leaves_at = business_time_or_now("shipped_at", command.shipped_at)
        if reorder_id is not None:
            answer_need(Answer(reorder_id, keys[1], route.units, actor))
        refuse_unranged(route)
        checks.not_past("due_on", route.due_on, leaves_at)
        if not command.beyond_stock_allowed:
            refuse_beyond_stock(keys[0], route.units, or_else=BEYOND_STOCK)
        moved = _leaving(route.units, leaves_at, actor)
        transfer = write_pair(route, keys, moved, command.transfer_ref, reorder_id)
        _log("ship_transfer", keys[0], transfer, route, actor)
        return transfer

    return run_command(
        command_id, f"ship_transfer {keys[0]} {keys[1]}", actor, work, Transfer, content=command
    )


def _leaving(units: int, leaves_at: datetime, actor: str | None) -> Mapping[str, object]:
    """Return the columns that both rows of an unplanned transfer share, with their values."""
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
    """Ship a planned transfer, with the units that have really left.

    `shipment_line_id` is the row of the source or of the destination.

    Raise `ServiceError` for more units than the source has available to sell, unless
    `beyond_stock_allowed` is True. Raise `Conflict` if the transfer is not planned any more.
    """
    checks.integer("units", units, 1)

    def work() -> Done:
        transfer = locked_transfer(shipment_line_id)
        leaving = transfer.leaving
        require_key(leaving.inv_key)
        _must_be_planned(transfer)
        if not beyond_stock_allowed:
            refuse_beyond_stock(leaving.inv_key, units, besides=leaving.id, or_else=BEYOND_STOCK)
        execute(
            "UPDATE retail.shipment_line SET status = 'shipped', shipped_units = %s,"
            " shipped_at = %s, recorded_by = %s WHERE id = ANY(%s)",
            units,
            business_time_or_now("shipped_at", shipped_at),
            actor,
            transfer.ids,
        )
        _log_change("ship_transfer", transfer, actor, units=units, planned=leaving.planned_units)
        return Done()

    kind = f"ship_planned_transfer {shipment_line_id}"
    given = (units, shipped_at, beyond_stock_allowed)
    run_command(command_id, kind, actor, work, Done, content=given)


def cancel_transfer(
    *,
    shipment_line_id: int,
    others_allowed: bool = True,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> None:
    """Cancel a planned transfer: delete both rows, so that its units are not on order any more.

    Unless `others_allowed`, raise `ServiceError` if another person planned the transfer. Raise
    `Conflict` if the transfer was shipped or cancelled already.
    """

    def work() -> Done:
        transfer = locked_transfer(shipment_line_id)
        _must_be_planned(transfer)
        planner = transfer.arriving.recorded_by
        if not others_allowed and planner != actor:
            rule = Message(
                "%(planner)s asked for this transfer: ask them or store staff to cancel it",
                planner=person(planner),
            )
            refuse("actor", actor, rule)
        execute("DELETE FROM retail.shipment_line WHERE id = ANY(%s)", transfer.ids)
        _log_change(
            "cancel_transfer",
            transfer,
            actor,
            units=transfer.leaving.planned_units,
            reorder=transfer.arriving.reorder_id,
        )
        return Done()

    kind = f"cancel_transfer {shipment_line_id}"
    run_command(command_id, kind, actor, work, Done, content=shipment_line_id)


def move_transfer_due_date(
    *,
    shipment_line_id: int,
    due_on: date,
    shown_version: str | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> None:
    """Change the due day of a transfer in transit, on both rows.

    `shipment_line_id` is the row of the source or of the destination. The day has no effect on
    stock figures or decisions. Raise `ServiceError` for a day before the shipping day.

    Raise `Conflict` if the transfer isn't in transit or has changed since `shown_version`. A
    planned transfer is refused, because the change would replace `recorded_by`. By this column,
    `cancel_transfer` recognises the planner.
    """

    def work() -> Done:
        transfer = locked_transfer(shipment_line_id)
        _must_be_on_its_way(transfer.arriving, shown_version)
        left_on = checks.day_of(transfer.arriving.left_at)
        if due_on < left_on:
            refuse(
                "due_on",
                due_on,
                Message(
                    "not before %(left_on)s, the day on which the units were shipped",
                    left_on=left_on,
                ),
            )
        # `recorded_by` changes only in the destination's row. In the source's row it names the
        # person who shipped the units.
        execute(
            "UPDATE retail.shipment_line SET due_on = %s,"
            " recorded_by = CASE leg WHEN 'transfer_in' THEN %s ELSE recorded_by END"
            " WHERE id = ANY(%s)",
            due_on,
            actor,
            transfer.ids,
        )
        _log_change("re_date_transfer", transfer, actor, due_on=[transfer.arriving.due_on, due_on])
        return Done()

    run_command(
        command_id, f"re_date_transfer {shipment_line_id}", actor, work, Done, content=due_on
    )


def _must_be_on_its_way(arriving: ShipmentLine, shown_version: str | None) -> None:
    problem = Message(
        "%(transfer_ref)s has changed since it was shown", transfer_ref=arriving.transfer_ref
    )
    if arriving.status != "shipped":
        problem = Message("%(transfer_ref)s is not on its way", transfer_ref=arriving.transfer_ref)
    elif shown_version in (None, arriving.version):
        return
    last_write = Message(
        "last written by %(writer)s at %(write_time)s, now %(status)s",
        writer=arriving.writer,
        status=Message(arriving.status),
        write_time=arriving.write_time,
    )
    due = [Message("due %(due_on)s", due_on=arriving.due_on)] if arriving.due_on else []
    raise Conflict(joined([problem, joined([last_write, *due])], ": "))


def _log(action: str, subject: str, transfer: Transfer, route: Route, actor: str | None) -> None:
    detail = {"transfer": transfer.transfer_ref, "units": route.units, "to": route.destination}
    log_action(actor=actor, action=action, subject=subject, detail=detail)


def _log_change(action: str, transfer: LockedTransfer, actor: str | None, **detail: object) -> None:
    """Append a change of a locked transfer to the audit log, with the key of the source."""
    ends = {"transfer": transfer.leaving.transfer_ref, "to": transfer.arriving.location}
    subject = transfer.leaving.inv_key
    log_action(actor=actor, action=action, subject=subject, detail={**ends, **detail})


def _must_be_planned(transfer: LockedTransfer) -> None:
    for row in (transfer.leaving, transfer.arriving):
        if row.status != "planned":
            message = Message(
                "transfer %(transfer_ref)s is %(status)s already: %(shipped)s, recorded by "
                "%(writer)s, %(write_time)s",
                transfer_ref=row.transfer_ref,
                status=Message(row.status),
                shipped=counted(row.shipped_units, "unit"),
                writer=row.writer,
                write_time=row.write_time,
            )
            raise Conflict(message)
