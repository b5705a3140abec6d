"""URLs of the pricing desk with its filters, sort order and page."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from django.http import HttpRequest

from ledger.messages import gettext_noop
from webui.desks.prices.listing import DEFAULT_SORT, ORDERS, PAGE_ROWS, Filters
from webui.shell.commands import query_text
from webui.shell.desk import view_of
from webui.shell.listing import (
    Column,
    Heading,
    Pages,
    headings,
    numbered_pages,
    sort_of,
    start_of,
)

# The first click on a heading sorts amounts from the largest, and texts from A.
_COLUMNS: Final = (
    Column("item", gettext_noop("Item")),
    Column("store", gettext_noop("Store")),
    Column("change", "Old \N{RIGHTWARDS ARROW} new", "n", largest_first=True),
    Column("unit", gettext_noop("Margin a unit"), "n", largest_first=True),
    Column("week", gettext_noop("Margin a week"), "n", largest_first=True),
    Column("signal", gettext_noop("Signal")),
    Column("", gettext_noop("Limited by")),
    Column("", gettext_noop("Decision"), is_hidden=True),
)


def filters_of(request: HttpRequest, views: Sequence[str]) -> Filters:
    """Return the filters in the query string; an unknown value becomes the default."""
    return Filters(
        view=view_of(request, views),
        text=query_text(request, "q", 100),
        location=query_text(request, "location", 24),
        signal=query_text(request, "signal", 24),
        sort=sort_of(request.GET.get("sort", ""), ORDERS, DEFAULT_SORT),
        start=start_of(request.GET.get("start", "")),
    )


def heads_of(filters: Filters) -> list[Heading]:
    """Return the headings. The link of the sorted column's heading reverses the direction."""
    query = replace(filters, sort=DEFAULT_SORT).as_query()
    return headings(_COLUMNS, filters.sort, query, default=DEFAULT_SORT)


def pages_of(filters: Filters, has_more: bool) -> Pages:  # noqa: FBT001 -- the only boolean
    """Return the URLs of the first, previous and next page."""
    return numbered_pages(
        filters.as_query(), start=filters.start, rows=PAGE_ROWS, has_more=has_more
    )
