"""The stock list, and its rows as CSV."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from webui.accounts.roles import SEE, requires
from webui.desks.stock.home_store import home_store
from webui.desks.stock.labels import labels_url
from webui.desks.stock.listing import (
    addresses,
    filters_of,
    order_of,
    place_of_address,
    status_counts,
)
from webui.desks.stock.sparkline import small_bars
from webui.readmodel import stock as selectors
from webui.readmodel.choices import locations_and_suppliers
from webui.readmodel.figures import LABELS, STATUSES, is_beyond_a_year
from webui.readmodel.stock_filters import Filters, searched
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


@require_GET
@requires(SEE)
def stock(request: HttpRequest) -> HttpResponse:
    """Show the stock list: search, filters, sums, 50 items a page in the chosen order."""
    filters, asked = filters_of(request), order_of(request)
    # Filter by the person's only store, if they have only one. The list has the same rows, but
    # Postgres can use an index.
    in_store = searched(replace(filters, location=filters.location or home_store(request)))
    sums = selectors.totals(in_store)
    order = asked if sums.is_complete else selectors.BY_KEY
    page = selectors.stock_page(in_store, order=order, place=place_of_address(request, order))
    locations, suppliers = locations_and_suppliers()
    places = {place.code: place.name for place in locations}
    context = {
        "filters": filters,
        "page": page,
        "totals": sums,
        "most_summed": selectors.MOST_SUMMED,
        "most_exported": MOST_EXPORTED,
        "is_unsorted": order != asked,
        "rows": _with_sales(page.rows),
        "priced_at_us": page.rows[0].priced_at_us if page.rows else None,
        "as_of_us": min((row.as_of_us for row in page.rows), default=None),
        "locations": locations,
        "suppliers": suppliers,
        "statuses": [(status, gettext(LABELS[status])) for status in STATUSES],
        "counts": status_counts(filters, sums),
        "one_store": in_store.location,
        "labels_url": labels_url(page.rows) if in_store.location else "",
        "places": places,
        **addresses(filters, order, page, places, is_sortable=sums.is_complete),
    }
    keys = [row.inv_key for row in page.rows]
    return render_page(request, "stock/list.html", context, live_keys=keys)


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A row with its sales of the 24 hours before its as-of time, as a sum and as hourly bars."""

    row: selectors.StockRow
    sold_units: int
    bars: str

    @property
    def sells_slowly(self) -> bool:
        """True if the stock lasts longer than a year, although units were sold in the 24 hours.

        The list then shows "over a year", because "hardly sells" would contradict these sales.
        """
        return self.sold_units > 0 and is_beyond_a_year(self.row.cover_centidays)


def _with_sales(rows: list[selectors.StockRow]) -> list[ListedRow]:
    sold = selectors.sold_by_hour(rows)
    return [ListedRow(row, sum(sold[row.inv_key]), small_bars(sold[row.inv_key])) for row in rows]


@require_GET
@requires(SEE)
def export(request: HttpRequest) -> StreamingHttpResponse:
    """Return the rows that pass the filters as CSV, at most 100,000 rows."""
    filters = searched(filters_of(request))
    response = StreamingHttpResponse(_csv_lines(filters), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="stock.csv"'
    return response


def _csv_lines(filters: Filters) -> Iterator[str]:
    yield _csv_line(_EXPORTED)
    place, written = selectors.START, 0
    while written < MOST_EXPORTED:
        page = selectors.stock_page(filters, place=place, rows=1000)
        for row in page.rows:
            yield _csv_line([getattr(row, name) for name in _EXPORTED])
        written += len(page.rows)
        if page.next_after is None:
            return
        place = selectors.Place(page.next_after)


def _csv_line(cells: list[Any]) -> str:
    """Return one CSV line; text that a spreadsheet would run as a formula is escaped."""
    safe = [safe_text(cell) if isinstance(cell, str) else cell for cell in cells]
    buffer = io.StringIO()
    csv.writer(buffer).writerow(safe)
    return buffer.getvalue()
