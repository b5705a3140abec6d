"""The URL of the stock list: its parameters, and the URLs of the list's links.

Parameters: `q`, `location`, `status`, `supplier`, and the common ones (`webui.shell.listing`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext

from ledger.messages import gettext_noop
from webui.readmodel.figures import LABELS, STATUSES
from webui.readmodel.stock import PAGE_ROWS, START, Order, Place, StockPage, Totals, place_of
from webui.readmodel.stock_filters import ORDERS, Filters
from webui.shell.keyset import fits
from webui.shell.listing import (
    Column,
    Sort,
    address,
    cursor_pages,
    cursor_text,
    headings,
    sort_of,
    sorted_query,
    split_cursor,
)

COLUMNS: Final = (
    Column("item", gettext_noop("Item")),
    Column("", gettext_noop("Location")),
    Column("", gettext_noop("Status")),
    Column("on_hand", gettext_noop("On hand"), "n", largest_first=True),
    Column("available", gettext_noop("Available"), "n", largest_first=True),
    Column("in_transit", gettext_noop("In transit"), "n", largest_first=True),
    Column("on_order", gettext_noop("On order"), "n", largest_first=True),
    Column("cover", gettext_noop("Lasts"), "n"),
    Column("", gettext_noop("Sold, 24 h"), "n"),
    Column("", gettext_noop("Price"), "n"),
)
_BY_KEY: Final = Sort()
_NAMES: Final = {
    "q": gettext_noop("Search"),
    "location": gettext_noop("Location"),
    "status": gettext_noop("Status"),
    "supplier": gettext_noop("Supplier"),
}


@dataclass(frozen=True, slots=True)
class Chip:
    """One active filter, and the URL without it."""

    label: str
    without: str


def filters_of(request: HttpRequest) -> Filters:
    """Return the filters in the URL. Without a location, the list has all stores of the person."""
    given = request.GET
    return Filters(
        text=given.get("q", "").strip()[:100],
        location=given.get("location", "").strip()[:24],
        status=given.get("status", "")[:16],
        supplier=given.get("supplier", "")[:64],
    )


def order_of(request: HttpRequest) -> Order:
    """Return the sort order in the URL; an unknown order sorts by location and SKU."""
    sort = sort_of(request.GET.get("sort", ""), ORDERS, _BY_KEY)
    return Order(sort.column, sort.descending)


def place_of_address(request: HttpRequest, order: Order) -> Place:
    """Return the position in the URL; the start of the list if it doesn't fit this sort order."""
    given = request.GET
    backwards = "before" in given
    value, key = split_cursor(given.get("before" if backwards else "after", ""))
    is_one = not order.column or fits(value, ORDERS[order.column][1])
    return Place(key, value, backwards) if key and is_one else START


@dataclass(frozen=True, slots=True)
class StatusCount:
    """Number of listed rows with a status, and the URL that shows only these rows."""

    status: str
    label: str
    items: int
    url: str


def status_counts(filters: Filters, sums: Totals) -> list[StatusCount]:
    """Return the number of rows for each status that has rows; leave out the status `ok`."""
    query = filters.as_query()
    return [
        StatusCount(status, gettext(LABELS[status]), items, address(narrower, reverse("stock")))
        for status in STATUSES
        if status != "ok" and (items := getattr(sums, status))
        for narrower in [{**query, "status": status}]
    ]


def addresses(
    filters: Filters, order: Order, page: StockPage, places: Mapping[str, str], *, is_sortable: bool
) -> dict[str, Any]:
    """Return the context of the list's links: `export_url`, `chips`, `headings` and `pages`.

    `is_sortable` is False if the list is too long to be sorted by a column; headings are then no
    links. `places` has the names of locations by code.
    """
    base, query, sort = reverse("stock"), filters.as_query(), Sort(order.column, order.descending)
    shown = COLUMNS if is_sortable else [replace(column, name="") for column in COLUMNS]
    has_rows = bool(page.rows)
    return {
        "export_url": address(query, reverse("stock-export")),
        "chips": _chips(query, base, places),
        "headings": headings(shown, sort, query, default=_BY_KEY, base=base),
        "pages": cursor_pages(
            sorted_query(query, sort, _BY_KEY),
            previous=_cursor(page, order, 0) if has_rows and page.has_previous else "",
            following=_cursor(page, order, -1) if has_rows and page.has_next else "",
            base=base,
            rows=PAGE_ROWS,
        ),
    }


def _cursor(page: StockPage, order: Order, number: int) -> str:
    place = place_of(page.rows[number], order)
    return cursor_text(place.value, place.inv_key)


def _chips(query: Mapping[str, str], base: str, places: Mapping[str, str]) -> list[Chip]:
    return [
        Chip(
            f"{gettext(_NAMES[name])}: {_shown(name, given, places)}",
            address({other: text for other, text in query.items() if other != name}, base),
        )
        for name, given in query.items()
    ]


def _shown(name: str, given: str, places: Mapping[str, str]) -> str:
    if name == "location":
        return places.get(given, given)
    return gettext(LABELS[given]) if name == "status" and given in LABELS else given
