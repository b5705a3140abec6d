"""Pages for counting: choose a location, scan or type entries onto a sheet, submit the sheet.

No page of this module shows expected units, so every count is blind.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlencode
from uuid import UUID, uuid4

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from ledger.messages import Message, gettext_noop, sentence, translated
from ledger.services import (
    Conflict,
    Entry,
    Refused,
    ServiceError,
    add_entries,
    open_sheet,
    submit_sheet,
    undo_entry,
)
from webui.accounts.roles import COUNT, requires
from webui.desks.counts import queries as selectors
from webui.desks.counts.forms import EntryForm, LinesForm, SheetForm, UndoForm
from webui.desks.counts.lines import explained, line_entries
from webui.desks.stock.home_store import home_store
from webui.readmodel.choices import locations, store_names
from webui.readmodel.figures import counted_text
from webui.shell.commands import item_from_query, query_text, run_command
from webui.shell.forms import PageForm, Typed
from webui.shell.page import render_page
from webui.shell.refusals import conflict_text, named, refused_text
from webui.translation.messages import translate

MOST_BYTES: Final = 200_000
MOST_AGE_MS: Final = 72 * 3_600_000
# Errors from reading JSON that has wrong types, infinite numbers or deep nesting.
_ODD_JSON: Final = (AttributeError, OverflowError, RecursionError)


@require_GET
@requires(COUNT)
def counts(request: HttpRequest) -> HttpResponse:
    """Show the locations, the person's open sheets and the items that need a second count."""
    return _show_desk(request, item_from_query(request), "", 200)


def _show_desk(request: HttpRequest, given: Typed, refusal: str, status: int) -> HttpResponse:
    location = given.get("location", "")[:24] or home_store(request)
    context = {
        "tab": "count",
        "location": location,
        "sku": given.get("sku", "")[:32],
        "locations": locations(),
        "sheets": selectors.open_sheets(request.user.get_username()),
        "handed_in": selectors.waiting_sheets(request.user.get_username()),
        "again": selectors.items_to_recount(location=location),
        "again_total": selectors.recount_total(location=location),
        "places": store_names(),
        "waiting_count": selectors.waiting_count(),
        "refusal": refusal,
        # Pass the function, not an id: each form of the page needs its own id.
        "command_id": uuid4,
    }
    return render_page(request, "counts/desk.html", context, status=status)


@require_POST
@requires(COUNT)
def begin(request: HttpRequest) -> HttpResponse:
    """Open a sheet and redirect to it."""
    form = SheetForm(request.POST)
    try:
        values = form.cleaned()
        sheet_id = open_sheet(
            location=values["location"],
            actor=request.user.get_username(),
            command_id=values["command_id"],
        )
    except Conflict as conflict:
        return _show_desk(request, form.typed, conflict_text(conflict), 409)
    except ServiceError as error:
        return _show_desk(request, form.typed, refused_text(error), 422)
    query = f"?{urlencode({'sku': values['sku']})}" if values["sku"] else ""
    return HttpResponseRedirect(reverse("counts-sheet", args=[sheet_id]) + query)


@require_GET
@requires(COUNT)
def sheet(request: HttpRequest, sheet_id: int) -> HttpResponse:
    """Show the sheet: the scanner field, its entries so far and the submit button."""
    return _show_sheet(request, sheet_id, {"sku": query_text(request, "sku", 32)})


def _what_changed(conflict: Conflict) -> str:
    """Return the text of a conflict without its sentence "Nothing was written."."""
    return sentence(named(conflict.what_changed), translate)


def _show_sheet(
    request: HttpRequest,
    sheet_id: int,
    form: Typed,
    *,
    refusal: str = "",
    refused: tuple[Refused, ...] = (),
    status: int = 200,
) -> HttpResponse:
    found = selectors.sheet(sheet_id)
    # A count isn't blind if the person has seen the numbers of another person.
    if found is None or found.opened_by != request.user.get_username():
        message = "no such sheet of yours"
        raise Http404(message)
    opened = query_text(request, "open", 32)
    context = {
        "tab": "count",
        "sheet": found,
        "sum_text": _sum_text(found),
        "opened": opened,
        "entries": selectors.entries(sheet_id, opened) if opened else [],
        "tallies": selectors.tallies(sheet_id),
        "form": form,
        "refusal": refusal,
        "refused": refused,
        "command_id": uuid4(),
        "waiting_count": selectors.waiting_count(),
    }
    return render_page(request, "counts/sheet.html", context, status=status)


def _sum_text(sheet: selectors.Sheet) -> str:
    """Return the numbers of items and units of the sheet: `3 items · 12 units`."""
    return f"{counted_text(sheet.items, 'item')} · {counted_text(sheet.units, 'unit')}"


@require_POST
@requires(COUNT)
def entries(request: HttpRequest, sheet_id: int) -> HttpResponse:
    """Add the entries of a form to the sheet, or a batch that the browser has queued (JSON)."""
    if request.content_type == "application/json":
        return _keep_batch(request, sheet_id)
    form = LinesForm(request.POST)
    typed, sheet = form.typed, selectors.sheet(sheet_id)
    location = sheet.location if sheet else ""
    try:
        found = _entries(form, location)
        refused = add_entries(sheet_id=sheet_id, entries=found, actor=request.user.get_username())
    except Conflict as conflict:
        return _show_sheet(request, sheet_id, typed, refusal=_what_changed(conflict), status=409)
    except ServiceError as error:
        return _show_sheet(request, sheet_id, typed, refusal=refused_text(error), status=422)
    if not refused:
        messages.success(request, gettext("%(found)s saved.") % {"found": len(found)})
        return HttpResponseRedirect(reverse("counts-sheet", args=[sheet_id]))
    wrong = {row.entry_id for row in refused}
    lines = form.all_lines() or [f"{entry.sku} {entry.units}" for entry in found]
    left = [line for line, entry in zip(lines, found, strict=True) if entry.entry_id in wrong]
    kept = typed | {"lines": "\n".join(left), "sku": "", "units": ""}
    refused = explained(location, refused)
    return _show_sheet(request, sheet_id, kept, refused=refused, status=422)


def _entries(form: LinesForm, location: str) -> list[Entry]:
    """Return the entries of a form: one item with its units, or one item per line of `lines`."""
    lines = form.all_lines()
    if lines:
        return line_entries(location, lines, form.cleaned()["command_id"])
    one = EntryForm(form.data).cleaned()
    return [Entry(one["command_id"], one["sku"], one["units"])]


def _keep_batch(request: HttpRequest, sheet_id: int) -> JsonResponse:
    try:
        batch = _batch(request.body)
        refused = add_entries(sheet_id=sheet_id, entries=batch, actor=request.user.get_username())
    except Conflict as conflict:
        # The sheet was submitted before. Return the ids of the entries that it contains, because
        # the browser may not know that they were stored.
        had = [row.id for row in selectors.stored(sheet_id, [entry.entry_id for entry in batch])]
        return JsonResponse({"error": _what_changed(conflict), "had": had}, status=409)
    except ServiceError as error:
        return JsonResponse({"error": refused_text(error)}, status=422)
    return JsonResponse(
        {
            "refused": [
                {
                    "id": str(row.entry_id),
                    "field": row.field,
                    "value": row.value,
                    "why": translated(named(row.why), translate),
                }
                for row in refused
            ],
            "stored": _stored(sheet_id, batch),
        }
    )


def _stored(sheet_id: int, batch: list[Entry]) -> list[dict[str, object]]:
    """Return the stored entries whose SKU or units differ from the sent entry."""
    sent = {str(entry.entry_id): entry for entry in batch}
    found = selectors.stored(sheet_id, [entry.entry_id for entry in batch])
    return [
        {"id": row.id, "sku": row.sku, "units": row.units}
        for row in found
        if (row.sku, row.units) != (sent[row.id].sku, sent[row.id].units)
    ]


def _batch(body: bytes) -> list[Entry]:
    """Return the entries of the browser's queue; raise `ServiceError` for any other content.

    The browser sends the age of each entry in milliseconds. The time of an entry is the server's
    time minus this age, which counts as at most 72 hours.
    """
    field, rule = (
        "entries",
        gettext_noop(
            "not in the format of this page. Nothing was saved: reload the page, then send the "
            "entries again"
        ),
    )
    if len(body) > MOST_BYTES:
        raise ServiceError(
            field, len(body), Message("at most %(most_bytes)s bytes", most_bytes=MOST_BYTES)
        )
    now = datetime.now(tz=UTC)  # noqa: TID251 -- ages from the browser become times here
    try:
        return [
            Entry(
                UUID(row["id"]),
                str(row["sku"]),
                int(row["units"]),
                now - timedelta(milliseconds=min(max(0, int(row["age_ms"])), MOST_AGE_MS)),
            )
            for row in json.loads(body)["entries"]
        ]
    except (ValueError, TypeError, KeyError, *_ODD_JSON) as failure:
        raise ServiceError(field, None, rule) from failure


@require_POST
@requires(COUNT)
def undo(request: HttpRequest, sheet_id: int) -> HttpResponse:
    """Remove one entry from the sheet."""
    form = UndoForm(request.POST)

    def work() -> str:
        undo_entry(sheet_id=sheet_id, actor=request.user.get_username(), **form.cleaned())
        return gettext("Entry removed.")

    def show(refusal: str, status: int) -> HttpResponse:
        return _show_sheet(request, sheet_id, form.typed, refusal=refusal, status=status)

    return run_command(request, work, show, reverse("counts-sheet", args=[sheet_id]))


@require_POST
@requires(COUNT)
def submit(request: HttpRequest, sheet_id: int) -> HttpResponse:
    """Submit the sheet; report every item that can't be submitted and leave it on the sheet."""
    form = PageForm(request.POST).typed
    try:
        done = submit_sheet(sheet_id=sheet_id, actor=request.user.get_username())
    except Conflict as conflict:
        return _show_sheet(request, sheet_id, form, refusal=_what_changed(conflict), status=409)
    except ServiceError as error:
        return _show_sheet(request, sheet_id, form, refusal=refused_text(error), status=422)
    if done.refused:
        return _show_sheet(request, sheet_id, form, refused=done.refused, status=422)
    items = counted_text(len(done.count_ids), "item")
    messages.success(
        request,
        gettext("%(items)s handed in. Another person has to approve the counts.")
        % {"items": items},
    )
    found = selectors.sheet(sheet_id)
    # The next sheet is usually one of the same store.
    query = f"?{urlencode({'location': found.location})}" if found else ""
    return HttpResponseRedirect(reverse("counts") + query)
