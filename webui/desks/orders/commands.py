"""Commands of an order's page, with the messages that confirm them."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Final, TypedDict
from uuid import UUID

from django.utils.translation import gettext

from ledger.messages import Message
from ledger.services import (
    ChangeOrderLine,
    ConfirmOrderLine,
    DraftOrder,
    ServiceError,
    cancel_order_units,
    change_order_line,
    confirm_order_line,
    delete_order_line,
    move_due_date,
    restore_order_units,
    send_one_order,
    ship_order_line,
)
from webui.accounts.roles import ORDER_ODD_UNITS, REOPEN_ORDERS
from webui.desks.orders.forms import (
    ActionForm,
    ConfirmForm,
    LineForm,
    QuantityForm,
    SendForm,
    UnitsForm,
)
from webui.readmodel.figures import counted_text
from webui.shell.forms import DueForm


class LineArguments(TypedDict):
    """Arguments of a command on a line: the line, its version on the page, and the person."""

    line_id: int
    shown_version: str
    actor: str
    command_id: UUID


Command = Callable[[ActionForm, LineArguments, Collection[str]], str]


def _change(form: ActionForm, line: LineArguments, may: Collection[str]) -> str:
    quantity = QuantityForm(form.data)
    units = quantity.cleaned()["units"]
    change_order_line(
        ChangeOrderLine(
            line["line_id"],
            units,
            odd_units_allowed=ORDER_ODD_UNITS in may,
            is_confirmed=quantity.is_confirmed,
            shown_version=line["shown_version"],
        ),
        actor=line["actor"],
        command_id=line["command_id"],
    )
    return gettext("The line now asks for %(units)s.") % {"units": counted_text(units, "unit")}


def _delete(_form: ActionForm, line: LineArguments, _may: Collection[str]) -> str:
    done = delete_order_line(**line)
    units = counted_text(done.units, "unit")
    return gettext("The line of %(units)s is deleted; the rules check the need again.") % {
        "units": units
    }


def _confirm(form: ActionForm, line: LineArguments, _may: Collection[str]) -> str:
    values = ConfirmForm(form.data).cleaned()
    done = confirm_order_line(
        ConfirmOrderLine(
            line["line_id"],
            values["units"],
            values["due_on"],
            beyond_order_allowed=values["beyond_order"],
            closing_allowed=values["closing"],
            shown_version=line["shown_version"],
        ),
        actor=line["actor"],
        command_id=line["command_id"],
    )
    units = counted_text(values["units"], "unit")
    if done.status == "closed":
        return gettext("Confirmed %(units)s; the line is closed.") % {"units": units}
    return gettext("Confirmed %(units)s.") % {"units": units}


def _cancel(_form: ActionForm, line: LineArguments, _may: Collection[str]) -> str:
    cancelled = counted_text(cancel_order_units(**line), "unit")
    return gettext("Cancelled %(cancelled)s; the line is closed.") % {"cancelled": cancelled}


def _re_date(form: ActionForm, line: LineArguments, _may: Collection[str]) -> str:
    due_on = DueForm(form.data).cleaned()["due_on"]
    move_due_date(**line, due_on=due_on)
    return gettext("Due on %(due_on)s.") % {"due_on": due_on}


def _restore(form: ActionForm, line: LineArguments, may: Collection[str]) -> str:
    units = UnitsForm(form.data).cleaned()["units"]
    restore_order_units(**line, units=units, reopening_allowed=REOPEN_ORDERS in may)
    return gettext("Restored: %(units)s on order again.") % {"units": counted_text(units, "unit")}


def _ship(form: ActionForm, line: LineArguments, _may: Collection[str]) -> str:
    units = UnitsForm(form.data).cleaned()["units"]
    # A new shipment changes no column of the line, so there is no version to compare.
    ship_order_line(
        line_id=line["line_id"],
        shipped_units=units,
        actor=line["actor"],
        command_id=line["command_id"],
    )
    return gettext("%(units)s on the way.") % {"units": counted_text(units, "unit")}


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


def act_on(ref: str, form: ActionForm, actor: str, may: Collection[str]) -> str:
    """Execute the form's command on the order `ref` or one of its lines; return the message."""
    action: str = form.cleaned()["action"]
    if action == "send":
        return _send(ref, SendForm(form.data), actor)
    command = COMMANDS.get(action)
    if command is None:
        field, rule = "action", Message("one of send, %(commands)s", commands=", ".join(COMMANDS))
        raise ServiceError(field, action, rule)
    values = LineForm(form.data).cleaned()
    line: LineArguments = {
        "line_id": values["line"],
        "shown_version": values["shown_version"],
        "actor": actor,
        "command_id": values["command_id"],
    }
    return command(form, line, may)


def _send(ref: str, form: SendForm, actor: str) -> str:
    """Store a request to send the order in ten seconds; return an empty text.

    The page shows a notice about the send, with *Undo*, instead of a message.
    """
    values = form.cleaned()
    send_one_order(
        DraftOrder(ref, values["shown_version"]),
        below_minimum_allowed=values["below_minimum"],
        actor=actor,
        command_id=values["command_id"],
    )
    return ""
