"""Pages for adjustments (units booked by hand, with a reason).

The reason decides whether stock rises or falls. An adjustment waits for the approval of a second
person if its value is above a limit, or if the item's cost is unknown.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, assert_never
from urllib.parse import urlencode
from uuid import uuid4

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from inventory.tables.stock_adjustment import REASONS as ADJUSTMENT_REASONS
from ledger.services import (
    Adjust,
    Booked,
    ServiceError,
    Waiting,
    on_hand_sign,
    request_adjustment,
    unavailable_sign,
    worth_of,
)
from webui.accounts.roles import ADJUST, requires
from webui.desks.counts import adjustment_queries as adjustments
from webui.desks.counts import queries as selectors
from webui.desks.counts.forms import PREVIEW, AdjustForm, BookForm
from webui.desks.sends.templatetags.needs import amount
from webui.desks.stock.home_store import home_store
from webui.readmodel.choices import locations
from webui.readmodel.figures import signed_units_text, units_text
from webui.readmodel.names import item_at_store
from webui.shell.commands import query_text, run_and_redirect
from webui.shell.forms import CommandForm, Typed
from webui.shell.page import render_page
from webui.shell.refusals import refused_text
from webui.shell.templatetags.shell import when

_SIGNS: Final = {1: "+", 0: "", -1: "\N{MINUS SIGN}"}


@dataclass(frozen=True, slots=True)
class Reason:
    """An adjustment reason and the direction in which it moves stock."""

    code: str
    direction: str


@dataclass(frozen=True, slots=True)
class Effect:
    """An adjustment's effect on stock and value. If `waits`, a second person must approve it.

    `value_minor` is None if the item's cost is unknown. `occurred_at` is None if the person typed
    no time. `stock` holds the item's units before the adjustment.
    """

    on_hand_units: int
    unavailable_units: int
    value_minor: int | None
    waits: bool
    occurred_at: datetime | None
    stock: adjustments.ItemStock | None

    @property
    def too_few(self) -> str:
        """A warning if the adjustment takes more units than there are, else an empty text.

        There is no warning if the person typed the time of the adjustment, because a count after
        this time may have changed the units.
        """
        if self.stock is None or self.occurred_at is not None:
            return ""
        for there, moved, words in (
            (self.stock.on_hand_units, self.on_hand_units, gettext("on hand")),
            (self.stock.unavailable_units, self.unavailable_units, gettext("unavailable")),
        ):
            if there is not None and moved < 0 and there + moved < 0:
                after = units_text(there + moved)
                return gettext(
                    "The stock record shows %(there)s %(words)s, so %(after)s would remain. "
                    "Check item, reason and units."
                ) % {"there": units_text(there), "words": words, "after": after}
        return ""


def _reasons() -> list[Reason]:
    return [Reason(code, _direction(code)) for code in ADJUSTMENT_REASONS]


def _direction(reason: str) -> str:
    parts = (
        (gettext("on hand"), on_hand_sign(reason)),
        (gettext("unavailable"), unavailable_sign(reason)),
    )
    return ", ".join(f"{name} {_SIGNS[sign]}" for name, sign in parts if sign)


@require_http_methods(["GET", "POST"])
@requires(ADJUST)
def adjust(request: HttpRequest) -> HttpResponse:
    """Show the form, or preview or book an adjustment. Large adjustments wait for approval."""
    if request.method == "GET":
        given = {name: query_text(request, name, 32) for name in ("location", "sku", "reason")}
        given["location"] = given["location"] or home_store(request)
        return _show(request, given, "", 200)
    form = AdjustForm(request.POST)
    if form.text("action") == PREVIEW:
        return _preview(request, form)

    def show(refusal: str, status: int) -> HttpResponse:
        return _show(request, form.typed, refusal, status)

    def work() -> tuple[str, str]:
        booked = _book(form, request.user.get_username())
        # The next adjustment is usually one of the same store.
        query = urlencode({"location": form.text("location")})
        return booked, f"{reverse('counts-adjust')}?{query}"

    return run_and_redirect(request, work, show)


def _preview(request: HttpRequest, form: AdjustForm) -> HttpResponse:
    try:
        effect = _effect(form.wanted())
    except ServiceError as error:
        return _show(request, form.typed, refused_text(error), 422)
    return _show(request, form.typed, "", 200, effect)


def _show(
    request: HttpRequest, form: Typed, refusal: str, status: int, effect: Effect | None = None
) -> HttpResponse:
    context = {
        "tab": "adjust",
        "form": form,
        "reasons": _reasons(),
        "locations": locations(),
        "limit_minor": adjustments.adjustment_limit_minor(),
        "mine": adjustments.requests_of(request.user.get_username()),
        "waiting_count": selectors.waiting_count(),
        "meaning": effect,
        "refusal": refusal,
        "command_id": uuid4(),
    }
    return render_page(request, "counts/adjust.html", context, status=status)


def _effect(wanted: Adjust) -> Effect:
    value_minor, waits = worth_of(wanted=wanted)
    return Effect(
        on_hand_sign(wanted.reason) * wanted.quantity_units,
        unavailable_sign(wanted.reason) * wanted.quantity_units,
        value_minor,
        waits,
        wanted.occurred_at,
        adjustments.item_stock(wanted.location, wanted.sku),
    )


def _book(form: AdjustForm, actor: str) -> str:
    BookForm(form.data).cleaned()
    wanted = form.wanted()
    command = CommandForm(form.data).cleaned()
    done = request_adjustment(wanted=wanted, actor=actor, **command)
    as_of = (
        ""
        if wanted.occurred_at is None
        else gettext(" as of %(occurred_at)s") % {"occurred_at": when(wanted.occurred_at)}
    )
    what = {
        "item": item_at_store(wanted.sku, wanted.location),
        "changes": _changes_text(wanted),
        "as_of": as_of,
    }
    return _result_text(done, gettext("%(item)s: %(changes)s%(as_of)s") % what)


def _changes_text(wanted: Adjust) -> str:
    """Return the movements of an adjustment: `on hand −1, unavailable +1`."""
    parts = (
        (gettext("on hand"), on_hand_sign(wanted.reason) * wanted.quantity_units),
        (gettext("unavailable"), unavailable_sign(wanted.reason) * wanted.quantity_units),
    )
    return ", ".join(f"{name} {signed_units_text(units)}" for name, units in parts if units)


def _result_text(done: Booked | Waiting, what: str) -> str:
    worth = (
        gettext("the cost of the item is not known")
        if done.value_minor is None
        else gettext("worth %(amount)s at cost") % {"amount": amount(done.value_minor)}
    )
    match done:
        case Booked():
            return gettext("Booked: %(what)s, %(worth)s.") % {"what": what, "worth": worth}
        case Waiting():
            return gettext("Waiting for another person's approval: %(what)s, %(worth)s.") % {
                "what": what,
                "worth": worth,
            }
        case _:
            assert_never(done)
