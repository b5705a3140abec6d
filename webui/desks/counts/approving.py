"""Pages of the counts and adjustments that wait for a second person, and of past ones."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from ledger.kernel.amounts import amount_text
from ledger.messages import gettext_noop
from ledger.services import (
    ServiceError,
    approve_adjustment,
    approve_waiting_count,
    ask_for_recount,
    refuse_adjustment,
    refuse_waiting_count,
    set_adjustment_limit,
    void_count,
)
from webui.accounts.roles import APPROVE_COUNTS, SEE, SET_LIMITS, requires
from webui.desks.counts import adjustment_queries as adjustments
from webui.desks.counts import listing
from webui.desks.counts import queries as selectors
from webui.desks.counts.forms import ApproveForm, DecideForm, LimitForm, VoidForm
from webui.readmodel.choices import locations
from webui.readmodel.figures import signed_units_text
from webui.shell.commands import item_from_query, next_cards, query_text, run_command
from webui.shell.forms import CommandForm, Typed
from webui.shell.keyset import MOST_SUMMED
from webui.shell.page import render_page

# Values of the query parameter `show`: the list that the waiting page or the history shows.
COUNTS: Final = "counts"
ADJUSTMENTS: Final = "adjustments"


@require_GET
@requires(APPROVE_COUNTS)
def waiting(request: HttpRequest) -> HttpResponse:
    """Show the counts or the adjustments that wait for a second person, page by page."""
    return _show_waiting(request, {}, "", 200)


def _show_waiting(request: HttpRequest, form: Typed, refusal: str, status: int) -> HttpResponse:
    location = query_text(request, "location", 24)
    numbers = {
        COUNTS: listing.waiting_number(location=location),
        ADJUSTMENTS: adjustments.waiting_number(location=location),
    }
    subject = form.get("subject", "")
    shown = _shown_list(request, subject, numbers)
    listed = _requests(request, location) if shown == ADJUSTMENTS else _drafts(request, location)
    known = [subject for subject, _row, _is_mine in listed["rows"]]
    stores = locations()
    context = {
        "tab": "waiting",
        "shown": shown,
        "numbers": numbers,
        "total": numbers[shown],
        "most_summed": MOST_SUMMED,
        "location": location,
        "locations": stores,
        "places": {store.code: store.name for store in stores},
        "next_cards": next_cards(known),
        "waiting_count": selectors.waiting_count(),
        "form": form,
        # Show the refusal beside its row, or above the list if the row is gone.
        "refused_subject": subject if subject in known else "",
        "opened": subject if subject in known else query_text(request, "open", 40),
        "refusal": refusal,
        "kept_reason": "" if subject in known else form.get("reason", ""),
        # Pass the function, not an id: each form of the page needs its own id.
        "command_id": uuid4,
        "limit_minor": adjustments.adjustment_limit_minor(),
        **listed,
    }
    return render_page(request, "counts/waiting.html", context, status=status)


def _shown_list(request: HttpRequest, subject: str, numbers: Mapping[str, int]) -> str:
    """Return the list to show: waiting counts or waiting adjustments.

    If a decision on the row `subject` was refused, return the list that has this row. Else return
    the list that the query string names. If it names none, return the counts, or the
    adjustments if only adjustments wait.
    """
    if subject:
        return ADJUSTMENTS if subject.startswith("request-") else COUNTS
    asked = request.GET.get("show", "")
    if asked in numbers:
        return asked
    return ADJUSTMENTS if numbers[ADJUSTMENTS] and not numbers[COUNTS] else COUNTS


def _drafts(request: HttpRequest, location: str) -> dict[str, Any]:
    place, person = listing.WAITING.place_of(request.GET), request.user.get_username()
    page = listing.waiting_page(place, location=location)
    query = {"show": COUNTS, "location": location}
    links = listing.WAITING.links(listing.WAITING_HEADS, place, query, page)
    rows = [(f"count-{draft.id}", draft, draft.counted_by == person) for draft in page.rows]
    return {"rows": rows, **links.as_context()}


def _requests(request: HttpRequest, location: str) -> dict[str, Any]:
    place, person = adjustments.WAITING.place_of(request.GET), request.user.get_username()
    page = adjustments.waiting_page(place, location=location)
    query = {"show": ADJUSTMENTS, "location": location}
    links = adjustments.WAITING.links(adjustments.WAITING_HEADS, place, query, page)
    rows = [(f"request-{ask.id}", ask, ask.requested_by == person) for ask in page.rows]
    return {"rows": rows, **links.as_context()}


@require_POST
@requires(APPROVE_COUNTS)
def decide(request: HttpRequest) -> HttpResponse:
    """Approve or refuse a waiting count or adjustment, or ask for a second count."""
    form = DecideForm(request.POST)
    back = reverse("counts-waiting")
    query = request.GET.urlencode()

    def show(refusal: str, status: int) -> HttpResponse:
        return _show_waiting(request, form.typed, refusal, status)

    def work() -> str:
        return _execute(form, request.user.get_username())

    return run_command(request, work, show, f"{back}?{query}" if query else back)


def _execute(form: DecideForm, actor: str) -> str:
    values = form.cleaned()
    kind, number = values["subject"]
    match kind, values["action"]:
        case "count", "approve":
            return _approve_count(number, ApproveForm(form.data), actor)
        case "count", "recount":
            ask_for_recount(count_id=number, actor=actor)
            return gettext("A second count is asked for.")
        case "count", "refuse":
            command = CommandForm(form.data).cleaned()
            refuse_waiting_count(count_id=number, actor=actor, reason=values["reason"], **command)
            return gettext("Refused: the count changes nothing.")
        case "request", "approve":
            command = CommandForm(form.data).cleaned()
            booked = approve_adjustment(request_id=number, actor=actor, **command)
            return gettext("Booked as adjustment %(booked)s.") % {"booked": booked}
        case "request", "refuse":
            refuse_adjustment(request_id=number, reason=values["reason"], actor=actor)
            return gettext("Refused: nothing was booked.")
        case _, action:
            field, rule = "action", gettext_noop("approve, refuse or recount")
            raise ServiceError(field, action, rule)


def _approve_count(count_id: int, form: ApproveForm, actor: str) -> str:
    values = form.cleaned()
    done = approve_waiting_count(
        count_id=count_id,
        actor=actor,
        shown_expected_units=values["shown_expected"],
        command_id=values["command_id"],
    )
    return gettext("Approved, variance %(variance_units)s. The stock changes in a moment.") % {
        "variance_units": signed_units_text(done.variance_units)
    }


@require_POST
@requires(SET_LIMITS, company=True)
def limit(request: HttpRequest) -> HttpResponse:
    """Change the value above which an adjustment needs two people."""
    form = LimitForm(request.POST)

    def show(refusal: str, status: int) -> HttpResponse:
        return _show_waiting(request, form.typed, refusal, status)

    def work() -> str:
        values = form.cleaned()
        set_adjustment_limit(
            limit_minor=values["limit"],
            shown_minor=values["shown_minor"],
            actor=request.user.get_username(),
        )
        return gettext("Adjustments above %(limit)s wait for a second person.") % {
            "limit": amount_text(values["limit"])
        }

    return run_command(request, work, show, reverse("counts-waiting"))


@require_GET
@requires(SEE)
def history(request: HttpRequest) -> HttpResponse:
    """Show adjustments, or past counts with their variance at approval and their variance now."""
    return _show_history(request, {}, "", 200)


def _show_history(request: HttpRequest, form: Typed, refusal: str, status: int) -> HttpResponse:
    item = item_from_query(request)
    numbers = {
        COUNTS: listing.history_number(**item),
        ADJUSTMENTS: adjustments.history_number(**item),
    }
    shown = ADJUSTMENTS if request.GET.get("show") == ADJUSTMENTS and not form else COUNTS
    listed = _adjusted(request, item) if shown == ADJUSTMENTS else _counted(request, item)
    voidable = {str(count.id) for count in listed.get("counts", ()) if count.is_voidable}
    refused = "".join(voidable & {form.get("count_id", "")})
    stores = locations()
    context = {
        "tab": "history",
        "shown": shown,
        "numbers": numbers,
        "total": numbers[shown],
        "most_summed": MOST_SUMMED,
        **item,
        "locations": stores,
        "places": {store.code: store.name for store in stores},
        # Show the refusal beside its count, or above the list if the count can't be voided.
        "refused_count": refused,
        "opened": refused or query_text(request, "open", 20),
        "kept_reason": form.get("reason", ""),
        "waiting_count": selectors.waiting_count(),
        "refusal": refusal,
        # Pass the function, not an id: each form of the page needs its own id.
        "command_id": uuid4,
        **listed,
    }
    return render_page(request, "counts/history.html", context, status=status)


def _counted(request: HttpRequest, item: Typed) -> dict[str, Any]:
    place = listing.HISTORY.place_of(request.GET)
    page = listing.history_page(place, **item)
    links = listing.HISTORY.links(listing.HISTORY_HEADS, place, item, page)
    return {"counts": page.rows, **links.as_context()}


def _adjusted(request: HttpRequest, item: Typed) -> dict[str, Any]:
    place = adjustments.HISTORY.place_of(request.GET)
    page = adjustments.history_page(place, **item)
    query = {"show": ADJUSTMENTS, **item}
    links = adjustments.HISTORY.links(adjustments.HISTORY_HEADS, place, query, page)
    return {"adjustments": page.rows, **links.as_context()}


@require_POST
@requires(APPROVE_COUNTS)
def void(request: HttpRequest) -> HttpResponse:
    """Void an approved count of the last 48 h."""
    form = VoidForm(request.POST)

    def work() -> str:
        void_count(actor=request.user.get_username(), **form.cleaned())
        return gettext("The count is void. The stock is now computed from the count before it.")

    def show(refusal: str, status: int) -> HttpResponse:
        return _show_history(request, form.typed, refusal, status)

    return run_command(
        request, work, show, f"{reverse('counts-history')}?{request.GET.urlencode()}".rstrip("?")
    )
