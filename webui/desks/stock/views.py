"""The stock list, and its rows as CSV."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from webui.accounts.roles import SEE, requires
from webui.desks.stock.sparkline import small_bars
from webui.readmodel import stock as selectors
from webui.readmodel.choices import locations, suppliers
from webui.readmodel.figures import LABELS, STATUSES
from webui.shell.page import render_page
from webui.shell.spreadsheet import safe_text

MOST_EXPORTED: Final = 100_000
_EXPORTED: Final = [
    "location",
    "sku",
    "name",
    "supplier",
    "on_hand_units",
    "available_to_sell_units",
    "in_transit_units",
    "on_order_units",
    "status",
    "price_minor",
    "as_of_us",
    # New columns come last, so that readers that address columns by position keep working.
    "cover_centidays",
    "priced_at_us",
]


@dataclass(frozen=True, slots=True)
class Chip:
    """One active filter, and the address without it."""

    label: str
    without: str


@require_GET
@requires(SEE)
def stock(request: HttpRequest) -> HttpResponse:
    """Show the stock list: search, filters, 50 items a page, ordered by location and SKU."""
    filters = _filters(request)
    page = selectors.stock_page(filters, after=request.GET.get("after", ""))
    base = reverse("stock")
    query = filters.as_query()
    context = {
        "filters": filters,
        "page": page,
        "rows": _with_sales(page.rows),
        "priced_at_us": page.rows[0].priced_at_us if page.rows else None,
        "chips": _chips(query, base),
        "first_url": _address(base, query),
        "next_url": _address(base, query | {"after": page.next_after}) if page.next_after else "",
        "export_url": _address(reverse("stock-export"), query),
        "locations": locations(),
        "suppliers": suppliers(),
        "statuses": [(status, LABELS[status]) for status in STATUSES],
    }
    keys = [row.inv_key for row in page.rows]
    return render_page(request, "stock/list.html", context, live_keys=keys)


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A row with its sales of the 24 hours before its as-of time, as a sum and as hourly bars."""

    row: selectors.StockRow
    sold_units: int
    bars: str


def _with_sales(rows: list[selectors.StockRow]) -> list[ListedRow]:
    sold = selectors.sold_by_hour(rows)
    return [ListedRow(row, sum(sold[row.inv_key]), small_bars(sold[row.inv_key])) for row in rows]


def _filters(request: HttpRequest) -> selectors.Filters:
    given = request.GET
    return selectors.Filters(
        text=given.get("q", "").strip()[:100],
        location=given.get("location", "")[:24],
        status=given.get("status", "")[:16],
        supplier=given.get("supplier", "")[:64],
    )


def _address(base: str, query: dict[str, Any]) -> str:
    return f"{base}?{urlencode(query)}" if query else base


def _chips(query: dict[str, str], base: str) -> list[Chip]:
    names = {"q": "Search", "location": "Location", "status": "Status", "supplier": "Supplier"}
    return [
        Chip(
            f"{names[name]}: {LABELS.get(given, given) if name == 'status' else given}",
            _address(base, {other: text for other, text in query.items() if other != name}),
        )
        for name, given in query.items()
    ]


@require_GET
@requires(SEE)
def export(request: HttpRequest) -> StreamingHttpResponse:
    """Return the rows of these filters as CSV, at most 100,000."""
    filters = _filters(request)
    response = StreamingHttpResponse(_csv_lines(filters), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="stock.csv"'
    return response


def _csv_lines(filters: selectors.Filters) -> Iterator[str]:
    yield _csv_line(_EXPORTED)
    after, written = "", 0
    while written < MOST_EXPORTED:
        page = selectors.stock_page(filters, after=after, rows=1000)
        for row in page.rows:
            yield _csv_line([getattr(row, name) for name in _EXPORTED])
        written += len(page.rows)
        if page.next_after is None:
            return
        after = page.next_after


def _csv_line(cells: list[Any]) -> str:
    """Return one CSV line; text that a spreadsheet would run as a formula is escaped."""
    safe = [safe_text(cell) if isinstance(cell, str) else cell for cell in cells]
    buffer = io.StringIO()
    csv.writer(buffer).writerow(safe)
    return buffer.getvalue()
