"""The receiving desk: find the order, scan or type, accept the rest, show the report."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from ledger.services import Delivered, correct_receipt, receive_order
from webui.accounts.roles import RECEIVE, requires
from webui.desks.orders.lines import order_lines
from webui.desks.orders.order import header
from webui.desks.orders.sheet import columns_for, summary_of
from webui.desks.receiving import listing
from webui.desks.receiving import queries as selectors
from webui.desks.receiving.codes import scan_codes
from webui.desks.receiving.forms import (
    REASONS,
    CorrectionForm,
    expected_rows,
    kept_rows,
    shown_rows,
    typed_receipts,
)
from webui.readmodel.choices import locations, store_names
from webui.readmodel.figures import counted_text
from webui.shell.commands import query_text, run_and_redirect
from webui.shell.desk import Refusal
from webui.shell.forms import CommandForm, Typed
from webui.shell.listing import plain_headings
from webui.shell.page import render_page

LONGEST_REF = 200
LONGEST_ID = 18
# The largest number of rows on a page. *Accept the rest* books only the shown rows; afterwards the
# page shows further rows.
PAGE_ROWS = 100


@require_GET
@requires(RECEIVE)
def receiving(request: HttpRequest) -> HttpResponse:
    """Show orders with open units, earliest due first; if a search finds one, redirect to it."""
    given = {
        "location": request.GET.get("location", "")[:24],
        "text": request.GET.get("q", "").strip()[:LONGEST_REF],
    }
    place = listing.KEYS.place_of(request.GET)
    page = listing.due_page(place, **given)
    if given["text"] and len(page.rows) == 1 and not (page.has_previous or page.has_next):
        return HttpResponseRedirect(_order_url(page.rows[0].order_ref))
    query = {"location": given["location"], "q": given["text"]}
    context = {
        "rows": page.rows,
        **given,
        "locations": locations(),
        "totals": listing.due_totals(**given),
        **listing.KEYS.links(listing.COLUMNS, place, query, page).as_context(),
    }
    return render_page(request, "receiving/list.html", context)


def _order_url(ref: str, report: list[int] | None = None) -> str:
    query: dict[str, str] = {"ref": ref}
    if report:
        query["report"] = ",".join(map(str, report))
    return f"{reverse('receiving-order')}?{urlencode(query)}"


@require_GET
@requires(RECEIVE)
def order(request: HttpRequest) -> HttpResponse:
    """Show an order for receiving: expected units, earlier receipts, and what was just booked."""
    return _show(request, None)


def _show(request: HttpRequest, refusal: Refusal | None) -> HttpResponse:
    ref = request.GET.get("ref", "")[:LONGEST_REF]
    head = header(ref)
    if head is None:
        return render_page(request, "receiving/none.html", {"ref": ref}, status=404)
    lines = order_lines(ref)
    received = selectors.receipts(ref)
    reported = request.GET.get("report", "") if refusal is None else ""
    wanted = set(reported.split(","))
    report = [receipt for receipt in received if str(receipt.id) in wanted]
    refused_receipt = refusal.form.get("receipt", "") if refusal else ""
    typed = {} if refusal is None else refusal.form
    rows, without_row = kept_rows(expected_rows(lines, selectors.announced(ref)), lines, typed)
    summary = summary_of(lines)
    context = {
        "head": head,
        "summary": summary,
        "headings": plain_headings(columns_for(listing.DELIVERY_COLUMNS, summary)),
        "places": store_names() if summary.is_of_many_stores else {},
        "rows": rows[:PAGE_ROWS],
        "expected_units": sum(typed_row.row.expected_units for typed_row in rows[:PAGE_ROWS]),
        "codes": scan_codes(rows[:PAGE_ROWS]),
        "rows_left": len(rows[PAGE_ROWS:]),
        "drafts": sum(1 for line in lines if line.status == "draft"),
        "report": report,
        "report_open": summary.coming_units,
        "receipts": [_card(request, receipt, refused_receipt, refusal) for receipt in received],
        "opened": refused_receipt or query_text(request, "open", LONGEST_ID),
        "reasons": REASONS,
        "command_id": uuid4(),
        "refusal": None if refused_receipt else refusal,
        "without_row": without_row,
        "query": urlencode({"ref": ref}),
        "here": urlencode({"ref": ref} | ({"report": reported} if report else {})),
    }
    status = 200 if refusal is None else refusal.status
    keys = sorted({typed_row.row.line.inv_key for typed_row in rows[:PAGE_ROWS]})
    return render_page(request, "receiving/order.html", context, live_keys=keys, status=status)


def _card(
    request: HttpRequest, receipt: selectors.Receipt, refused: str, refusal: Refusal | None
) -> dict[str, Any]:
    """Return a receipt as a card of the page. `is_mine` is True if the person may correct it.

    `refused` is the id of a receipt whose correction was refused, or empty.
    """
    is_own = receipt.recorded_by == request.user.get_username()
    is_refused = refusal is not None and refused == str(receipt.id)
    known = receipt.discrepancy_reason or ""
    typed = refusal.form.get("reason", "") if refusal and is_refused else known
    return {
        "receipt": receipt,
        "id": str(receipt.id),
        "anchor": f"receipt-{receipt.id}",
        "is_mine": is_own and receipt.is_fresh,
        "command_id": uuid4(),
        # Offer also the present reason: another program may have booked a receipt with any text.
        "reasons": [*REASONS, *({known, typed} - {"", *REASONS})],
        "reason": typed,
        "refusal": refusal if is_refused else None,
    }


@require_POST
@requires(RECEIVE)
def receive(request: HttpRequest) -> HttpResponse:
    """Book the units that have arrived for the lines of an order, and show what was booked."""
    ref = request.GET.get("ref", "")[:LONGEST_REF]
    form = CommandForm(request.POST)
    typed = form.typed

    def work() -> tuple[str, str]:
        receipts = typed_receipts(shown_rows(typed, order_lines(ref)), typed)
        actor = request.user.get_username()
        ids = receive_order(receipts=receipts, actor=actor, **form.cleaned())
        units = sum(r.delivered.received_units + r.delivered.damaged_units for r in receipts)
        came = gettext("%(units)s in %(ids)s") % {
            "units": counted_text(units, "unit"),
            "ids": counted_text(len(ids), "line"),
        }
        return gettext("Received %(came)s.") % {"came": came}, _order_url(ref, ids)

    return _answer(request, typed, work)


@require_POST
@requires(RECEIVE)
def correct(request: HttpRequest) -> HttpResponse:
    """Correct a receipt that the person has booked."""
    ref = request.GET.get("ref", "")[:LONGEST_REF]
    form = CorrectionForm(request.POST)

    def work() -> tuple[str, str]:
        values = form.cleaned()
        reason = values["reason"] or None
        done = correct_receipt(
            shipment_line_id=values["receipt"],
            delivered=Delivered(values["received"], values["damaged"], None, reason),
            shown_version=values["shown_version"],
            actor=request.user.get_username(),
            command_id=values["command_id"],
        )
        message = gettext(
            "Corrected: %(order_units)s of the order have come, %(open_units)s are still open."
        ) % {"order_units": f"{done.order_units:,}", "open_units": f"{done.open_units:,}"}
        return message, _order_url(ref)

    return _answer(request, form.typed, work)


def _answer(
    request: HttpRequest, typed: Typed, work: Callable[[], tuple[str, str]]
) -> HttpResponse:
    def show(message: str, status: int) -> HttpResponse:
        return _show(request, Refusal("", message, typed, status))

    return run_and_redirect(request, work, show)
