"""Find: one card per product, with its units in the person's store and in other stores."""

from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from ledger.items.scanned import scanned_item
from ledger.kernel.errors import ServiceError
from ledger.messages import gettext_noop, translated
from webui.accounts.roles import SEE, requires
from webui.desks.stock.home_store import chosen_store, home_store
from webui.readmodel import find as selectors
from webui.readmodel.choices import Choice, locations
from webui.shell.page import render_page
from webui.translation.messages import translate

_SORTS: Final = (
    (selectors.NEAREST, gettext_noop("nearest first")),
    (selectors.MOST, gettext_noop("most units first")),
    (selectors.BY_NAME, gettext_noop("by name")),
)
# This header allows the camera on the pages Find and Scan. `webui.config.permissions` denies it on
# all other pages.
_CAMERA: Final = "camera=(self), microphone=(), geolocation=()"


@require_GET
@requires(SEE)
def find(request: HttpRequest) -> HttpResponse:
    """Show products that match a search. Without a search, show this browser's recent products."""
    text, mine = _text(request), chosen_store(request)
    sort, stores = request.GET.get("sort", selectors.NEAREST), locations()
    found = selectors.find(text, mine=mine, sort=sort) if text else selectors.NOTHING
    context = {
        "text": text,
        "mine": mine,
        "home": home_store(request),
        "sort": sort,
        "sorts": _SORTS,
        "found": found,
        "why": selectors.why_not_found(text) if text and not found.cards else "",
        "locations": stores,
        "mine_name": _name(mine, stores),
    }
    keys = [card.mine.inv_key for card in found.cards if card.mine]
    return _with_camera(render_page(request, "find/find.html", context, live_keys=keys))


@require_GET
@requires(SEE)
def scan(request: HttpRequest) -> HttpResponse:
    """Show the one product with the scanned code."""
    text, mine, stores = _text(request), chosen_store(request), locations()
    card = selectors.exact(text, mine=mine) if text else None
    context = {
        "text": text,
        "mine": mine,
        "home": home_store(request),
        "card": card,
        "why": selectors.why_not_found(text) if text and not card else "",
        "locations": stores,
        "mine_name": _name(mine, stores),
    }
    keys = [card.mine.inv_key] if card and card.mine else []
    return _with_camera(render_page(request, "find/scan.html", context, live_keys=keys))


@require_GET
@requires(SEE)
def scan_code(request: HttpRequest) -> JsonResponse:
    """Return a scanned code's SKU and the units in its package, or why no item was found."""
    text = _text(request)
    try:
        item = scanned_item("", text)
    except ServiceError as refused:
        rule = translated(refused.rule, translate)
        return JsonResponse({"why": gettext("%(rule)s. Nothing was added.") % {"rule": rule}})
    return JsonResponse({"sku": item.sku, "units": item.pack_units})


def _text(request: HttpRequest) -> str:
    return request.GET.get("q", "").strip()[:100]


def _name(location: str, stores: list[Choice]) -> str:
    return next((store.name for store in stores if store.code == location), location)


def _with_camera(response: HttpResponse) -> HttpResponse:
    response["Permissions-Policy"] = _CAMERA
    return response
