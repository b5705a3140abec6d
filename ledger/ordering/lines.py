"""Actions on purchase-order lines, whose units are on order until they are received or cancelled.

`ledger.ordering.status` has the actions that each status allows. Every action locks the line. A
caller may pass the version that a person saw. If another person has changed the line since, the
action raises a `Conflict` with the current values instead of overwriting them.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import date, datetime
from uuid import UUID

from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import run_command
from ledger.kernel.proposals import Answer, answer_need
from ledger.kernel.transactions import (
    database_now,
    execute,
    fetch_column,
    fetch_value,
    insert,
    ledger_transaction,
    log_action,
)
from ledger.messages import Message, joined
from ledger.ordering import status as orders_status
from ledger.ordering.commands import (
    ChangeOrderLine,
    ConfirmOrderLine,
    LineChanged,
    LineChanges,
    LineCommand,
    LineDeleted,
    PlaceOrderLine,
)
from ledger.ordering.order_line import OrderLine, locked_line
from ledger.ordering.plausibility import require_plausible_change
from ledger.ordering.supplier_terms import terms_of

Change = Callable[[OrderLine, int], LineChanges]


def place_order_line(command: PlaceOrderLine, *, actor: str | None = None) -> int:
    """Write an order line, and answer the need that it names; return the line's id.

    Raise `Conflict` if that need is closed, snoozed or decided.
    """
    inv_key = command.check()
    with ledger_transaction():
        if command.reorder_id is not None:
            answer = Answer(command.reorder_id, inv_key, command.ordered_units, actor)
            answer_need(answer, is_order=True)
        values = asdict(command) | {"inv_key": inv_key, "recorded_by": actor}
        values["ordered_at"] = command.ordered_at or database_now()
        line_id = insert("purchase_order_line", values)
        detail = {"line": line_id, "units": command.ordered_units, "order": command.order_ref}
        log_action(actor=actor, action="order", subject=inv_key, detail=detail)
    return line_id


def change_order_line(
    command: ChangeOrderLine, *, actor: str | None = None, command_id: UUID | None = None
) -> LineChanged:
    """Change the ordered units of a draft line; return its status and open units.

    Without `odd_units_allowed`, raise `ServiceError` for units that are no full packs. Without
    `is_confirmed`, raise `ImplausibleUnits` for units far beyond the line's present units.
    """
    units = checks.integer("ordered_units", command.ordered_units, 1)

    def change(line: OrderLine, _open: int) -> LineChanges:
        pack = line.pack_units or 1
        refuse_odd_units("ordered_units", units, pack, allowed=command.odd_units_allowed)
        if not command.is_confirmed:
            require_plausible_change(units, line.ordered_units)
        return LineChanges(ordered_units=units)

    shown = command.shown_version
    return apply(LineCommand(command.line_id, "change", actor, command_id, shown), change, units)


def confirm_order_line(
    command: ConfirmOrderLine, *, actor: str | None = None, command_id: UUID | None = None
) -> LineChanged:
    """Write the units that the supplier confirmed; return the line's status and open units.

    From then on, the confirmed units count as on-order in place of the ordered units. If the line
    then has no open units, it is closed.

    Raises:
        ServiceError: fewer units than received plus cancelled ones. Without `beyond_order_allowed`,
            more than the ordered units; without `closing_allowed`, 0 units.
        Conflict: the line has changed since it was shown, or its status forbids the action.
    """
    units = checks.integer("confirmed_units", command.confirmed_units)

    def change(line: OrderLine, _open: int) -> LineChanges:
        settled = line.cancelled_units + received_for_order(command.line_id)
        if units < settled:
            rule = Message(
                "at least %(settled)s, because %(settled)s are received or cancelled already",
                settled=settled,
            )
            refuse("confirmed_units", units, rule)
        if units > line.ordered_units and not command.beyond_order_allowed:
            rule = Message(
                "at most the %(ordered_units)s ordered; if the supplier sends more and you take "
                "them, tick the box",
                ordered_units=line.ordered_units,
            )
            refuse("confirmed_units", units, rule)
        if units == 0 and not command.closing_allowed:
            refuse(
                "confirmed_units",
                units,
                "0 closes the line: tick “The supplier sends nothing”, or type the units that will "
                "come",
            )
        return LineChanges(confirmed_units=units, due_on=_due_day(line, command.due_on))

    shown = command.shown_version
    return apply(LineCommand(command.line_id, "confirm", actor, command_id, shown), change, command)


def cancel_order_units(
    *,
    line_id: int,
    shown_version: str | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> int:
    """Cancel the open units of a line and close it; return the number of cancelled units."""

    def change(line: OrderLine, open_units: int) -> LineChanges:
        return LineChanges(cancelled_units=line.cancelled_units + open_units)

    done = apply(LineCommand(line_id, "cancel", actor, command_id, shown_version), change, line_id)
    return done.open_before - done.open_units


def restore_order_units(
    *,
    line_id: int,
    units: int,
    reopening_allowed: bool = False,
    shown_version: str | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> LineChanged:
    """Put cancelled units of a closed line on order again, which opens the line.

    Callers set `reopening_allowed` only for the purchasing lead.

    Raises:
        ServiceError: `units` exceeds the cancelled units, or `reopening_allowed` is False.
        Conflict: the line is not closed.
    """
    checks.integer("units", units, 1)
    if not reopening_allowed:
        refuse("actor", actor, "only the purchasing lead may open a closed line again")

    def change(line: OrderLine, _open: int) -> LineChanges:
        cancelled = line.cancelled_units
        if units > cancelled:
            refuse(
                "units",
                units,
                Message(
                    "at most %(cancelled)s, the number of cancelled units of this line",
                    cancelled=cancelled,
                ),
            )
        return LineChanges(cancelled_units=cancelled - units)

    return apply(LineCommand(line_id, "restore", actor, command_id, shown_version), change, units)


def move_due_date(
    *,
    line_id: int,
    due_on: date,
    shown_version: str | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> LineChanged:
    """Change the due day of a line. A due day has no effect on stock figures or decisions."""

    def change(line: OrderLine, _open: int) -> LineChanges:
        return LineChanges(due_on=_due_day(line, due_on))

    return apply(LineCommand(line_id, "re_date", actor, command_id, shown_version), change, due_on)


def _due_day(line: OrderLine, due_on: date | None) -> date | None:
    """Return `due_on` after a check against the line; None means no change of the due day.

    Raise `ServiceError` for a past due day of a draft. For any other line, raise it for a due day
    before the day of the order.
    """
    if due_on is None:
        return None
    if line.status == "draft":  # a draft is ordered on the day on which it is sent
        checks.not_past("due_on", due_on, database_now())
    elif due_on < line.ordered_at.date():
        refuse(
            "due_on",
            due_on,
            Message(
                "not before the day of the order, %(ordered_at)s",
                ordered_at=f"{line.ordered_at:%Y-%m-%d}",
            ),
        )
    return due_on


def delete_order_line(
    *,
    line_id: int,
    shown_version: str | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> LineDeleted:
    """Delete a draft line; return its id and ordered units.

    These units are then not on order, so the rules may open a need with a new reorder id.
    """
    command = LineCommand(line_id, "delete", actor, command_id, shown_version)

    def work() -> LineDeleted:
        line = allowed_line(command)
        execute("DELETE FROM retail.purchase_order_line WHERE id = %s", line_id)
        log_line(command, line, units=line.ordered_units)
        return LineDeleted(line_id, line.ordered_units)

    return run_command(
        command_id, f"delete_order {line_id}", actor, work, LineDeleted, content=line_id
    )


def apply(command: LineCommand, change: Change, content: object) -> LineChanged:
    """Lock a line and execute an action that changes it; return its status and open units.

    `change` gets the line and its open units and returns the columns to write. `content` has the
    values of the command as they were given.
    """

    def work() -> LineChanged:
        line = allowed_line(command)
        before = open_order_units(line)
        values = change(line, before).by_column()
        status, open_now = status_and_open_units(replace(line, **values))
        write_line(command.line_id, {**values, "status": status}, command.actor)
        log_line(command, line, **{name: str(value) for name, value in values.items()})
        return LineChanged(command.line_id, status, before, open_now)

    kind = f"{command.action}_order {command.line_id}"
    return run_command(command.command_id, kind, command.actor, work, LineChanged, content=content)


def allowed_line(command: LineCommand) -> OrderLine:
    """Return the line of a command, locked.

    Raise `Conflict` if the line has changed since the person saw it, or if its status forbids the
    action.
    """
    line = locked_line(command.line_id)
    if command.shown_version is not None and command.shown_version != line.version:
        message = Message(
            "order line %(line_id)s has changed since it was shown: %(line)s",
            line_id=command.line_id,
            line=describe(line),
        )
        raise Conflict(message)
    orders_status.after(line.status, command.action, line_id=command.line_id)
    return line


def describe(line: OrderLine) -> str:
    """Return a line's current values as text, for a person who saw other values."""
    left = Message(
        "last written by %(writer)s at %(write_time)s, now %(status)s",
        writer=line.writer,
        status=Message(line.status),
        write_time=line.write_time,
    )
    parts: list[str] = [
        left,
        Message("%(ordered_units)s ordered", ordered_units=line.ordered_units),
    ]
    if line.confirmed_units is not None:
        parts.append(Message("%(confirmed_units)s confirmed", confirmed_units=line.confirmed_units))
    if line.cancelled_units:
        parts.append(Message("%(cancelled_units)s cancelled", cancelled_units=line.cancelled_units))
    if line.due_on:
        parts.append(Message("due %(due_on)s", due_on=line.due_on))
    return joined([*parts, Message("%(units)s open", units=open_order_units(line))])


def write_line(line_id: int, values: Mapping[str, object], actor: str | None) -> None:
    """Write columns of a locked line, with `actor` as its author."""
    assignments = ", ".join(f"{name} = %s" for name in values)
    execute(
        f"UPDATE retail.purchase_order_line SET {assignments}, recorded_by = %s WHERE id = %s",  # noqa: S608 -- names are literals of the services
        *values.values(),
        actor,
        line_id,
    )


def status_and_open_units(line: OrderLine) -> tuple[str, int]:
    """Return the status that follows from the values of `line`, and the line's open units."""
    open_now = open_order_units(line)
    confirmed = line.confirmed_units is not None
    status = orders_status.status_after(line.status, open_units=open_now, is_confirmed=confirmed)
    return status, open_now


def follow_receipts(line_id: int, actor: str | None) -> None:
    """Lock a line, and update its status if its receipts require another one."""
    line = locked_line(line_id)
    status, _open = status_and_open_units(line)
    if status != line.status:
        write_line(line_id, {"status": status}, actor)


def log_line(command: LineCommand, line: OrderLine, **detail: object) -> None:
    """Append an action on a line to the audit log, with the line's key and order."""
    log_action(
        actor=command.actor,
        action=f"{command.action}_order",
        subject=line.inv_key,
        detail={"line": command.line_id, "order": line.order_ref, **detail},
        command_id=command.command_id,
    )


def received_for_order(line_id: int, *, without_shipment: int | None = None) -> int:
    """Return the units by which receipts have lowered the open units of a line.

    `without_shipment` leaves out the receipt with this id.
    """
    received: int = fetch_value(
        "SELECT coalesce(sum(order_units), 0)::bigint FROM retail.shipment_line"
        " WHERE purchase_order_line_id = %s AND leg = 'supplier_in'"
        " AND id IS DISTINCT FROM %s",
        line_id,
        without_shipment,
    )
    return received


def open_order_units(line: OrderLine, *, without_shipment: int | None = None) -> int:
    """Return the open units of a locked line: max(0, expected - cancelled - received).

    The expected units are the confirmed units or, if none are confirmed, the ordered units.
    `without_shipment` leaves out the receipt with this id.
    """
    promised = line.confirmed_units
    return orders_status.open_units(
        ordered=line.ordered_units,
        confirmed=promised,
        cancelled=line.cancelled_units,
        received_for_order=received_for_order(line.id, without_shipment=without_shipment),
    )


def refuse_odd_units(field: str, units: int, pack: int, *, allowed: bool) -> None:
    """Raise `ServiceError` for units that are not a multiple of `pack`, unless `allowed`."""
    if units % pack and not allowed:
        refuse(
            field,
            units,
            Message(
                "a multiple of the pack of %(pack)s, or ask the purchasing lead to order this "
                "number",
                pack=pack,
            ),
        )


def due_day_of(line: OrderLine, ordered_at: datetime) -> date | None:
    """Return the UTC day on which a line is due if it is ordered at `ordered_at`.

    The day follows from the lead time of the item's policy. If this lead time is 0 or the item has
    no policy, the supplier's lead time is used. If both are 0, return None.
    """
    terms = terms_of([line.supplier])[line.supplier]
    return orders_status.due_day(
        ordered_at,
        lead_time_centidays=_lead_time(line.inv_key) or terms.lead_time_centidays,
        order_days_mask=terms.order_days_mask,
    )


def _lead_time(inv_key: str) -> int | None:
    found: list[int] = fetch_column(
        "SELECT lead_time_centidays FROM retail.item_location WHERE inv_key = %s", inv_key
    )
    return found[0] if found else None
