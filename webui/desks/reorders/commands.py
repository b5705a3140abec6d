"""Commands of the reorders desk, with the messages that confirm them."""

from typing import Any, Final, assert_never

from django.http import HttpRequest

from ledger.kernel.proposal_rows import REORDERS
from ledger.kernel.proposals import last_decision
from ledger.services import (
    ApproveReorder,
    Conflict,
    NotOrdered,
    Ordered,
    OrderedBefore,
    Part,
    Route,
    ServiceError,
    approve_reorder,
    approve_reorders,
    plan_transfer,
    reject_reorder,
    resume_reorder,
    snooze_reorder,
)
from webui.accounts.roles import ORDER_ODD_UNITS, abilities
from webui.readmodel.figures import counted_text
from webui.shell.commands import Form, command_id_of, form_of, parse_date, parse_id, parse_int
from webui.shell.desk import Command

# A need is seldom split over more than three suppliers or days; the service takes up to ten.
FIRST_PARTS: Final = (1, 2, 3)


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
            reject_reorder(**common, reason=command.form.get("reason", ""))
            return "Rejected. The need is held for seven days."
        case "snooze":
            snooze_reorder(**common, until_at=command.until())
            return f"Snoozed for {counted_text(int(command.form['days']), 'day')}."
        case "resume":
            resume_reorder(**common)
            return "Resumed: the need is weighed again."
        case unknown:
            field, rule = "action", "approve, split, transfer, reject, snooze or resume"
            raise ServiceError(field, unknown, rule)


def _approved(command: Command, *, odd_units_allowed: bool) -> str:
    parts = _parts(command.form) if command.action == "split" else None
    units = parse_int(command.form, "units", low=1)
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
    form = command.form
    route = Route(
        source=form.get("source", ""),
        destination=form.get("destination", ""),
        sku=form.get("sku", ""),
        units=parse_int(form, "units", low=1),
        due_on=parse_date(form, "due_on"),
    )
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


def _parts(form: Form) -> list[Part]:
    """Return the parts that were filled in."""
    return [
        Part(
            parse_int(form, f"units{number}", low=1, label=f"Units of part {number}"),
            form.get(f"supplier{number}") or None,
            parse_date(form, f"due_on{number}"),
        )
        for number in FIRST_PARTS
        if form.get(f"units{number}")
    ]


def approve_picked(request: HttpRequest) -> tuple[list[Ordered], list[NotOrdered]]:
    """Approve the needs whose boxes are ticked, each at the revision that was shown.

    Return the orders, and the needs that were not ordered now.
    """
    ticked = request.POST.getlist("pick")
    if not ticked:
        field, rule = "pick", "tick at least one need first"
        raise ServiceError(field, "", rule)
    commands = []
    for picked in ticked:
        revision, _, reorder_id = picked.partition("@")
        shown = parse_id({"pick": revision}, "pick")
        commands.append(ApproveReorder(reorder_id, shown))
    outcomes = approve_reorders(
        commands,
        odd_units_allowed=ORDER_ODD_UNITS in abilities(request.user),
        actor=request.user.get_username(),
        command_id=command_id_of(form_of(request)),
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
