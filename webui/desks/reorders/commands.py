"""Commands of the reorders desk, with the messages that confirm them."""

from typing import Any, assert_never

from django.contrib.auth.models import AnonymousUser, User

from ledger.kernel.proposal_rows import REORDERS
from ledger.kernel.proposals import last_decision
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
    plan_transfer,
    reject_reorder,
    resume_reorder,
    snooze_reorder,
)
from webui.accounts.roles import ORDER_ODD_UNITS, abilities
from webui.desks.orders.forms import UnitsForm
from webui.desks.reorders.forms import FIRST_PARTS, PartForm, PicksForm
from webui.desks.transfers.forms import RouteForm
from webui.readmodel.figures import counted_text
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
            return "Rejected. The need is held for seven days."
        case "snooze":
            snooze = SnoozeForm(command.typed)
            snooze_reorder(**common, until_at=snooze.length())
            return f"Snoozed for {counted_text(snooze.cleaned()['days'], 'day')}."
        case "resume":
            resume_reorder(**common)
            return "Resumed: the need is weighed again."
        case unknown:
            field, rule = "action", "approve, split, transfer, reject, snooze or resume"
            raise ServiceError(field, unknown, rule)


def _approved(command: Command, *, odd_units_allowed: bool) -> str:
    parts = _parts(command.typed) if command.action == "split" else None
    units = UnitsForm(command.typed).cleaned()["units"]
    outcome = approve_reorder(
        ApproveReorder(command.proposal, command.shown_revision, units, parts),
        odd_units_allowed=odd_units_allowed,
        actor=command.actor,
        command_id=command.command_id,
    )
    match outcome:
        case Ordered():
            lines = len(outcome.line_ids)
            words = f" in {lines} lines" if lines > 1 else ""
            ordered = counted_text(outcome.units, "unit")
            return f"Ordered {ordered} as {outcome.order_ref}{words}: send it on Orders."
        case OrderedBefore():
            # A second click repeats its own command id and answer. Here another person or page has
            # already ordered, and this command ordered nothing.
            raise Conflict(ordered_before(outcome))
        case _:
            assert_never(outcome)


def _transferred(command: Command) -> str:
    """Plan a transfer from another location that covers the need."""
    route = RouteForm(command.typed).route()
    planned = plan_transfer(
        route=route,
        reorder_id=command.proposal,
        shown_revision=command.shown_revision,
        actor=command.actor,
        command_id=command.command_id,
    )
    asked = counted_text(route.units, "unit")
    return f"Asked {route.source} for {asked}: {planned.transfer_ref}."


def ordered_before(outcome: OrderedBefore) -> str:
    """Return a message: the first person who ordered this need, the units and the time."""
    who, at = last_decision(REORDERS, outcome.reorder_id)
    units = counted_text(outcome.units, "unit")
    return f"{who} has already ordered {units} as {outcome.order_ref}, {at}"


def _parts(typed: Typed) -> list[Part]:
    """Return the parts that were filled in."""
    parts = [PartForm(typed, number) for number in FIRST_PARTS]
    return [form.part() for form in parts if form.is_filled]


def approve_picked(
    form: PicksForm, user: User | AnonymousUser
) -> tuple[list[Ordered], list[NotOrdered]]:
    """Approve the needs whose boxes are ticked, each at the revision that was shown.

    Return the orders, and the needs that were not ordered now.
    """
    values = form.cleaned()
    outcomes = approve_reorders(
        values["pick"],
        odd_units_allowed=ORDER_ODD_UNITS in abilities(user),
        actor=user.get_username(),
        command_id=values["command_id"],
    )
    ordered: list[Ordered] = []
    others: list[NotOrdered] = []
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
    return ordered, others
