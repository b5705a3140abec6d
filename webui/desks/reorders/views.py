"""The buyer's desk: reorder needs with their arithmetic, and the decisions on them."""

from itertools import groupby
from typing import Final
from urllib.parse import urlencode
from uuid import uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from ledger.kernel.refusal_text import refusal_text
from ledger.reorders.automatic import Reason, why_not
from ledger.services import Conflict, NotOrdered, ServiceError
from webui.accounts.roles import DECIDE_REORDERS, ORDER_ODD_UNITS, SEE, abilities, requires
from webui.desks.reorders.cards import NeedCard, PartInput, TransferOffer
from webui.desks.reorders.commands import approve_picked, execute
from webui.desks.reorders.forms import FIRST_PARTS, PicksForm
from webui.desks.reorders.queries import Source, overview, sources_of
from webui.readmodel import proposals as selectors
from webui.readmodel.decision_terms import lines
from webui.readmodel.figures import counted_text
from webui.shell.commands import next_cards
from webui.shell.desk import Refusal, answer, view_of
from webui.shell.page import render_page

VIEWS: Final = ("open", "held", "closed")
PAGE_CARDS = 50
MOST_COUNTED = 1000


@require_GET
@requires(SEE)
def reorders(request: HttpRequest) -> HttpResponse:
    """Show open, held or closed needs, grouped by supplier and location."""
    return _show(request, None)


def _show(
    request: HttpRequest, refusal: Refusal | None, *, report: list[NotOrdered] | None = None
) -> HttpResponse:
    view = view_of(request, VIEWS)
    narrowed = {
        "location": request.GET.get("location", "")[:24],
        "supplier": request.GET.get("supplier", "")[:64],
    }
    after = request.GET.get("after", "")[:128]
    # Read before the list: a change in between must look new to the polling page.
    around = overview(view=view, **narrowed, most=MOST_COUNTED)
    found = selectors.reorder_proposals(view=view, **narrowed, after=after, rows=PAGE_CARDS + 1)
    shown = found[:PAGE_CARDS]
    cards = _cards(shown, refusal)
    first = {"view": view, **narrowed}
    context = {
        "view": view,
        "views": VIEWS,
        "groups": _groups(view, cards),
        "next_cards": next_cards([need.reorder_id for need in shown]),
        **around.as_context(),
        "most": MOST_COUNTED,
        "shown": len(shown),
        **narrowed,
        "refusal": None if any(card.refusal for card in cards) else refusal,
        "report": report,
        "version_url": reverse("reorders-version"),
        "query": urlencode(first | ({"after": after} if after else {})),
        "first": urlencode(first) if after else "",
        "next": urlencode(first | {"after": shown[-1].reorder_id}) if found[PAGE_CARDS:] else "",
        "bulk_id": uuid4(),
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "reorders/desk.html", context, status=status)


def _cards(shown: list[selectors.ReorderProposal], refusal: Refusal | None) -> list[NeedCard]:
    undecided = [need for need in shown if need.status == "open" and need.actionable]
    waiting = why_not([need.reorder_id for need in undecided])
    sources = sources_of(undecided)
    return [_card(need, refusal, waiting, _transfer(need, refusal, sources)) for need in shown]


def _transfer(
    need: selectors.ReorderProposal, refusal: Refusal | None, sources: dict[str, list[Source]]
) -> TransferOffer | None:
    """Return the transfer form with the refused input; None if no location has spare units."""
    spare = sources.get(need.reorder_id)
    if not spare:
        return None
    form = refusal.form if refusal and refusal.proposal == need.reorder_id else {}
    typed = form if form.get("action") == "transfer" else {}
    return TransferOffer(
        sources=spare,
        is_open=bool(typed),
        source=typed.get("source", spare[0].location),
        units=typed.get("units", min(need.quantity_units or 1, spare[0].units)),
        due_on=typed.get("due_on", ""),
    )


def _groups(view: str, cards: list[NeedCard]) -> list[tuple[str, list[NeedCard]]]:
    """Group the needs by supplier and location, as one order would contain them."""
    if view == "closed":
        return [("Closed, newest first", cards)] if cards else []

    def order(card: NeedCard) -> tuple[str, str]:
        return card.proposal.supplier_name, card.proposal.location

    return [
        (f"{supplier} for {location}", list(members))
        for (supplier, location), members in groupby(cards, key=order)
    ]


def _card(
    proposal: selectors.ReorderProposal,
    refusal: Refusal | None,
    waiting: dict[str, tuple[Reason, ...]],
    transfer: TransferOffer | None,
) -> NeedCard:
    mine = refusal if refusal and refusal.proposal == proposal.reorder_id else None
    form = mine.form if mine else {}
    split = form if form.get("action") == "split" else {}
    return NeedCard(
        proposal=proposal,
        terms=lines(proposal.terms),
        refusal=mine,
        # Show a refused person their input again, even if another person's decision is on its way.
        shows_forms=proposal.actionable or (mine is not None and proposal.status == "open"),
        units=form.get("units", "") if mine else proposal.quantity_units,
        reason=form.get("reason", ""),
        days=form.get("days", "7"),
        command_id=uuid4(),
        waits_because=waiting.get(proposal.reorder_id),
        parts=[
            PartInput(
                number=number,
                units=split.get(f"units{number}", ""),
                supplier=split.get(f"supplier{number}", proposal.supplier),
                due_on=split.get(f"due_on{number}", ""),
            )
            for number in FIRST_PARTS
        ],
        transfer=transfer,
    )


@require_GET
@requires(SEE)
def version(_request: HttpRequest) -> JsonResponse:
    """Return a text that changes with any proposal. Open pages request it every 2 s."""
    return JsonResponse({"version": selectors.desk_version("reorder_proposal")})


@require_POST
@requires(DECIDE_REORDERS)
def decide(request: HttpRequest) -> HttpResponse:
    """Approve, split, cover by a transfer, reject, snooze or resume one need."""
    may = abilities(request.user)
    return answer(
        request,
        lambda command: execute(command, odd_units_allowed=ORDER_ODD_UNITS in may),
        _show,
        _back(request),
    )


@require_POST
@requires(DECIDE_REORDERS)
def approve(request: HttpRequest) -> HttpResponse:
    """Approve every picked need; list those that could not be ordered with the reason."""
    form = PicksForm(request.POST)
    try:
        ordered, others = approve_picked(form, request.user)
    except Conflict as conflict:
        return _show(request, Refusal("", conflict.text, form.typed, 409))
    except ServiceError as error:
        return _show(request, Refusal("", refusal_text(error), form.typed, 422))
    if ordered:
        orders = len({outcome.order_ref for outcome in ordered})
        words = f"{counted_text(len(ordered), 'need')} in {counted_text(orders, 'draft order')}"
        text = f"Ordered {words}: send {'it' if orders == 1 else 'them'} on Orders."
        messages.success(request, text)
    if not others:
        return HttpResponseRedirect(_back(request))
    return _show(request, None, report=others)


def _back(request: HttpRequest) -> str:
    return f"{reverse('reorders')}?{request.GET.urlencode()}".rstrip("?")
