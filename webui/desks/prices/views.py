"""The pricing desk: proposed prices with their reasons and limits, and decisions on them."""

from typing import Any, Final
from urllib.parse import quote, urlencode
from uuid import uuid4

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from ledger.automation.prices import objections_to
from ledger.kernel.amounts import currency_mark
from ledger.messages import gettext_noop
from webui.accounts.roles import DECIDE_PRICES, SEE, STOP_PRICES, requires
from webui.desks.prices import listing
from webui.desks.prices.changes import price_changes
from webui.desks.prices.commands import execute, set_stop
from webui.desks.prices.forms import StopForm
from webui.desks.prices.listing import PAGE_ROWS, Filters, like
from webui.desks.prices.paging import filters_of, heads_of, pages_of
from webui.desks.prices.wording import SIGNAL_WORDS, clamps_text
from webui.readmodel import proposals as selectors
from webui.readmodel.choices import locations
from webui.readmodel.decision_terms import lines
from webui.readmodel.price_stop import price_stop
from webui.shell.commands import next_cards, run_command
from webui.shell.desk import Refusal, answer
from webui.shell.page import render_page

VIEWS: Final = {
    "open": gettext_noop("Open"),
    "snoozed": gettext_noop("Snoozed"),
    "closed": gettext_noop("Closed"),
    "changes": gettext_noop("Price changes"),
}


@require_GET
@requires(SEE)
def prices(request: HttpRequest) -> HttpResponse:
    """Show open, snoozed or closed price proposals, or the newest price changes."""
    return _show(request, None)


def _show(request: HttpRequest, refusal: Refusal | None) -> HttpResponse:
    filters = filters_of(request, list(VIEWS))
    # Read the version before the list. Otherwise a page would miss a change between the two reads.
    version_before = selectors.desk_version("price_proposal")
    shown = (
        _changes(filters) if filters.view == "changes" else _proposals(request, filters, refusal)
    )
    stores = locations()
    context = {
        "filters": filters,
        "views": VIEWS,
        "tab_query": urlencode({k: v for k, v in filters.as_query().items() if k != "view"}),
        "open_count": selectors.desk_count("price_proposal"),
        "locations": stores,
        "places": {store.code: store.name for store in stores},
        "currency_mark": currency_mark(),
        "switch": price_stop(),
        "version": version_before,
        "version_url": reverse("prices-version"),
        "query": urlencode(filters.as_query() | {"start": filters.start}),
        "refusal": refusal,
        **shown,
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "prices/desk.html", context, status=status)


def _changes(filters: Filters) -> dict[str, Any]:
    found = price_changes(like(filters) | {"text": filters.text, "start": filters.start})
    pages = pages_of(filters, len(found) > PAGE_ROWS)
    return {"changes": [(row, uuid4()) for row in found[:PAGE_ROWS]], "pages": pages}


def _proposals(request: HttpRequest, filters: Filters, refusal: Refusal | None) -> dict[str, Any]:
    found = listing.price_page(filters)
    ids = [proposal.proposal_id for proposal in found]
    opened = refusal.proposal if refusal else request.GET.get("open", "")[:200]
    total = listing.totals(filters)
    refused_here = refusal is not None and refusal.proposal in ids
    return {
        "rows": [_row(proposal, filters) for proposal in found],
        "opened": next((_card(one, refusal) for one in found if one.proposal_id == opened), None),
        "next_cards": next_cards(ids),
        "headings": heads_of(filters),
        "totals": total,
        "pages": pages_of(filters, total.rows > filters.start + PAGE_ROWS),
        "refusal": None if refused_here else refusal,
    }


def _row(proposal: selectors.PriceProposal, filters: Filters) -> dict[str, Any]:
    permille = proposal.change_permille
    sign = "\N{MINUS SIGN}" if permille < 0 else "+"
    query = filters.as_query() | {"start": filters.start, "open": proposal.proposal_id}
    return {
        "proposal": proposal,
        "change": f"{sign}{abs(permille) // 10}.{abs(permille) % 10} %",
        "signal": SIGNAL_WORDS.get(proposal.signal, proposal.signal),
        "clamps": clamps_text(proposal.clamps),
        "shows_forms": proposal.status == "open" and proposal.actionable,
        "open_url": f"?{urlencode(query)}#{quote(proposal.proposal_id, safe='')}",
        "command_id": uuid4(),
    }


def _card(proposal: selectors.PriceProposal, refusal: Refusal | None) -> dict[str, Any]:
    mine = refusal if refusal and refusal.proposal == proposal.proposal_id else None
    waits_because = objections_to([proposal.proposal_id]).get(proposal.proposal_id, "")
    return {
        "proposal": proposal,
        "terms": lines(proposal.terms),
        "waits_because": waits_because,
        "refusal": mine,
        # After a refusal, show the input again, even if workers are about to process a decision of
        # another person.
        "shows_forms": proposal.status == "open" and (proposal.actionable or mine is not None),
        "reason": mine.form.get("reason", "") if mine else "",
        "days": mine.form.get("days", "7") if mine else "7",
        "command_id": uuid4(),
    }


@require_GET
@requires(SEE)
def version(_request: HttpRequest) -> JsonResponse:
    """Return a text that changes when a price proposal changes. Pages request it every 2 s."""
    return JsonResponse({"version": selectors.desk_version("price_proposal")})


@require_POST
@requires(DECIDE_PRICES)
def decide(request: HttpRequest) -> HttpResponse:
    """Approve, reject or snooze one proposed price."""
    back = f"{reverse('prices')}?{request.GET.urlencode()}"
    return answer(request, execute, _show, back.rstrip("?"))


@require_POST
@requires(STOP_PRICES, company=True)
def stop(request: HttpRequest) -> HttpResponse:
    """Stop rule-made prices in all stores, or allow them again."""
    form = StopForm(request.POST)

    def show(message: str, status: int) -> HttpResponse:
        return _show(request, Refusal("", message, form.typed, status))

    return run_command(
        request, lambda: set_stop(form, request.user.get_username()), show, reverse("prices")
    )
