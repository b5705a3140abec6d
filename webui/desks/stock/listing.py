"""The address of the stock list: what it asks for, and the addresses of the list's links.

Parameters: `q`, `location`, `status`, `supplier`; `sort` with a column, `-` before it for
descending; `after` or `before` with the key of a row and `at` with its value in that column.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from webui.readmodel.figures import LABELS, STATUSES
from webui.readmodel.stock import BY_KEY, START, Order, Place, StockPage, Totals, place_of
from webui.readmodel.stock_filters import ORDERS, UNBOUNDED, Filters

# Column of the list, heading, and the order of the first click; empty if it isn't sortable.
_HEADINGS: Final = (
    ("item", "Item", ""),
    ("", "Location", ""),
    ("", "Status", ""),
    ("on_hand", "On hand", "-"),
    ("available", "Available", "-"),
    ("in_transit", "In transit", "-"),
    ("on_order", "On order", "-"),
    ("cover", "Lasts", ""),
    ("", "Sold, 24 h", ""),
    ("", "Price", ""),
)
_TEXTS: Final = frozenset({"Item", "Location", "Status"})
_NAMES: Final = {"q": "Search", "location": "Location", "status": "Status", "supplier": "Supplier"}


@dataclass(frozen=True, slots=True)
class Chip:
    """One active filter, and the address without it."""

    label: str
    without: str


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; `url` sorts by its column, `sorted` is `ascending`, `descending` or empty."""

    label: str
    is_number: bool
    url: str
    sorted: str


def filters_of(request: HttpRequest) -> Filters:
    """Return the filters of an address. Without a location, it is about all of one's own stores."""
    given = request.GET
    return Filters(
        text=given.get("q", "").strip()[:100],
        location=given.get("location", "").strip()[:24],
        status=given.get("status", "")[:16],
        supplier=given.get("supplier", "")[:64],
    )


def order_of(request: HttpRequest) -> Order:
    """Return the order of an address; an unknown one is that of the key."""
    given = request.GET.get("sort", "")
    column = given.removeprefix("-")
    return Order(column, given != column) if column in ORDERS else BY_KEY


def place_of_address(request: HttpRequest, order: Order) -> Place:
    """Return the position of an address, or the start if it fits no list in this order."""
    given = request.GET
    backwards = "before" in given
    key = given.get("before" if backwards else "after", "")[:100]
    value = given.get("at", "")[:200]
    is_number = order.column and ORDERS[order.column][1] == "bigint"
    return START if is_number and not _is_bigint(value) else Place(key, value, backwards)


def _is_bigint(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and abs(int(text)) <= UNBOUNDED


@dataclass(frozen=True, slots=True)
class StatusCount:
    """Number of listed rows with a status, and the address that shows only these."""

    status: str
    label: str
    items: int
    url: str


def status_counts(filters: Filters, sums: Totals) -> list[StatusCount]:
    """Return the number of rows by status, without those that are OK and without zeros."""
    query = filters.as_query()
    return [
        StatusCount(status, LABELS[status], items, _address(reverse("stock"), narrower))
        for status in STATUSES
        if status != "ok" and (items := getattr(sums, status))
        for narrower in [{**query, "status": status}]
    ]


def addresses(
    filters: Filters, order: Order, page: StockPage, places: Mapping[str, str]
) -> dict[str, Any]:
    """Return the addresses of chips, headings, statuses, neighbouring pages and the export."""
    base = reverse("stock")
    query = filters.as_query()
    here = query | ({"sort": _sort(order)} if order.column else {})
    context: dict[str, Any] = {
        "first_url": _address(base, here),
        "export_url": _address(reverse("stock-export"), query),
        "chips": _chips(query, base, places),
        "headings": [_heading(base, query, order, heading) for heading in _HEADINGS],
    }
    if page.rows and page.has_previous:
        context["previous_url"] = _address(base, here | _beside(page, order, backwards=True))
    if page.rows and page.has_next:
        context["next_url"] = _address(base, here | _beside(page, order, backwards=False))
    return context


def _beside(page: StockPage, order: Order, *, backwards: bool) -> dict[str, str]:
    place = place_of(page.rows[0 if backwards else -1], order)
    at = {"at": place.value} if order.column else {}
    return {"before" if backwards else "after": place.inv_key, **at}


def _sort(order: Order) -> str:
    return f"-{order.column}" if order.descending else order.column


def _heading(
    base: str, query: Mapping[str, str], order: Order, heading: tuple[str, str, str]
) -> Heading:
    column, label, first = heading
    is_current = bool(column) and column == order.column
    descending = not order.descending if is_current else first == "-"
    url = _address(base, {**query, "sort": _sort(Order(column, descending))}) if column else ""
    state = ("descending" if order.descending else "ascending") if is_current else ""
    return Heading(label, label not in _TEXTS, url, state)


def _address(base: str, query: Mapping[str, Any]) -> str:
    return f"{base}?{urlencode(query)}" if query else base


def _chips(query: Mapping[str, str], base: str, places: Mapping[str, str]) -> list[Chip]:
    return [
        Chip(
            f"{_NAMES[name]}: {_shown(name, given, places)}",
            _address(base, {other: text for other, text in query.items() if other != name}),
        )
        for name, given in query.items()
    ]


def _shown(name: str, given: str, places: Mapping[str, str]) -> str:
    if name == "location":
        return places.get(given, given)
    return LABELS.get(given, given) if name == "status" else given
