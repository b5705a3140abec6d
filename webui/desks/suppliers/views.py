"""Scorecards of suppliers, and the receipts from which each is computed."""

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from ledger.kernel.transactions import database_now
from ledger.ordering import scorecards
from ledger.services import set_supplier_terms
from webui.accounts.roles import MANAGE_ORDERS, SEE_ORDERS, requires
from webui.desks.suppliers import chart, listing
from webui.desks.suppliers.forms import TermsForm
from webui.desks.suppliers.queries import shown_terms
from webui.readmodel.choices import locations, locations_and_suppliers
from webui.readmodel.names import supplier_name
from webui.shell.commands import changed_text, run_command
from webui.shell.desk import Refusal
from webui.shell.listing import plain_headings
from webui.shell.page import render_page

MOST_LOCATIONS = 200


@require_GET
@requires(SEE_ORDERS)
def suppliers(request: HttpRequest) -> HttpResponse:
    """Show the daily computed lead times and fill rates of suppliers, by location."""
    given = {
        "supplier": request.GET.get("supplier", "")[:64],
        "location": request.GET.get("location", "")[:24],
    }
    place = listing.KEYS.place_of(request.GET)
    page = listing.card_page(place, **given)
    stores, named = locations_and_suppliers()
    context = {
        "cards": page.rows,
        **given,
        "suppliers": named,
        "locations": stores,
        "places": {store.code: store.name for store in stores},
        "totals": listing.card_totals(**given),
        "is_narrowed": any(given.values()),
        **listing.KEYS.links(listing.COLUMNS, place, given, page).as_context(),
    }
    return render_page(request, "suppliers/list.html", context)


@require_GET
@requires(SEE_ORDERS)
def supplier(request: HttpRequest, code: str) -> HttpResponse:
    """Show one supplier: distribution of lead times, terms, scorecards, newest receipts."""
    return _show(request, code, None)


def _show(request: HttpRequest, code: str, refusal: Refusal | None) -> HttpResponse:
    if not code:  # the selectors below read an empty code as "every supplier"
        return _unknown(request, code)
    location = request.GET.get("location", "")[:24]
    now = database_now()
    measured = scorecards.measure(code, location, now)
    came = scorecards.receipts(code, location, now)
    cards = scorecards.cards(code, most=MOST_LOCATIONS)
    terms = shown_terms(code, refusal)
    if terms is None and not came and not cards and not measured.settled.lines:
        return _unknown(request, code)
    bars = chart.distribution([receipt.centidays for receipt in came if receipt.has_goods])
    context = {
        "code": code,
        "name": supplier_name(code),
        "location": location,
        "measured": measured,
        "cards": cards,
        "headings": plain_headings(listing.COLUMNS),
        "places": {store.code: store.name for store in locations()},
        "bars": bars,
        "last_bar": bars[-1] if bars else None,
        "chart_width": chart.width(bars),
        "chart_height": chart.HEIGHT,
        "bar_width": chart.WIDTH,
        "receipts": came[: scorecards.RECEIPTS_SHOWN],
        "days": scorecards.DAYS,
        "terms": terms,
        "refusal": refusal,
        "query": urlencode({"location": location} if location else {}),
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "suppliers/supplier.html", context, status=status)


def _unknown(request: HttpRequest, code: str) -> HttpResponse:
    context = {"code": code, "back": reverse("suppliers")}
    return render_page(request, "suppliers/unknown.html", context, status=404)


@require_POST
@requires(MANAGE_ORDERS, company=True)
def terms(request: HttpRequest) -> HttpResponse:
    """Change the terms of a supplier and redirect to the supplier's page."""
    form = TermsForm(request.POST)
    code = form.text("supplier")

    def show(message: str, status: int) -> HttpResponse:
        return _show(request, code, Refusal(code, message, form.typed, status))

    # A code that can't be part of a URL has no page. Its form is refused, so `back` isn't used.
    is_code = bool(code) and code.isprintable()
    target = reverse("supplier", args=[code]) if is_code else reverse("suppliers")
    back = f"{target}?{request.GET.urlencode()}#terms"
    return run_command(request, lambda: change_terms(form, request.user.get_username()), show, back)


def change_terms(form: TermsForm, actor: str) -> str:
    """Write the terms of the form; return the message for the person."""
    moved = set_supplier_terms(
        form.terms(),
        shown=form.cleaned()["shown"],
        actor=actor,
        command_id=form.cleaned()["command_id"],
    )
    return changed_text(moved)
