"""Commands of an order's page, with the messages that confirm them."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Final, TypedDict
from uuid import UUID

from ledger.services import (
    ConfirmOrderLine,
    ServiceError,
    cancel_order_units,
    change_order_line,
    confirm_order_line,
    delete_order_line,
    move_due_date,
    restore_order_units,
    send_order,
    ship_order_line,
)
from webui.accounts.roles import ORDER_ODD_UNITS, REOPEN_ORDERS
from webui.readmodel.figures import counted_text
from webui.shell.commands import (
    Form,
    command_id_of,
    parse_date,
    parse_id,
    parse_int,
    parse_required_date,
)


class LineArguments(TypedDict):
    """The line of a command, its version on the page, and the person."""

    line_id: int
    shown_version: str
    actor: str
    command_id: UUID


Command = Callable[[Form, LineArguments, Collection[str]], str]


def _change(form: Form, line: LineArguments, may: Collection[str]) -> str:
    units = parse_int(form, "units", low=1)
    change_order_line(**line, ordered_units=units, odd_units_allowed=ORDER_ODD_UNITS in may)
    return f"The line now asks for {counted_text(units, 'unit')}."


def _delete(_form: Form, line: LineArguments, _may: Collection[str]) -> str:
    done = delete_order_line(**line)
    units = counted_text(done.units, "unit")
    return f"The line of {units} is deleted; the need is weighed again."


def _confirm(form: Form, line: LineArguments, _may: Collection[str]) -> str:
    units = parse_int(form, "units")
    confirm_order_line(
        ConfirmOrderLine(
            line["line_id"],
            units,
            parse_date(form, "due_on"),
            beyond_order_allowed=bool(form.get("beyond_order")),
            shown_version=line["shown_version"],
        ),
        actor=line["actor"],
        command_id=line["command_id"],
    )
    return f"Confirmed {counted_text(units, 'unit')}."


def _cancel(_form: Form, line: LineArguments, _may: Collection[str]) -> str:
    cancelled = counted_text(cancel_order_units(**line), "unit")
    return f"Cancelled {cancelled}; the line is closed."


def _re_date(form: Form, line: LineArguments, _may: Collection[str]) -> str:
    due_on = parse_required_date(form, "due_on")
    move_due_date(**line, due_on=due_on)
    return f"Due on {due_on}."


def _restore(form: Form, line: LineArguments, may: Collection[str]) -> str:
    units = parse_int(form, "units", low=1)
    restore_order_units(**line, units=units, reopening_allowed=REOPEN_ORDERS in may)
    return f"{counted_text(units, 'unit')} on order again."


def _ship(form: Form, line: LineArguments, _may: Collection[str]) -> str:
    units = parse_int(form, "units", low=1)
    # A new shipment changes no column of the line, so there is no version to compare.
    ship_order_line(
        line_id=line["line_id"],
        shipped_units=units,
        actor=line["actor"],
        command_id=line["command_id"],
    )
    return f"{counted_text(units, 'unit')} on the way."


COMMANDS: Final[Mapping[str, Command]] = MappingProxyType(
    {
        "change": _change,
        "delete": _delete,
        "confirm": _confirm,
        "cancel": _cancel,
        "re_date": _re_date,
        "restore": _restore,
        "ship": _ship,
    }
)


def act_on(ref: str, form: Form, actor: str, may: Collection[str]) -> str:
    """Execute the form's command on the order `ref` or one of its lines; return the message."""
    action = form.get("action", "")
    if action == "send":
        done = send_order(
            order_ref=ref,
            below_minimum_allowed=bool(form.get("below_minimum")),
            shown_version=form.get("shown_version", ""),
            actor=actor,
            command_id=command_id_of(form),
        )
        lines, units = counted_text(done.lines, "line"), counted_text(done.units, "unit")
        return f"Sent {ref}: {lines}, {units}."
    command = COMMANDS.get(action)
    if command is None:
        field, rule = "action", f"one of send, {', '.join(COMMANDS)}"
        raise ServiceError(field, action, rule)
    line: LineArguments = {
        "line_id": parse_id(form, "line"),
        "shown_version": form.get("shown_version", ""),
        "actor": actor,
        "command_id": command_id_of(form),
    }
    return command(form, line, may)
