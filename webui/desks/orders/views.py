"""Pages for purchase orders: lists by view, overdue lines, and one order in full."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from ledger.kernel.amounts import currency_mark
from ledger.ordering.orders import version_of_drafts
from ledger.ordering.plausibility import is_far_beyond
from ledger.ordering.supplier_terms import days_of
from ledger.reorders.pending import MOST_ORDERS
from ledger.services import Conflict, NotOrdered, ServiceError, send_orders
from webui.accounts.roles import MANAGE_ORDERS, SEE_ORDERS, abilities, requires
from webui.desks.orders import listing
from webui.desks.orders import queries as selectors
from webui.desks.orders.commands import act_on
from webui.desks.orders.document import buyer, csv_text, file_name, numbered
from webui.desks.orders.forms import ActionForm, SendManyForm, UnitsForm
from webui.desks.orders.lines import Line, order_lines
from webui.desks.orders.order import Header, header, history
from webui.desks.orders.queries import Filters
from webui.desks.orders.sheet import LINE_COLUMNS, columns_for, summary_of, total_minor
from webui.desks.sends.views import sends_of
from webui.readmodel.choices import locations_and_suppliers, store_names
from webui.readmodel.codes import codes_of
from webui.shell.commands import next_cards, query_text, run_command
from webui.shell.desk import Refusal
from webui.shell.keyset import MOST_SUMMED, Place
from webui.shell.listing import Column, plain_headings
from webui.shell.page import render_page
from webui.shell.refusals import conflict_text, refused_text

LONGEST_REF = 200
PAGE_LINES = 100
MOST_DIGITS = 18
EVERY_DAY = 0b1111111


@require_GET
@requires(SEE_ORDERS)
def orders(request: HttpRequest) -> HttpResponse:
    """Show orders by their state, or the overdue order lines."""
    return _list(request, None, ())


def _list(
    request: HttpRequest, refusal: Refusal | None, report: Sequence[NotOrdered]
) -> HttpResponse:
    filters = _filters(request)
    is_late = filters.view == "overdue"
    totals = listing.late_totals(filters) if is_late else listing.order_totals(filters)
    shown = _late_lines(request, filters) if is_late else _orders(request, filters, totals)
    stores, named_suppliers = locations_and_suppliers()
    context = {
        "filters": filters,
        "views": [_view(name, filters, totals) for name in selectors.VIEWS],
        "totals": totals,
        "most": selectors.MOST_COUNTED,
        "most_summed": MOST_SUMMED,
        "locations": stores,
        "places": {store.code: store.name for store in stores},
        "suppliers": named_suppliers,
        "query": urlencode({n: v for n, v in filters.as_query().items() if n != "view"}),
        "sends": sends_of(request.user.get_username()),
        "refusal": refusal,
        "report": report,
        "bulk_id": uuid4(),
        "currency_mark": currency_mark(),
        **shown,
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "orders/list.html", context, status=status)


def _view(name: str, filters: Filters, totals: listing.Totals) -> dict[str, Any]:
    """Return a tab as {"name": …, "count": …}: the view and its number of rows.

    Only the shown tab and the tabs draft and overdue have a number; other tabs have None.
    """
    counted = None
    if name == filters.view:
        counted = totals.rows
    elif name in {"draft", "overdue"}:
        of_view = Filters(name, filters.location, filters.supplier)
        late = name == "overdue"
        counted = selectors.count_overdue(of_view) if late else selectors.count_orders(of_view)
    return {"name": name, "count": counted}


def _orders(request: HttpRequest, filters: Filters, totals: listing.Totals) -> dict[str, Any]:
    place = listing.ORDERS.place_of(request.GET)
    columns: Sequence[Column] = listing.ORDER_COLUMNS
    if not totals.is_complete:
        place = place if place.sort.column == listing.NEWEST.column else Place(listing.NEWEST)
        columns = [replace(column, name="") for column in columns]
    if filters.view == "draft" and MANAGE_ORDERS in abilities(request.user):
        columns = (listing.PICK, *columns)
    page = listing.order_page(filters, place)
    links = listing.ORDERS.links(columns, place, filters.as_query(), page)
    return {"rows": page.rows, **links.as_context()}


def _late_lines(request: HttpRequest, filters: Filters) -> dict[str, Any]:
    place = listing.LATE.place_of(request.GET)
    page = listing.late_page(filters, place)
    links = listing.LATE.links(listing.LATE_COLUMNS, place, filters.as_query(), page)
    return {"rows": page.rows, **links.as_context()}


@require_POST
@requires(MANAGE_ORDERS)
def send(request: HttpRequest) -> HttpResponse:
    """Send the ticked draft orders after ten seconds; list the orders that can't be sent."""
    form = SendManyForm(request.POST)
    try:
        announced = send_orders(
            form.orders(),
            below_minimum_allowed=form.cleaned()["below_minimum"],
            actor=request.user.get_username(),
            command_id=form.cleaned()["command_id"],
        )
    except Conflict as conflict:
        return _list(request, Refusal("", conflict_text(conflict), form.typed, 409), ())
    except ServiceError as error:
        return _list(request, Refusal("", refused_text(error), form.typed, 422), ())
    if announced.refused:
        return _list(request, None, announced.refused)
    return HttpResponseRedirect(f"{reverse('orders')}?{request.GET.urlencode()}")


def _filters(request: HttpRequest) -> Filters:
    view = request.GET.get("view", "open")
    return Filters(
        view if view in selectors.VIEWS else "open",
        request.GET.get("location", "")[:24],
        request.GET.get("supplier", "")[:64],
        request.GET.get("q", "").strip()[:64],
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


@require_GET
@requires(SEE_ORDERS)
def order(request: HttpRequest) -> HttpResponse:
    """Show one order: its lines, receipts, possible actions and history."""
    return _show(request, _ref(request), None)


def _ref(request: HttpRequest) -> str:
    return request.GET.get("ref", "")[:LONGEST_REF]


def _show(request: HttpRequest, ref: str, refusal: Refusal | None) -> HttpResponse:
    head = header(ref)
    if head is None:
        context: dict[str, Any] = {"ref": ref, "refusal": refusal}
        return render_page(request, "orders/none.html", context, status=404)
    lines = order_lines(ref)
    refused_line = refusal.proposal if refusal else ""
    here = any(str(line.id) == refused_line for line in lines)
    first = _first_line(request, lines, refused_line)
    part = lines[first : first + PAGE_LINES]
    behind = next_cards([f"line-{line.id}" for line in part])
    summary = summary_of(lines)
    context = {
        "head": head,
        "summary": summary,
        "headings": plain_headings(columns_for(LINE_COLUMNS, summary)),
        "places": store_names() if summary.is_of_many_stores else {},
        "days": _days_text(head.order_days_mask),
        "lines": [
            {
                "line": line,
                "id": str(line.id),
                "anchor": f"line-{line.id}",
                "command_id": uuid4(),
                "refusal": refusal if str(line.id) == refused_line else None,
                "far_units": _far_units(line, refusal) if str(line.id) == refused_line else None,
                "next_card": behind.get(f"line-{line.id}", ""),
            }
            for line in part
        ],
        **_places(ref, len(lines), first),
        **_sending(head, [line for line in lines if line.status == "draft"]),
        "history": history(ref),
        "sends": [send for send in sends_of(request.user.get_username()) if ref in send.of_orders],
        "refusal": None if here else refusal,
        "opened": refused_line if here else query_text(request, "open", MOST_DIGITS),
        "query": urlencode({"ref": ref} | ({"from": first} if first else {})),
    }
    status = 200 if refusal is None else refusal.status
    keys = sorted({line.inv_key for line in part})
    return render_page(request, "orders/order.html", context, live_keys=keys, status=status)


def _far_units(line: Line, refusal: Refusal | None) -> int | None:
    """Return the refused units if they only need a confirmation, else None.

    Units need a confirmation if they are far beyond the units of the draft line.
    """
    if refusal is None or refusal.form.get("action") != "change":
        return None
    try:
        units: int = UnitsForm(refusal.form).cleaned()["units"]
    except ServiceError:
        return None
    return units if is_far_beyond(units, line.ordered_units) else None


def _days_text(mask: int) -> str:
    """Return the weekdays on which a supplier takes orders."""
    if mask == EVERY_DAY:
        return gettext("every day")
    return ", ".join(map(gettext, days_of(mask)))


def _places(ref: str, line_count: int, first: int) -> dict[str, Any]:
    """Return the range of shown lines, and the query strings of the previous and next page."""
    behind = first + PAGE_LINES
    return {
        "line_count": line_count,
        "first_line": first + 1,
        "last_line": min(behind, line_count),
        "before": urlencode({"ref": ref, "from": max(0, first - PAGE_LINES)}) if first else "",
        "behind": urlencode({"ref": ref, "from": behind}) if behind < line_count else "",
    }


def _sending(head: Header, drafts: list[Line]) -> dict[str, Any]:
    """Return number, value and version of the draft lines, for the form that sends them."""
    value = sum(line.value_minor or 0 for line in drafts)
    return {
        "drafts": len(drafts),
        "draft_minor": value,
        "below_minimum": value < head.minimum_order_minor,
        "drafts_version": version_of_drafts([draft.recorded_at for draft in drafts]),
        "send_id": uuid4(),
    }


def _first_line(request: HttpRequest, lines: list[Line], refused_line: str) -> int:
    """Return the index of the first line to show, which begins a page.

    The page is the one with the refused line. Without a refused line, it is the page with line
    `from`, an index in the query string. If there is no such line, it is the first page.
    """
    for place, line in enumerate(lines):
        if str(line.id) == refused_line:
            return place - place % PAGE_LINES
    text = request.GET.get("from", "0")
    wanted = int(text) if _is_number(text) else 0
    return wanted - wanted % PAGE_LINES if wanted < len(lines) else 0


@require_POST
@requires(MANAGE_ORDERS)
def act(request: HttpRequest) -> HttpResponse:
    """Execute one command on a line or the order, and redirect to the order."""
    ref = _ref(request)
    first = request.GET.get("from", "")
    page = {"ref": ref} | ({"from": first} if _is_number(first) else {})
    back = f"{reverse('order')}?{urlencode(page)}"
    may = abilities(request.user)
    form = ActionForm(request.POST)

    def show(message: str, status: int) -> HttpResponse:
        return _show(request, ref, Refusal(form.text("line"), message, form.typed, status))

    return run_command(
        request, lambda: act_on(ref, form, request.user.get_username(), may), show, back
    )


@require_GET
@requires(SEE_ORDERS)
def document(request: HttpRequest) -> HttpResponse:
    """Show the orders that the URL names as a page to print and send."""
    refs = [ref[:LONGEST_REF] for ref in request.GET.getlist("ref")[:MOST_ORDERS]]
    papers = [_paper(*_document(ref)) for ref in refs or [""]]
    return render(request, "orders/document.html", {"papers": papers, "buyer": buyer()})


def _paper(head: Header, lines: list[Line]) -> dict[str, Any]:
    rows = numbered(head, lines, codes_of([line.sku for line in lines]))
    return {
        "head": head,
        "rows": rows,
        "has_numbers": any(number for _, number in rows),
        "total_minor": total_minor(lines),
        "ordered_at": max(line.ordered_at for line in lines),
        "is_draft": any(line.status == "draft" for line in lines),
    }


@require_GET
@requires(SEE_ORDERS)
def document_csv(request: HttpRequest) -> HttpResponse:
    """Return the order as a CSV download."""
    head, lines = _document(_ref(request))
    text = csv_text(head, lines, buyer(), codes_of([line.sku for line in lines]))
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Cache-Control"] = "no-store"
    response["Content-Disposition"] = f'attachment; filename="{file_name(head.order_ref)}"'
    return response


def _document(ref: str) -> tuple[Header, list[Line]]:
    head = header(ref)
    if head is None:
        message = "no such order"
        raise Http404(message)
    lines = [line for line in order_lines(head.order_ref) if line.promised_units > 0]
    return head, lines or order_lines(head.order_ref)
