"""Pages for transfers: a destination requests and receives units, and the source ships them."""

import json
from collections.abc import Sequence
from typing import Final
from uuid import uuid4

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from ledger.access.scope import OutOfScope, current
from ledger.messages import Message, gettext_noop, translated
from ledger.services import (
    ServiceError,
    ShipTransfer,
    cancel_transfer,
    correct_transfer_receipt,
    move_transfer_due_date,
    plan_transfer,
    receive_transfer,
    ship_planned_transfer,
    ship_transfer,
)
from webui.accounts.refusals import REASON
from webui.accounts.roles import DECIDE_REORDERS, SEE_TRANSFERS, TRANSFER, abilities, requires
from webui.desks.transfers import listing
from webui.desks.transfers import queries as selectors
from webui.desks.transfers.forms import (
    SHIP,
    DeliveredForm,
    RequestForm,
    ShipForm,
    StepForm,
    TransferDueForm,
)
from webui.readmodel.choices import Choice, locations, partners
from webui.readmodel.figures import counted_text
from webui.readmodel.find import holders
from webui.readmodel.names import item_name, store_name
from webui.shell.commands import (
    next_cards,
    query_text,
    run_command,
)
from webui.shell.desk import view_of
from webui.shell.forms import Typed
from webui.shell.keyset import MOST_SUMMED
from webui.shell.listing import address
from webui.shell.page import render_page
from webui.shell.refusals import named
from webui.translation.messages import translate

_FIELDS: Final = ("source", "sku", "units", "due_on")


@require_GET
@requires(SEE_TRANSFERS)
def transfers(request: HttpRequest) -> HttpResponse:
    """Show transfers: planned and shipped, only stuck, or received."""
    given = {
        "destination": query_text(request, "location", 24),
        "sku": query_text(request, "sku", 32),
        "units": query_text(request, "units", 7),
        "reorder_id": query_text(request, "reorder_id", 120),
    }
    return _show(request, given, "", 200)


def _show(request: HttpRequest, form: Typed, refusal: str, status: int) -> HttpResponse:
    view = view_of(request, selectors.VIEWS)
    location = query_text(request, "location", 24)
    stores = partners()
    places = {store.code: store.name for store in stores}
    keys = listing.keys_of(view)
    place = keys.place_of(request.GET)
    page = listing.transfer_page(
        view,
        place,
        location=location,
        person=request.user.get_username(),
        names=json.dumps(places),
    )
    subject = form.get("transfer", "")
    refused = subject if subject in {row.id_text for row in page.rows} else ""
    query = {"view": view, "location": location}
    context = {
        "view": view,
        "views": selectors.VIEWS,
        "location": location,
        "locations": locations(),
        "partners": stores,
        "sources": _sources(form, stores),
        "places": places,
        "transfers": page.rows,
        "totals": listing.transfer_totals(view, location=location),
        "most_summed": MOST_SUMMED,
        "next_cards": next_cards([row.anchor for row in page.rows]),
        "stuck_count": selectors.stuck_count(),
        "form": form,
        "refusal": refusal,
        "is_asked": not subject and any(form.get(name) for name in _FIELDS),
        "refused_transfer": refused,
        "opened": refused or query_text(request, "open", 20),
        # Pass the function, not an id: each form of the page needs its own id.
        "command_id": uuid4,
        **keys.links(listing.columns_of(view), place, query, page).as_context(),
    }
    return render_page(request, "transfers/desk.html", context, status=status)


def _sources(form: Typed, stores: Sequence[Choice]) -> list[Choice]:
    """Return the locations that can send the form's item, those with the most units first.

    These units only sort the list. The page must not show them (decision 0046). Return all
    locations if the form has no item, or if no location has it.
    """
    units = holders(form["sku"]) if form.get("sku") else {}
    units.pop(form.get("destination", ""), None)
    if not units:
        return list(stores)
    chosen = form.get("source", "")
    found = [store for store in stores if store.code in units or store.code == chosen]
    return sorted(found, key=lambda store: (-units.get(store.code, 0), store.code))


def _back(request: HttpRequest) -> str:
    kept = ("view", "location", "sort", "after", "before")
    return address(
        {name: request.GET[name] for name in kept if name in request.GET}, reverse("transfers")
    )


@require_POST
@requires(TRANSFER)
def request_transfer(request: HttpRequest) -> HttpResponse:
    """Plan a transfer, or ship one without a plan."""
    form = RequestForm(request.POST)
    if form.text("reorder_id") and DECIDE_REORDERS not in abilities(request.user):
        message = gettext_noop(
            "This transfer answers a need. To request it, or to send it without a request, you "
            "need the right to decide reorders. Nothing was changed."
        )
        raise PermissionDenied(message)

    def show(refusal: str, status: int) -> HttpResponse:
        return _show(request, form.typed, refusal, status)

    def work() -> str:
        return _request_transfer(form, request.user.get_username())

    try:
        return run_command(request, work, show, _back(request))
    except OutOfScope as refused:
        # Show the form with its input. The general page for refused requests would lose the input.
        setattr(request, REASON, str(refused))
        return show(translated(named(refused.args[0]), translate), 403)


def _request_transfer(form: RequestForm, actor: str) -> str:
    values, route = form.cleaned(), form.route()
    reorder_id = values["reorder_id"] or None
    if values["action"] == SHIP:
        _refuse_to_send_for_others(route.source)
        leaving = ShipTransfer(
            route, reorder_id=reorder_id, beyond_stock_allowed=values["beyond_stock"]
        )
        sent = ship_transfer(leaving, actor=actor, command_id=values["command_id"])
        return gettext("Sent %(units)s of %(item)s to %(store)s: transfer %(transfer_ref)s.") % {
            "units": counted_text(route.units, "unit"),
            "item": item_name(route.sku),
            "store": store_name(route.destination),
            "transfer_ref": sent.transfer_ref,
        }
    planned = plan_transfer(
        route=route,
        reorder_id=reorder_id,
        actor=actor,
        command_id=values["command_id"],
    )
    return gettext("Asked %(store)s for %(units)s of %(item)s: transfer %(transfer_ref)s.") % {
        "store": store_name(route.source),
        "units": counted_text(route.units, "unit"),
        "item": item_name(route.sku),
        "transfer_ref": planned.transfer_ref,
    }


def _refuse_to_send_for_others(source: str) -> None:
    if not current().allows(source):
        message = Message(
            "Only the people of %(source)s can send its goods. Press “Ask for it” to ask them for "
            "the units. Nothing was changed.",
            source=store_name(source),
        )
        raise OutOfScope(message)


@require_POST
@requires(SEE_TRANSFERS)
def step(request: HttpRequest) -> HttpResponse:
    """Execute one step of a transfer. People without the right *transfer* can only cancel it."""
    form = StepForm(request.POST)
    moves_goods = TRANSFER in abilities(request.user)
    if not moves_goods and form.text("action") != "cancel":
        message = gettext_noop("This action needs the right to transfer. Nothing was changed.")
        raise PermissionDenied(message)

    def show(refusal: str, status: int) -> HttpResponse:
        return _show(request, form.typed, refusal, status)

    def work() -> str:
        return _step(form, request.user.get_username(), others_allowed=moves_goods)

    return run_command(request, work, show, _back(request))


def _step(form: StepForm, actor: str, *, others_allowed: bool) -> str:
    line = form.cleaned()["transfer"]
    match form.cleaned()["action"]:
        case "ship":
            return _ship(line, ShipForm(form.data), actor)
        case "cancel":
            cancel_transfer(shipment_line_id=line, others_allowed=others_allowed, actor=actor)
            return gettext("Cancelled: the units are no longer on order.")
        case "re_date":
            return _re_date(line, TransferDueForm(form.data), actor)
        case "receive":
            return gettext("Received. %(line)s") % {
                "line": _difference(_receive(line, DeliveredForm(form.data), actor))
            }
        case "correct":
            return gettext("Corrected. %(line)s") % {
                "line": _difference(_correct(line, DeliveredForm(form.data), actor))
            }
        case unknown:
            field, rule = "action", gettext_noop("ship, cancel, re-date, receive or correct")
            raise ServiceError(field, unknown, rule)


def _ship(line: int, form: ShipForm, actor: str) -> str:
    values = form.cleaned()
    ship_planned_transfer(
        shipment_line_id=line,
        units=values["units"],
        beyond_stock_allowed=values["beyond_stock"],
        actor=actor,
        command_id=values["command_id"],
    )
    return gettext("%(units)s on the way.") % {"units": counted_text(values["units"], "unit")}


def _re_date(line: int, form: TransferDueForm, actor: str) -> str:
    move_transfer_due_date(shipment_line_id=line, actor=actor, **form.cleaned())
    return gettext("Due on %(due_on)s.") % {"due_on": form.cleaned()["due_on"]}


def _receive(line: int, form: DeliveredForm, actor: str) -> int:
    return receive_transfer(
        shipment_line_id=line,
        delivered=form.delivered(),
        actor=actor,
        command_id=form.cleaned()["command_id"],
    )


def _correct(line: int, form: DeliveredForm, actor: str) -> int:
    return correct_transfer_receipt(
        shipment_line_id=line,
        delivered=form.delivered(),
        actor=actor,
        command_id=form.cleaned()["command_id"],
    )


def _difference(lost: int) -> str:
    if lost > 0:
        return gettext("%(lost)s lost on the way.") % {"lost": counted_text(lost, "unit")}
    if lost < 0:
        return gettext("%(more)s more than were sent.") % {"more": counted_text(-lost, "unit")}
    return gettext("Everything arrived.")
