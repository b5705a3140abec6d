"""The page that explains the figures of one item, with the form for parts of its policy."""

import time
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from ledger.messages import gettext_noop
from webui.accounts.roles import CHANGE_POLICY, SEE, abilities, requires
from webui.desks.stock.facts import fact_page, position_from_query
from webui.desks.stock.forms import PolicyForm
from webui.desks.stock.policy import change, fields_of
from webui.desks.stock.tabs import LABELS, Shown, tab_context, tab_of
from webui.readmodel import explain
from webui.readmodel.codes import codes_of
from webui.readmodel.live_key import live_key
from webui.readmodel.proposals import open_price_of, open_reorder_of
from webui.readmodel.stock import stock_rows
from webui.shell.commands import run_command
from webui.shell.desk import Refusal
from webui.shell.page import NAVIGATION, render_page

DESK_LABELS: Final = {
    "counts": gettext_noop("Count or adjust"),
    "transfers": gettext_noop("Transfer"),
    "reorders": gettext_noop("Reorder proposals"),
    "orders": gettext_noop("Orders"),
    "prices": gettext_noop("Price proposals"),
}


@require_GET
@requires(SEE)
def item(request: HttpRequest, location: str, sku: str) -> HttpResponse:
    """Show the facts of an item with their running sum, and the figures computed from them."""
    return _show(request, location, sku, None)


@require_POST
@requires(CHANGE_POLICY)
def change_policy(request: HttpRequest) -> HttpResponse:
    """Write the policy values of the item page's form and redirect to the page."""
    names = fields_of(abilities(request.user))
    location, sku = request.GET.get("location", ""), request.GET.get("sku", "")
    if explain.policy(f"{location}|{sku}") is None:
        message = f"{location}|{sku} is not ranged: it has no policy"
        raise Http404(message)
    form, actor = PolicyForm(request.POST, names), request.user.get_username()

    def work() -> str:
        return change(form, location=location, sku=sku, actor=actor)

    def show(message: str, status: int) -> HttpResponse:
        refusal = Refusal(f"{location}|{sku}", message, form.typed, status)
        return _show(request, location, sku, refusal)

    back = f"{reverse('item', args=(location, sku))}?tab=policy"
    return run_command(request, work, show, back)


def _show(request: HttpRequest, location: str, sku: str, refusal: Refusal | None) -> HttpResponse:
    inv_key = f"{location}|{sku}"
    page = fact_page(inv_key, position_from_query(request))
    live, now_us = live_key(inv_key), time.time_ns() // 1000
    shown = Shown(inv_key, explain.item(inv_key), explain.policy(inv_key), page, live, now_us)
    if shown.level is None and page.newest is None and shown.policy is None:
        hints = explain.lookup_hints(location, sku)
        unknown = {"location": location, "sku": sku, "known": hints}
        return render_page(request, "stock/unknown.html", unknown, status=404)
    tab = "policy" if refusal else tab_of(request)
    context = {
        **_header(request, shown, location, sku),
        "tab": tab,
        "tab_labels": LABELS,
        "tab_template": f"stock/tabs/{tab}.html",
        **tab_context(tab, shown, abilities(request.user), refusal),
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "stock/item.html", context, live_keys=[inv_key], status=status)


def _header(request: HttpRequest, shown: Shown, location: str, sku: str) -> dict[str, Any]:
    level, page = shown.level, shown.page
    return {
        "inv_key": shown.inv_key,
        "location": location,
        "sku": sku,
        "item": level,
        "policy": shown.policy,
        "codes": codes_of([sku])[sku],
        "status": _status_of(shown.inv_key),
        "worker": shown.live,
        "reorder": open_reorder_of(shown.inv_key),
        "price_proposal": open_price_of(shown.inv_key),
        "desks": _desks(request, location, sku),
        "page": page,
        "newest_first": page.facts[::-1],
        "adds_up": level is not None and page.total_units == level.on_hand_units,
    }


def _status_of(inv_key: str) -> str:
    rows = stock_rows([inv_key])
    return rows[0].status if rows else "out"


@dataclass(frozen=True, slots=True)
class DeskLink:
    """A link to a desk with this item, for example to count it."""

    label: str
    url: str


def _desks(request: HttpRequest, location: str, sku: str) -> list[DeskLink]:
    """Return links for this item to the desks that the person may open."""
    may = abilities(request.user)
    query = urlencode({"location": location, "sku": sku})
    return [
        DeskLink(gettext(DESK_LABELS[name]), f"{reverse(name)}?{query}")
        for name, _, _, ability in NAVIGATION
        if name in DESK_LABELS and ability in may
    ]
