"""The page that ranges an item: it gives the item a policy and an opening stock.

Tills also sell items that are not ranged. Their sales change stock, but the rules decide nothing
without a policy (docs/domain.md 2.3, 2.4). Ranging such an item ends its task "Unknown item".
"""

from typing import Any, Final
from uuid import uuid4

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from ledger.items.reference import LONGEST_NAME
from ledger.kernel.rows import select_value
from ledger.pricing.plausibility import ImplausiblePrice, require_plausible_policy
from ledger.ranging.service import range_new_item
from ledger.services import ServiceError
from ledger.tasks.kinds import UNKNOWN_ITEM
from webui.accounts.roles import RANGE_ITEMS, requires
from webui.desks.ranging.columns import shown_sections
from webui.desks.ranging.forms import OPENINGS, ZERO, ItemForm, PolicyForm
from webui.desks.tasks.queries import open_tasks
from webui.readmodel.choices import Choice, locations, suppliers
from webui.readmodel.names import item_name, store_name
from webui.shell.commands import item_from_query, run_and_redirect
from webui.shell.forms import Typed
from webui.shell.page import render_page

_ON_HAND: Final = """
SELECT (SELECT on_hand_units FROM read_model.stock WHERE inv_key = %(key)s) AS units
"""
_NAME: Final = "SELECT (SELECT name FROM retail.product WHERE code = %(sku)s) AS name"


@require_GET
@requires(RANGE_ITEMS)
def ranging(request: HttpRequest) -> HttpResponse:
    """Show the form, filled with the item in the query string, and the items to be ranged."""
    return _show(request, item_from_query(request), "", 200)


def _show(request: HttpRequest, form: Typed, refusal: str, status: int) -> HttpResponse:
    location, sku = form.get("location", ""), form.get("sku", "")
    on_hand = select_value(_ON_HAND, {"key": f"{location}|{sku}"})
    context: dict[str, Any] = {
        "form": form,
        "refusal": refusal,
        "tick": _amounts(form) if refusal and _is_implausible_price(form) else "",
        "places": _places(location),
        "suppliers": suppliers(),
        "sections": shown_sections(form),
        "openings": OPENINGS,
        # An item with facts may have units on the shelf that nobody has counted.
        "opening": form.get("opening") or (ZERO if on_hand is None else "unknown"),
        "on_hand_units": on_hand,
        "name": form.get("name") or select_value(_NAME, {"sku": sku}) or "",
        "longest_name": LONGEST_NAME,
        "unknown": open_tasks(UNKNOWN_ITEM),
        "command_id": uuid4(),
    }
    return render_page(request, "ranging/desk.html", context, status=status)


def _amounts(form: Typed) -> str:
    """Return the typed cost and regular price as one text: `4.20 / 9.99`.

    A person confirms this text. Other amounts give another text, which needs a new confirmation.
    """
    return " / ".join(form.get(name) or "none" for name in ("cost", "regular"))


def _is_implausible_price(form: Typed) -> bool:
    """Return True if a refused form only needs a confirmation of its amounts."""
    sku = form.get("sku", "")
    try:
        require_plausible_policy(
            sku, f"{form.get('location', '')}|{sku}", PolicyForm(form).policy()
        )
    except ServiceError as refused:
        return isinstance(refused, ImplausiblePrice)
    return False


def _places(asked_for: str) -> list[Choice]:
    """Return every named location, and `asked_for`, which may be a location without a name."""
    named = locations()
    if not asked_for or any(place.code == asked_for for place in named):
        return named
    return [Choice(asked_for, asked_for), *named]


@require_POST
@requires(RANGE_ITEMS)
def range_item(request: HttpRequest) -> HttpResponse:
    """Range the item of the form and redirect to it; a refused form keeps its input."""
    form = ItemForm(request.POST)

    def show(refusal: str, status: int) -> HttpResponse:
        return _show(request, form.typed, refusal, status)

    return run_and_redirect(request, lambda: _range_item(form, request.user.get_username()), show)


def _range_item(form: ItemForm, actor: str) -> tuple[str, str]:
    item, values = form.item(), form.cleaned()
    range_new_item(
        item=item,
        actor=actor,
        is_confirmed=form.text("meant") == _amounts(form.typed),
        command_id=values["command_id"],
    )
    is_known = values["opening"] == ZERO
    counted = "" if is_known else gettext(" Its stock is known once the staff have counted it.")
    back = reverse("item", args=[item.location, item.sku])
    return gettext("%(item)s is in the range of %(store)s.%(counted)s") % {
        "item": item_name(item.sku),
        "store": store_name(item.location),
        "counted": counted,
    }, back
