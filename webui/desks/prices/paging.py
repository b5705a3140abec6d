"""The address of the pricing desk: its filters, headings that sort, and pages."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from django.http import HttpRequest

from webui.desks.prices.listing import DESCENDING, PAGE_ROWS, Filters, sort_of
from webui.shell.commands import query_text
from webui.shell.desk import view_of

_MOST_DIGITS: Final = 6
# Order, heading, and True for a column of numbers.
_HEADS: Final = (
    ("item", "Item", False),
    ("store", "Store", False),
    ("change", "Old \N{RIGHTWARDS ARROW} new", True),
    ("unit", "Margin a unit", True),
    ("week", "Margin a week", True),
    ("signal", "Signal", False),
)


@dataclass(frozen=True, slots=True)
class Head:
    """A heading that sorts; `direction` is a value of `aria-sort`, empty if it doesn't sort now."""

    label: str
    url: str
    is_number: bool
    direction: str


@dataclass(frozen=True, slots=True)
class Pages:
    """Addresses of the previous and the next page, empty if there is none, and the first row."""

    previous: str
    following: str
    first: int


def filters_of(request: HttpRequest, views: Sequence[str]) -> Filters:
    """Return the filters in the query string; unknown ones are left at their default."""
    given = request.GET.get("start", "")
    is_number = given.isascii() and given.isdigit() and len(given) <= _MOST_DIGITS
    return Filters(
        view=view_of(request, views),
        text=query_text(request, "q", 100),
        location=query_text(request, "location", 24),
        signal=query_text(request, "signal", 24),
        sort=sort_of(request.GET.get("sort", "")),
        reverse=request.GET.get("order") == "reverse",
        start=int(given) if is_number else 0,
    )


def heads_of(filters: Filters) -> list[Head]:
    """Return the headings; the one in force sorts in the other direction."""
    heads = []
    for name, label, is_number in _HEADS:
        is_now = name == filters.sort
        wanted = replace(filters, sort=name, reverse=is_now and not filters.reverse, start=0)
        is_down = (name in DESCENDING) != filters.reverse
        direction = ("descending" if is_down else "ascending") if is_now else ""
        heads.append(Head(label, f"?{urlencode(wanted.as_query())}", is_number, direction))
    return heads


def pages_of(filters: Filters, has_more: bool) -> Pages:  # noqa: FBT001 -- one of two addresses
    """Return the addresses of the pages around this one."""
    query = filters.as_query()
    before, behind = max(0, filters.start - PAGE_ROWS), filters.start + PAGE_ROWS
    return Pages(
        previous=f"?{urlencode(query | {'start': before})}" if filters.start else "",
        following=f"?{urlencode(query | {'start': behind})}" if has_more else "",
        first=filters.start + 1,
    )
