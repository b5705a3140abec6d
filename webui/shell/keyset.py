"""Keyset pagination: a page begins after a given row, not after a number of rows.

So a page stays the same if a row before it leaves the list. Each list names its sortable columns as
SQL (`Sortable`) and reads one page with `shown_sql`. That SQL selects one row more than the page
has, to find out if more rows follow. `cut` drops this row.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, Protocol, TypeVar

from webui.shell.listing import (
    Column,
    Heading,
    Pages,
    Sort,
    address,
    cursor_pages,
    cursor_text,
    headings,
    sort_of,
    sorted_query,
    split_cursor,
)

PAGE_ROWS: Final = 50
# Sums over a list, and sorting by a computed column, read every row. 10,000 rows take about 0.1 s.
# A longer list has sums of its first rows only, and can't be sorted by a computed column.
MOST_SUMMED: Final = 10_000
_MARKS: Final[Mapping[str, re.Pattern[str]]] = {
    "numeric": re.compile(r"-?[0-9]{1,30}"),
    "bigint": re.compile(r"-?[0-9]{1,18}|9223372036854775807"),
    "text": re.compile(r"[^\x00]*"),
    "date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|-?infinity"),
    "timestamptz": re.compile(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]{8,15}[+-](0[0-9]|1[0-5])(:[0-9]{2})?|-?infinity"
    ),
}


def fits(mark: str, kind: str) -> bool:
    """Return True if Postgres can cast `mark` to the type `kind`.

    A mark is the value of a row in the sorted column. It comes from a URL, which people can edit.
    """
    if _MARKS[kind].fullmatch(mark) is None:
        return False
    return kind not in {"date", "timestamptz"} or mark.endswith("infinity") or _is_time(mark)


def _is_time(mark: str) -> bool:
    try:
        return bool(datetime.fromisoformat(mark))
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Sortable:
    """A sortable column: the SQL of its value, which is never null, and the value's SQL type."""

    sql: str
    type: str = "text"


class Marked(Protocol):
    """A row of a page: its value in the sorted column as text, and its id."""

    @property
    def mark(self) -> str:
        """The value in the sorted column."""

    @property
    def key(self) -> int | str:
        """The id of the row, unique in its list."""


Row = TypeVar("Row", bound=Marked)


@dataclass(frozen=True, slots=True)
class Place:
    """The order of a list, and the row after which a page begins.

    With `backwards`, the page ends before that row. Without a row, this is the first page.
    """

    sort: Sort
    mark: str = ""
    key: str = ""
    backwards: bool = False

    @property
    def cursor(self) -> dict[str, str]:
        """The position as parameters of a URL."""
        if not self.key:
            return {}
        return {"before" if self.backwards else "after": cursor_text(self.mark, self.key)}


@dataclass(frozen=True, slots=True)
class Keys:
    """Sortable columns and default order of a list.

    `key` is the SQL of a row's id, and `type` the SQL type of this id.
    """

    columns: Mapping[str, Sortable]
    key: str
    default: Sort
    type: str = "bigint"

    def place_of(self, given: Mapping[str, str]) -> Place:
        """Return the position that the parameters of a URL name, or the first page without one."""
        sort = sort_of(given.get("sort", ""), self.columns, self.default)
        backwards = "before" in given
        mark, key = split_cursor(given.get("before" if backwards else "after", ""))
        is_one = fits(mark, self.columns[sort.column].type) and fits(key, self.type)
        return Place(sort, mark, key, backwards) if key and is_one else Place(sort)

    def shown_sql(self, source: str, place: Place, *, rows: int = PAGE_ROWS) -> str:
        """Return SQL that selects `key`, `mark` and `place` of a page's rows and of one row more.

        The column `place` numbers these rows from 1 on, in the order in which the SQL reads them.
        `source` is the part of the SELECT from `FROM` on, with its `WHERE`. Run the SQL with the
        parameters that `parameters` returns.
        """
        value = self.columns[place.sort.column]
        direction = "DESC" if place.sort.descending is not place.backwards else "ASC"
        order = f"{value.sql} {direction}, {self.key} {direction}"
        return (
            f"SELECT {self.key} AS key, ({value.sql})::text AS mark,"
            f" row_number() OVER (ORDER BY {order}) AS place {source}{self._beyond(place)}"
            f" ORDER BY {order} LIMIT {rows + 1}"
        )

    def _beyond(self, place: Place) -> str:
        if not place.key:
            return ""
        value = self.columns[place.sort.column]
        beyond = "<" if place.sort.descending is not place.backwards else ">"
        return (
            f" AND ({value.sql}, {self.key}) {beyond}"
            f" (%(place_mark)s::{value.type}, %(place_key)s::{self.type})"
        )

    def links(
        self,
        columns: Sequence[Column],
        place: Place,
        query: Mapping[str, object],
        page: "Page[Row]",
    ) -> "Links":
        """Return the links of a list: its headings, which sort it, and the pages before and after.

        `query` has the filters as parameters of the URL.
        """
        here = sorted_query(query, place.sort, self.default)
        rows = page.rows
        return Links(
            headings=headings(columns, place.sort, query, default=self.default),
            pages=cursor_pages(
                here,
                previous=cursor_text(rows[0].mark, rows[0].key) if page.has_previous else "",
                following=cursor_text(rows[-1].mark, rows[-1].key) if page.has_next else "",
                rows=PAGE_ROWS,
            ),
            here=address(here | place.cursor).removeprefix("?"),
        )


@dataclass(frozen=True, slots=True)
class Links:
    """The links of a list.

    `here` is the query string in the address of the shown page. Forms append it to their addresses,
    so that they lead back to this page. So do the links that open or close the details of a row.
    """

    headings: list[Heading]
    pages: Pages
    here: str

    def as_context(self) -> dict[str, object]:
        """Return the links by the names that the templates of lists use."""
        return {"headings": self.headings, "pages": self.pages, "here": self.here}


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """The shown rows, and whether rows precede and follow them."""

    rows: Sequence[Row]
    has_previous: bool
    has_next: bool


def parameters(place: Place) -> dict[str, str]:
    """Return the parameters to run the SQL of `Keys.shown_sql` with; {} for the first page."""
    return {"place_mark": place.mark, "place_key": place.key} if place.key else {}


def cut(found: Sequence[Row], place: Place, *, rows: int = PAGE_ROWS) -> Page[Row]:
    """Return the page with at most `rows` of the found rows, in the order of the list.

    A further row shows that more rows follow. For a page read backwards, `found` is in reverse
    order, and a further row shows that more rows precede.
    """
    shown, has_more = list(found[:rows]), len(found) > rows
    if place.backwards:
        return Page(shown[::-1], has_previous=has_more, has_next=bool(shown))
    return Page(shown, has_previous=bool(place.key) and bool(shown), has_next=has_more)
