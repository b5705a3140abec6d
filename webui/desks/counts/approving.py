"""Pages for approvers: counts and adjustments that wait for a second person, and past counts."""

from urllib.parse import urlencode
from uuid import uuid4

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from inventory.tables.columns import AMOUNT_MAX
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
from webui.desks.counts import queries as selectors
from webui.readmodel.choices import locations
from webui.readmodel.figures import money_text, signed_units_text
from webui.shell.commands import (
    Form,
    command_id_of,
    form_of,
    item_from_query,
    next_cards,
    parse_id,
    parse_money,
    parse_signed_int,
    query_text,
    run_command,
)
from webui.shell.page import render_page


@require_GET
@requires(APPROVE_COUNTS)
def waiting(request: HttpRequest) -> HttpResponse:
    """Show every count and adjustment that waits for a second person."""
    return _show_waiting(request, {}, "", 200)


def _show_waiting(request: HttpRequest, form: Form, refusal: str, status: int) -> HttpResponse:
    location = query_text(request, "location", 24)
    drafts = selectors.waiting_counts(location=location)
    requests = selectors.waiting_requests(location=location)
    person = request.user.get_username()
    subject = form.get("subject", "")
    known = [f"count-{draft.id}" for draft in drafts] + [f"request-{ask.id}" for ask in requests]
    context = {
        "tab": "waiting",
        "location": location,
        "locations": locations(),
        "counts": [(draft, draft.counted_by == person) for draft in drafts],
        "requests": [(ask, ask.requested_by == person) for ask in requests],
        "next_cards": next_cards(known),
        "waiting_count": len(drafts) + len(requests),
        "form": form,
        # Show the refusal beside its row, or above the list if the row is gone.
        "refused_subject": subject if subject in known else "",
        "refusal": refusal,
        "kept_reason": "" if subject in known else form.get("reason", ""),
        # Pass the function, not an id: each form of the page needs its own id.
        "command_id": uuid4,
        "limit_minor": selectors.adjustment_limit_minor(),
        "query": urlencode({"location": location}) if location else "",
    }
    return render_page(request, "counts/waiting.html", context, status=status)


@require_POST
@requires(APPROVE_COUNTS)
def decide(request: HttpRequest) -> HttpResponse:
    """Approve, refuse, or request a second count."""
    form = form_of(request)
    back = reverse("counts-waiting")
    query = request.GET.urlencode()

    def show(refusal: str, status: int) -> HttpResponse:
        return _show_waiting(request, form, refusal, status)

    def work() -> str:
        return _execute(form, request.user.get_username())

    return run_command(request, work, show, f"{back}?{query}" if query else back)


def _execute(form: Form, actor: str) -> str:
    kind, _, digits = form.get("subject", "").partition("-")
    number = parse_id({"subject": digits}, "subject")
    match kind, form.get("action"):
        case "count", "approve":
            return _approve_count(number, form, actor)
        case "count", "recount":
            ask_for_recount(count_id=number, actor=actor)
            return "A second count is asked for."
        case "count", "refuse":
            refuse_waiting_count(
                count_id=number,
                actor=actor,
                reason=form.get("reason", ""),
                command_id=command_id_of(form),
            )
            return "Refused: the count changes nothing."
        case "request", "approve":
            booked = approve_adjustment(
                request_id=number, actor=actor, command_id=command_id_of(form)
            )
            return f"Booked as adjustment {booked}."
        case "request", "refuse":
            refuse_adjustment(request_id=number, reason=form.get("reason", ""), actor=actor)
            return "Refused: nothing was booked."
        case _, action:
            field, rule = "action", "approve, refuse or recount"
            raise ServiceError(field, action, rule)


def _approve_count(count_id: int, form: Form, actor: str) -> str:
    done = approve_waiting_count(
        count_id=count_id,
        actor=actor,
        shown_expected_units=parse_signed_int(form, "shown_expected"),
        command_id=command_id_of(form),
    )
    return f"Approved, variance {signed_units_text(done.variance_units)}. Stock follows."


@require_POST
@requires(SET_LIMITS, company=True)
def limit(request: HttpRequest) -> HttpResponse:
    """Change the value above which an adjustment needs two people."""
    form = form_of(request)

    def show(refusal: str, status: int) -> HttpResponse:
        return _show_waiting(request, form, refusal, status)

    def work() -> str:
        wanted = parse_money(form, "limit", high=AMOUNT_MAX)
        set_adjustment_limit(
            limit_minor=wanted,
            shown_minor=parse_id(form, "shown_minor"),
            actor=request.user.get_username(),
        )
        return f"Adjustments above {money_text(wanted)} wait for a second person."

    return run_command(request, work, show, reverse("counts-waiting"))


@require_GET
@requires(SEE)
def history(request: HttpRequest) -> HttpResponse:
    """Show counts with the variance at approval and the variance restated by late facts."""
    return _show_history(request, {}, "", 200)


def _show_history(request: HttpRequest, form: Form, refusal: str, status: int) -> HttpResponse:
    item = item_from_query(request)
    counts = selectors.count_history(**item)
    refused = {str(count.id) for count in counts if count.is_voidable} & {form.get("count_id", "")}
    context = {
        "tab": "history",
        **item,
        "locations": locations(),
        "counts": counts,
        # Show the refusal beside its count, or above the list if the count can't be voided.
        "refused_count": "".join(refused),
        "kept_reason": form.get("reason", ""),
        "adjustments": selectors.adjustment_history(**item),
        "waiting_count": selectors.waiting_count(),
        "refusal": refusal,
        # Pass the function, not an id: each form of the page needs its own id.
        "command_id": uuid4,
        "query": urlencode(item),
    }
    return render_page(request, "counts/history.html", context, status=status)


@require_POST
@requires(APPROVE_COUNTS)
def void(request: HttpRequest) -> HttpResponse:
    """Void an approved count of the last 48 h."""
    form = form_of(request)

    def work() -> str:
        void_count(
            count_id=parse_id(form, "count_id"),
            actor=request.user.get_username(),
            reason=form.get("reason", ""),
            command_id=command_id_of(form),
        )
        return "The count is void: stock follows the count before it."

    def show(refusal: str, status: int) -> HttpResponse:
        return _show_history(request, form, refusal, status)

    return run_command(
        request, work, show, f"{reverse('counts-history')}?{request.GET.urlencode()}".rstrip("?")
    )
