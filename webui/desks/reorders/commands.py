"""Commands of the reorders desk, with the messages that confirm them."""

from typing import Any, Final

from django.http import HttpRequest

from ledger.kernel.proposals import REORDERS, last_word
from ledger.services import (
    Approval,
    Conflict,
    Part,
    Route,
    ServiceError,
    approve_reorder,
    approve_reorders,
    plan_transfer,
    reject_reorder,
    resume_reorder,
    snooze_reorder,
    split_reorder,
)
from webui.accounts.roles import ORDER_ODD_UNITS, abilities
from webui.readmodel.figures import counted_text
from webui.shell.commands import Form, command_of, day, form_of, identity, whole
from webui.shell.desk import Command

# A need is seldom split over more than three suppliers or days; the service takes up to ten.
FIRST_PARTS: Final = (1, 2, 3)


def say(command: Command, *, odd_units_allowed: bool) -> str:
    """Execute the command of one card; return the message for the buyer."""
    common: dict[str, Any] = {
        "reorder_id": command.proposal,
        "shown_revision": command.shown_revision,
        "actor": command.actor,
        "command_id": command.command_id,
    }
    match command.action:
        case "approve":
            units = whole(command.form, "units", low=1)
            done = approve_reorder(**common, units=units, odd_units_allowed=odd_units_allowed)
            return _ordered(command.proposal, done)
        case "split":
            done = split_reorder(
                **common,
                parts=_parts(command.form),
                units=whole(command.form, "units", low=1),
                odd_units_allowed=odd_units_allowed,
            )
            return _ordered(command.proposal, done)
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


def _transferred(command: Command) -> str:
    """Plan a transfer from another location that covers the need."""
    form = command.form
    route = Route(
        source=form.get("source", ""),
        destination=form.get("destination", ""),
        sku=form.get("sku", ""),
        units=whole(form, "units", low=1),
        due_on=day(form, "due_on"),
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


def _ordered(reorder_id: str, done: dict[str, Any]) -> str:
    # A second click repeats its own command id and answer. Here another person or page has already
    # ordered, and this command ordered nothing.
    if done.get("repeated"):
        raise Conflict(ordered_before(reorder_id, done))
    lines = len(done.get("line_ids", (1,)))
    words = f" in {lines} lines" if lines > 1 else ""
    units = counted_text(done["units"], "unit")
    return f"Ordered {units} as {done['order_ref']}{words}: send it on Orders."


def ordered_before(reorder_id: str, done: dict[str, Any]) -> str:
    """Return a message: the first person who ordered this need, the units and the time."""
    who, at = last_word(REORDERS, reorder_id)
    units = counted_text(done["units"], "unit")
    return f"{who} has already ordered {units} as {done['order_ref']}, {at}"


def _parts(form: Form) -> list[Part]:
    """Return the parts that were filled in."""
    return [
        Part(
            whole(form, f"units{number}", low=1, label=f"Units of part {number}"),
            form.get(f"supplier{number}") or None,
            day(form, f"due_on{number}"),
        )
        for number in FIRST_PARTS
        if form.get(f"units{number}")
    ]


def approve_picked(request: HttpRequest) -> list[dict[str, Any]]:
    """Approve the needs whose boxes are ticked, each at the revision that was shown."""
    ticked = request.POST.getlist("pick")
    if not ticked:
        field, rule = "pick", "tick at least one need first"
        raise ServiceError(field, "", rule)
    approvals = []
    for picked in ticked:
        revision, _, reorder_id = picked.partition("@")
        shown = identity({"pick": revision}, "pick")
        approvals.append(Approval(reorder_id, shown))
    return approve_reorders(
        approvals=approvals,
        odd_units_allowed=ORDER_ODD_UNITS in abilities(request.user),
        actor=request.user.get_username(),
        command_id=command_of(form_of(request)),
    )
