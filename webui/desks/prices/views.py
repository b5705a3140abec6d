"""The pricing desk: proposed prices with signal, clamps and floor, and decisions on them."""

from typing import Any, Final, assert_never
from urllib.parse import urlencode
from uuid import uuid4

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from ledger.automation.prices import objections_to
from ledger.kernel.proposal_rows import PRICES
from ledger.kernel.proposals import last_decision
from ledger.kernel.refusal_text import moment_text
from ledger.kernel.rows import select_value
from ledger.services import (
    Conflict,
    PriceWritten,
    PriceWrittenBefore,
    ServiceError,
    approve_price,
    reject_price,
    set_price_kill_switch,
    snooze_price,
)
from webui.accounts.roles import DECIDE_PRICES, SEE, STOP_PRICES, requires
from webui.desks.prices.forms import ON, StopForm
from webui.readmodel import proposals as selectors
from webui.readmodel.choices import locations
from webui.readmodel.decision_terms import lines
from webui.readmodel.figures import counted_text, money_text
from webui.shell.commands import next_cards, run_command
from webui.shell.desk import Command, Refusal, answer, view_of
from webui.shell.forms import SnoozeForm
from webui.shell.page import render_page

VIEWS: Final = ("open", "snoozed", "closed")


@require_GET
@requires(SEE)
def prices(request: HttpRequest) -> HttpResponse:
    """Show open, snoozed or closed price proposals."""
    return _show(request, None)


def _show(request: HttpRequest, refusal: Refusal | None) -> HttpResponse:
    view = view_of(request, VIEWS)
    location = request.GET.get("location", "")[:24]
    # Read before the list: a change in between must look new to the polling page.
    version_before = selectors.desk_version("price_proposal")
    found = selectors.price_proposals(view=view, location=location)
    waiting = objections_to([proposal.proposal_id for proposal in found])
    cards = [_card(proposal, refusal, waiting.get(proposal.proposal_id, "")) for proposal in found]
    refused_here = refusal and any(card["refusal"] for card in cards)
    context = {
        "view": view,
        "views": VIEWS,
        "cards": cards,
        "next_cards": next_cards([proposal.proposal_id for proposal in found]),
        "open_count": selectors.desk_count("price_proposal"),
        "location": location,
        "locations": locations(),
        "refusal": None if refused_here else refusal,
        "stopped": select_value("SELECT price_kill_switch FROM app.setting WHERE id = 1"),
        "version": version_before,
        "version_url": reverse("prices-version"),
        "query": urlencode({"view": view, "location": location}),
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "prices/desk.html", context, status=status)


def _card(
    proposal: selectors.PriceProposal, refusal: Refusal | None, waits_because: str
) -> dict[str, Any]:
    mine = refusal if refusal and refusal.proposal == proposal.proposal_id else None
    permille = proposal.change_permille
    sign = "\N{MINUS SIGN}" if permille < 0 else "+"
    return {
        "proposal": proposal,
        "change": f"{sign}{abs(permille) // 10}.{abs(permille) % 10} %",
        "terms": lines(proposal.terms),
        "waits_because": waits_because,
        "refusal": mine,
        # Show a refused person their input again, even if another person's decision is on its way.
        "shows_forms": proposal.status == "open" and (proposal.actionable or mine is not None),
        "reason": mine.form.get("reason", "") if mine else "",
        "days": mine.form.get("days", "7") if mine else "7",
        "command_id": uuid4(),
    }


@require_GET
@requires(SEE)
def version(_request: HttpRequest) -> JsonResponse:
    """Return a text that changes with any price proposal. Open pages request it every 2 s."""
    return JsonResponse({"version": selectors.desk_version("price_proposal")})


@require_POST
@requires(DECIDE_PRICES)
def decide(request: HttpRequest) -> HttpResponse:
    """Approve, reject or snooze one proposed price."""
    back = f"{reverse('prices')}?{request.GET.urlencode()}"
    return answer(request, _execute, _show, back.rstrip("?"))


def _execute(command: Command) -> str:
    common: dict[str, Any] = {
        "proposal_id": command.proposal,
        "shown_revision": command.shown_revision,
        "actor": command.actor,
        "command_id": command.command_id,
    }
    match command.action:
        case "approve":
            return _approved(command.proposal, approve_price(**common))
        case "reject":
            reject_price(**common, reason=command.reason)
            return "Rejected. The item is left alone for one cool-down."
        case "snooze":
            snooze = SnoozeForm(command.typed)
            snooze_price(**common, until_at=snooze.length())
            return f"Snoozed for {counted_text(snooze.cleaned()['days'], 'day')}."
        case unknown:
            field, rule = "action", "approve, reject or snooze"
            raise ServiceError(field, unknown, rule)


def _approved(proposal: str, outcome: PriceWritten | PriceWrittenBefore) -> str:
    holds = f"{money_text(outcome.price_minor)} holds from {moment_text(outcome.effective_from)} on"
    match outcome:
        case PriceWritten():
            return f"Approved: {holds}."
        case PriceWrittenBefore():
            # A second click repeats its own command id and answer. Here another person was first.
            who, at = last_decision(PRICES, proposal)
            message = f"{who} has already approved it, {at}: {holds}"
            raise Conflict(message)
        case _:
            assert_never(outcome)


@require_POST
@requires(STOP_PRICES, company=True)
def stop(request: HttpRequest) -> HttpResponse:
    """Stop prices that rules set, or allow them again, in all stores."""
    form = StopForm(request.POST)

    def show(message: str, status: int) -> HttpResponse:
        return _show(request, Refusal("", message, form.typed, status))

    return run_command(
        request, lambda: _stop(form, request.user.get_username()), show, reverse("prices")
    )


def _stop(form: StopForm, actor: str) -> str:
    is_on = form.cleaned()["stop"] == ON
    set_price_kill_switch(is_on=is_on, actor=actor)
    return "Rule-made prices are stopped." if is_on else "Rule-made prices may be written again."
