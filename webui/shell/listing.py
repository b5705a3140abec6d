"""The sort order and the page of a list: the parameters of its URL, and the URLs of its links.

Every list has these parameters, and further ones for its filters.

- `sort`: a column, `-` before it for descending order;
- `after` or `before`: the row after which the page begins or before which it ends, as `MARK~ID`
  (`cursor_text`);
- `start`: the number of rows before the page, for lists without cursors.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

_MOST_DIGITS: Final = 6
LONGEST_CURSOR: Final = 400


@dataclass(frozen=True, slots=True)
class Sort:
    """The order of a list: column and direction. An empty column means the list's own order."""

    column: str = ""
    descending: bool = False

    @property
    def text(self) -> str:
        """The order as the parameter `sort`."""
        return f"-{self.column}" if self.descending else self.column


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; `name` is its code in the parameter `sort`, empty if it can't be sorted.

    `kind` is the CSS class of its cells, like `n` for numbers. If `is_hidden`, the label is not
    visible, and only screen readers read it.
    """

    name: str
    label: str
    kind: str = ""
    largest_first: bool = False
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """A column's heading: the link `url` sorts the list.

    `direction` is `ascending` or `descending` for the sorted column, else empty.
    """

    label: str
    kind: str
    url: str
    direction: str
    is_hidden: bool


@dataclass(frozen=True, slots=True)
class Pages:
    """URLs of the first, previous and next page, each empty if there is none.

    `first` is empty on the first page. `rows` is the number of rows of a page.
    """

    first: str = ""
    previous: str = ""
    next: str = ""
    rows: int = 0


def sort_of(given: str, columns: Collection[str], default: Sort) -> Sort:
    """Return the order that the parameter `sort` asks for, or the default order."""
    column = given.removeprefix("-")
    return Sort(column, given != column) if column in columns else default


def address(query: Mapping[str, object], base: str = "") -> str:
    """Return the URL of a list with these parameters, without the empty ones."""
    text = urlencode({name: value for name, value in query.items() if value != ""})
    return f"{base}?{text}" if text else base or "?"


def sorted_query(query: Mapping[str, object], sort: Sort, default: Sort) -> dict[str, object]:
    """Return the parameters of the filters and of the sort order; leave out the default order."""
    return dict(query) | ({} if sort == default else {"sort": sort.text})


def headings(
    columns: Sequence[Column],
    sort: Sort,
    query: Mapping[str, object],
    *,
    default: Sort,
    base: str = "",
) -> list[Heading]:
    """Return the headings of a table. The heading of the sorted column reverses the order."""
    return [_heading(column, sort, query, default=default, base=base) for column in columns]


def plain_headings(columns: Sequence[Column]) -> list[Heading]:
    """Return headings without links that sort the list."""
    return [Heading(column.label, column.kind, "", "", column.is_hidden) for column in columns]


def _heading(
    column: Column, sort: Sort, query: Mapping[str, object], *, default: Sort, base: str
) -> Heading:
    if not column.name:
        return Heading(column.label, column.kind, "", "", column.is_hidden)
    is_sorted = column.name == sort.column
    descends = not sort.descending if is_sorted else column.largest_first
    url = address(sorted_query(query, Sort(column.name, descends), default), base)
    direction = "descending" if sort.descending else "ascending"
    return Heading(column.label, column.kind, url, direction if is_sorted else "", column.is_hidden)


def cursor_text(mark: str, row_id: object) -> str:
    """Return the cursor of a row in a list: its value in the sorted column, and its id."""
    escaped = str(row_id).replace("%", "%25").replace("~", "%7E")
    return f"{mark}~{escaped}"


def split_cursor(text: str) -> tuple[str, str]:
    """Return mark and id from a cursor. The mark is empty if the text has no `~`."""
    mark, _, row_id = text[:LONGEST_CURSOR].rpartition("~")
    return mark, row_id.replace("%7E", "~").replace("%25", "%")


def cursor_pages(
    query: Mapping[str, object], *, previous: str, following: str, base: str = "", rows: int = 0
) -> Pages:
    """Return the URLs of the first, previous and next page of a list.

    `previous` and `following` are the cursors of these pages. An empty cursor means no such
    page.
    """
    return Pages(
        first=address(query, base) if previous else "",
        previous=address({**query, "before": previous}, base) if previous else "",
        next=address({**query, "after": following}, base) if following else "",
        rows=rows,
    )


def start_of(given: str) -> int:
    """Return the parameter `start`, the number of rows before the page; 0 for any other text."""
    is_number = given.isascii() and given.isdigit() and len(given) <= _MOST_DIGITS
    return int(given) if is_number else 0


def numbered_pages(query: Mapping[str, object], *, start: int, rows: int, has_more: bool) -> Pages:
    """Return the URLs of the first, previous and next page; the shown page skips `start` rows.

    If the previous page is the first one, only `previous` has its URL.
    """
    before = max(0, start - rows)
    return Pages(
        first=address(query) if before else "",
        previous=address({**query, "start": before}) if start else "",
        next=address({**query, "start": start + rows}) if has_more else "",
        rows=rows,
    )
