"""Commands of the reorders desk, with the messages that confirm them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_never
from uuid import uuid5

from django.contrib.auth.models import AnonymousUser, User
from django.utils.translation import gettext, ngettext

from ledger.messages import gettext_noop
from ledger.services import (
    ApproveReorder,
    Conflict,
    NotOrdered,
    Ordered,
    OrderedBefore,
    Part,
    ServiceError,
    approve_reorder,
    approve_reorders,
    ordered_before,
    plan_transfer,
    reject_reorder,
    resume_reorder,
    send_needs,
    snooze_reorder,
)
from webui.accounts.roles import ORDER_ODD_UNITS, abilities
from webui.desks.orders.forms import QuantityForm
from webui.desks.reorders.forms import FIRST_PARTS, PartForm, PicksForm
from webui.desks.reorders.queries import name_of
from webui.desks.transfers.forms import RouteForm
from webui.readmodel.figures import counted_text
from webui.readmodel.names import item_name, store_name
from webui.shell.desk import Command
from webui.shell.forms import SnoozeForm, Typed


def execute(command: Command, *, odd_units_allowed: bool) -> str:
    """Execute the command of one card; return the message for the buyer."""
    common: dict[str, Any] = {
        "reorder_id": command.proposal,
        "shown_revision": command.shown_revision,
        "actor": command.actor,
        "command_id": command.command_id,
    }
    match command.action:
        case "approve" | "split":
            return _approved(command, odd_units_allowed=odd_units_allowed)
        case "transfer":
            return _transferred(command)
        case "reject":
            reject_reorder(**common, reason=command.reason)
            text = gettext(
                "Rejected %(need)s. For seven days the rules open no new need of this item."
            )
            return text % {"need": name_of(command.proposal)}
        case "snooze":
            snooze = SnoozeForm(command.typed)
            snooze_reorder(**common, until_at=snooze.length())
            return gettext("Snoozed %(need)s for %(days)s.") % {
                "need": name_of(command.proposal),
                "days": counted_text(snooze.cleaned()["days"], "day"),
            }
        case "resume":
            resume_reorder(**common)
            return gettext("Resumed %(need)s: the rules check the item again.") % {
                "need": name_of(command.proposal)
            }
        case unknown:
            field, rule = (
                "action",
                gettext_noop("approve, split, transfer, reject, snooze or resume"),
            )
            raise ServiceError(field, unknown, rule)


def _approved(command: Command, *, odd_units_allowed: bool) -> str:
    parts = _parts(command.typed) if command.action == "split" else None
    form = QuantityForm(command.typed)
    units = form.cleaned()["units"]
    outcome = approve_reorder(
        ApproveReorder(
            command.proposal,
            command.shown_revision,
            units,
            parts,
            is_confirmed=form.is_confirmed,
        ),
        odd_units_allowed=odd_units_allowed,
        actor=command.actor,
        command_id=command.command_id,
    )
    return _ordered_text(outcome)


def _ordered_text(outcome: Ordered | OrderedBefore) -> str:
    """Return the message for an approval; raise `Conflict` if the need was ordered before."""
    match outcome:
        case Ordered():
            lines = counted_text(len(outcome.line_ids), "line")
            words = gettext(" in %(lines)s") % {"lines": lines} if outcome.line_ids[1:] else ""
            ordered = counted_text(outcome.units, "unit")
            text = gettext(
                "Ordered %(ordered)s of %(need)s as %(order_ref)s%(words)s. Send the order on the "
                "page “Orders”."
            )
            return text % {
                "ordered": ordered,
                "need": name_of(outcome.reorder_id),
                "order_ref": outcome.order_ref,
                "words": words,
            }
        case OrderedBefore():
            # The second click of a double click repeats the command id, so its outcome is
            # `Ordered` again. Here, another person or page has ordered the need.
            raise Conflict(ordered_before(outcome))
        case _:
            assert_never(outcome)


def _transferred(command: Command) -> str:
    """Plan a transfer that covers the need with units of another location; return the message."""
    route = RouteForm(command.typed).route()
    planned = plan_transfer(
        route=route,
        reorder_id=command.proposal,
        shown_revision=command.shown_revision,
        actor=command.actor,
        command_id=command.command_id,
    )
    asked = counted_text(route.units, "unit")
    text = gettext(
        "Asked %(source)s to send %(asked)s of %(item)s to %(store)s: transfer %(transfer_ref)s."
    )
    return text % {
        "source": store_name(route.source),
        "asked": asked,
        "item": item_name(route.sku),
        "store": store_name(route.destination),
        "transfer_ref": planned.transfer_ref,
    }


def _parts(typed: Typed) -> list[Part]:
    """Return the parts of a split order for which the person typed units."""
    parts = [PartForm(typed, number) for number in FIRST_PARTS]
    return [form.part() for form in parts if form.is_filled]


@dataclass(frozen=True, slots=True)
class Picked:
    """The outcome of a command on picked needs: a message, and the needs that were not ordered.

    `message` is empty if nothing was ordered, or if the page shows a notice about a send instead.
    """

    message: str
    others: Sequence[NotOrdered]


def approve_one(form: PicksForm, user: User | AnonymousUser) -> str:
    """Approve the need whose button was pressed; return the message.

    The form has one command id for all of its rows. The command id of a row is computed from that
    id and the need's id. So a double click is one command, and a click in the next row is another.
    """
    values = form.cleaned()
    needs, bad = form.with_units([values["one"]])
    if bad:
        field, rule = "packs", gettext_noop("a whole number from 1")
        raise ServiceError(field, form.packs[bad[0].reorder_id], rule)
    outcome = approve_reorder(
        needs[0],
        odd_units_allowed=ORDER_ODD_UNITS in abilities(user),
        actor=user.get_username(),
        command_id=uuid5(values["command_id"], needs[0].reorder_id),
    )
    return _ordered_text(outcome)


def send_picked(form: PicksForm, user: User | AnonymousUser) -> Picked:
    """Record a request to approve and send the ticked needs after ten seconds."""
    values = form.cleaned()
    needs, bad = form.with_units(values["pick"])
    if not needs:
        return Picked("", bad)
    announced = send_needs(
        needs,
        odd_units_allowed=ORDER_ODD_UNITS in abilities(user),
        below_minimum_allowed=values["below_minimum"],
        actor=user.get_username(),
        command_id=values["command_id"],
    )
    return Picked("", [*bad, *announced.refused])


def approve_picked(form: PicksForm, user: User | AnonymousUser) -> Picked:
    """Approve the ticked needs, each at the revision that the page showed.

    The approved needs become lines of draft orders.
    """
    values = form.cleaned()
    needs, others = form.with_units(values["pick"])
    outcomes = (
        approve_reorders(
            needs,
            odd_units_allowed=ORDER_ODD_UNITS in abilities(user),
            actor=user.get_username(),
            command_id=values["command_id"],
        )
        if needs
        else []
    )
    ordered: list[Ordered] = []
    for outcome in outcomes:
        match outcome:
            case Ordered():
                ordered.append(outcome)
            case OrderedBefore():
                others.append(NotOrdered(outcome.reorder_id, ordered_before(outcome)))
            case NotOrdered():
                others.append(outcome)
            case _:
                assert_never(outcome)
    return Picked(_drafts_text(ordered), others)


def _drafts_text(ordered: Sequence[Ordered]) -> str:
    """Return the message about draft orders; an empty text if nothing was ordered."""
    if not ordered:
        return ""
    orders = len({outcome.order_ref for outcome in ordered})
    words = gettext("%(ordered)s in %(orders)s") % {
        "ordered": counted_text(len(ordered), "need"),
        "orders": counted_text(orders, "draft order"),
    }
    text = ngettext(
        "Ordered %(words)s. Send it on the page “Orders”.",
        "Ordered %(words)s. Send them on the page “Orders”.",
        orders,
    )
    return text % {"words": words}
