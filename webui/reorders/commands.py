"""What the reorders desk may ask for, and what it says afterwards."""

from datetime import date
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest

from webui.accounts.roles import ORDER_ODD_UNITS, abilities
from webui.commands import identity
from webui.desk import Command
from webui.ledger.services import (
    Approval,
    Part,
    ServiceError,
    approve_reorder,
    approve_reorders,
    reject_reorder,
    resume_reorder,
    snooze_reorder,
    split_reorder,
)

MOST_UNITS: Final = 1_000_000
# A need is seldom split over more than three suppliers or days; the service takes up to ten.
FIRST_PARTS: Final = (1, 2, 3)


def say(command: Command, *, odd_units_allowed: bool) -> str:
    """Do what the form of one card asks; what to tell the buyer."""
    common: dict[str, Any] = {
        "reorder_id": command.proposal,
        "shown_revision": command.shown_revision,
        "actor": command.actor,
        "command_id": command.command_id,
    }
    match command.action:
        case "approve":
            units = command.whole("units", MOST_UNITS)
            done = approve_reorder(**common, units=units, odd_units_allowed=odd_units_allowed)
            return _ordered(done)
        case "split":
            done = split_reorder(
                **common,
                parts=_parts(command),
                units=command.whole("units", MOST_UNITS),
                odd_units_allowed=odd_units_allowed,
            )
            return _ordered(done)
        case "reject":
            reject_reorder(**common, reason=command.form.get("reason", ""))
            return "Rejected. The need is held for seven days."
        case "snooze":
            snooze_reorder(**common, until_at=command.until())
            return f"Snoozed for {command.form['days']} days."
        case "resume":
            resume_reorder(**common)
            return "Resumed: the need is weighed again."
        case unknown:
            field, rule = "action", "approve, split, reject, snooze or resume"
            raise ServiceError(field, unknown, rule)


def _ordered(done: dict[str, Any]) -> str:
    # A second click of one person repeats its command id, so this is somebody else's order.
    if done.get("repeated"):
        return f"Ordered already by somebody else: {done['units']} units as {done['order_ref']}."
    lines = len(done.get("line_ids", (1,)))
    words = f" in {lines} lines" if lines > 1 else ""
    return f"Ordered {done['units']} units as {done['order_ref']}{words}: send it on Orders."


def _parts(command: Command) -> list[Part]:
    """The parts that were filled in."""
    found = []
    for number in FIRST_PARTS:
        if not command.form.get(f"units{number}", "").strip():
            continue
        units = command.whole(f"units{number}", MOST_UNITS)
        supplier = command.form.get(f"supplier{number}", "").strip() or None
        found.append(Part(units, supplier, _day(command, f"due_on{number}")))
    return found


def _day(command: Command, field: str) -> date | None:
    text = command.form.get(field, "").strip()
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as failure:
        rule = "a day like 2026-11-21"
        raise ServiceError(field, text, rule) from failure


def approve_picked(request: HttpRequest) -> list[dict[str, Any]]:
    """Approve the needs whose boxes are ticked, each at the revision that was shown."""
    approvals = []
    for picked in request.POST.getlist("pick"):
        revision, _, reorder_id = picked.partition("@")
        shown = identity({"pick": revision}, "pick")
        approvals.append(Approval(reorder_id, shown))
    try:
        command_id = UUID(request.POST.get("command_id", ""))
    except ValueError as failure:
        field, rule = "form", "the hidden fields of this page: reload it"
        raise ServiceError(field, str(failure), rule) from failure
    return approve_reorders(
        approvals=approvals,
        odd_units_allowed=ORDER_ODD_UNITS in abilities(request.user),
        actor=request.user.get_username(),
        command_id=command_id,
    )
