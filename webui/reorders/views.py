"""The buyer's desk: needs with their arithmetic, and the buyer's word on them."""

from itertools import groupby
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from webui.accounts.roles import DECIDE_REORDERS, SEE, requires
from webui.desk import VIEWS, Command, Refusal, answer, view_of
from webui.ledger.services import (
    ServiceError,
    approve_reorder,
    reject_reorder,
    resume_reorder,
    snooze_reorder,
)
from webui.page import render_page
from webui.readmodel import selectors
from webui.stock.terms import lines

MOST_UNITS = 1_000_000


@require_GET
@requires(SEE)
def reorders(request: HttpRequest) -> HttpResponse:
    """Open, snoozed or closed needs, grouped by supplier."""
    return _show(request, None)


def _show(request: HttpRequest, refusal: Refusal | None) -> HttpResponse:
    view = view_of(request)
    location = request.GET.get("location", "")[:24]
    supplier = request.GET.get("supplier", "")[:64]
    # Before the list is read: a change in between must look new to the page that asks again.
    version_before = selectors.desk_version("reorder_proposal")
    found = selectors.reorder_proposals(view=view, location=location, supplier=supplier)
    cards = [_card(proposal, refusal) for proposal in found]
    groups = [
        (name, list(members))
        for name, members in groupby(cards, key=lambda card: card["proposal"].supplier_name)
    ]
    refused_here = refusal and any(card["refusal"] for card in cards)
    context = {
        "view": view,
        "views": VIEWS,
        "groups": groups
        if view != "closed"
        else [("Closed, newest first", cards)]
        if cards
        else [],
        "open_count": selectors.desk_count("reorder_proposal"),
        "location": location,
        "supplier": supplier,
        "locations": selectors.locations(),
        "suppliers": selectors.suppliers(),
        "refusal": None if refused_here else refusal,
        "version": version_before,
        "version_url": reverse("reorders-version"),
        "query": urlencode({"view": view, "location": location, "supplier": supplier}),
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "reorders/desk.html", context, status=status)


def _card(proposal: selectors.ReorderProposal, refusal: Refusal | None) -> dict[str, Any]:
    mine = refusal if refusal and refusal.proposal == proposal.reorder_id else None
    return {
        "proposal": proposal,
        "terms": lines(proposal.terms),
        "refusal": mine,
        "units": mine.form.get("units", "") if mine else proposal.quantity_units,
        "reason": mine.form.get("reason", "") if mine else "",
        "days": mine.form.get("days", "7") if mine else "7",
        "command_id": uuid4(),
    }


@require_GET
@requires(SEE)
def version(_request: HttpRequest) -> JsonResponse:
    """Changes when any proposal changes: what an open desk asks every two seconds."""
    return JsonResponse({"version": selectors.desk_version("reorder_proposal")})


@require_POST
@requires(DECIDE_REORDERS)
def decide(request: HttpRequest) -> HttpResponse:
    """Approve, reject, snooze or resume one need."""
    back = f"{reverse('reorders')}?{request.GET.urlencode()}"
    return answer(request, _say, _show, back.rstrip("?"))


def _say(command: Command) -> str:
    common: dict[str, Any] = {
        "reorder_id": command.proposal,
        "shown_revision": command.shown_revision,
        "actor": command.actor,
        "command_id": command.command_id,
    }
    match command.action:
        case "approve":
            done = approve_reorder(**common, units=command.whole("units", MOST_UNITS))
            return f"Ordered {done['units']} units as {done['order_ref']}. On order follows."
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
            field, rule = "action", "approve, reject, snooze or resume"
            raise ServiceError(field, unknown, rule)
