"""Scorecards of suppliers, and behind each the receipts that it was made of."""

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from webui.accounts.roles import SEE_ORDERS, requires
from webui.ledger.services.transactions import database_now
from webui.page import render_page
from webui.readmodel import scorecard_selectors as scorecards
from webui.readmodel.rows import select_value
from webui.readmodel.selectors import locations
from webui.readmodel.selectors import suppliers as named_suppliers
from webui.suppliers import chart

_NAME = "SELECT coalesce((SELECT name FROM retail.supplier WHERE code = %(code)s), %(code)s)"
MOST_LOCATIONS = 200


@require_GET
@requires(SEE_ORDERS)
def suppliers(request: HttpRequest) -> HttpResponse:
    """Scorecards by supplier and location, as the job made them."""
    supplier = request.GET.get("supplier", "")[:64]
    location = request.GET.get("location", "")[:24]
    behind = request.GET.get("after", "").partition("|")
    found = scorecards.cards(
        supplier=supplier,
        location=location,
        after=(behind[0], behind[2]),
        most=scorecards.PAGE_ROWS + 1,
    )
    shown = found[: scorecards.PAGE_ROWS]
    query = {"supplier": supplier, "location": location}
    last = f"{shown[-1].supplier}|{shown[-1].location}" if shown else ""
    context = {
        "cards": shown,
        "supplier": supplier,
        "location": location,
        "suppliers": named_suppliers(),
        "locations": locations(),
        "is_narrowed": bool(supplier or location),
        "next_url": "?" + urlencode(query | {"after": last}) if len(found) > len(shown) else "",
        "first_url": "?" + urlencode(query) if behind[0] else "",
    }
    return render_page(request, "suppliers/list.html", context)


@require_GET
@requires(SEE_ORDERS)
def supplier(request: HttpRequest, code: str) -> HttpResponse:
    """One supplier now: distribution of lead times, its cards, its newest receipts."""
    location = request.GET.get("location", "")[:24]
    now = database_now()
    measured = scorecards.measure(code, location, now)
    came = scorecards.receipts(code, location, now)
    cards = scorecards.cards(supplier=code, most=MOST_LOCATIONS)
    if not came and not cards and not measured.settled.lines:
        known = select_value("SELECT 1 FROM retail.supplier WHERE code = %(code)s", {"code": code})
        if known is None:
            nobody = {"code": code, "back": reverse("suppliers")}
            return render_page(request, "suppliers/unknown.html", nobody, status=404)
    bars = chart.distribution([receipt.centidays for receipt in came if receipt.has_goods])
    context = {
        "code": code,
        "name": select_value(_NAME, {"code": code}),
        "location": location,
        "measured": measured,
        "cards": cards,
        "bars": bars,
        "last_bar": bars[-1] if bars else None,
        "chart_width": chart.width(bars),
        "chart_height": chart.HEIGHT,
        "bar_width": chart.WIDTH,
        "receipts": came[: scorecards.RECEIPTS_SHOWN],
        "days": scorecards.DAYS,
    }
    return render_page(request, "suppliers/supplier.html", context)
