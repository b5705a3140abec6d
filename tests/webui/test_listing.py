"""Pure functions for the addresses of lists: order, headings, pages and cursors."""

import pytest

from webui.shell.keyset import Keys, Page, Place, Sortable, cut, fits, parameters
from webui.shell.listing import (
    Column,
    Sort,
    address,
    cursor_pages,
    cursor_text,
    headings,
    numbered_pages,
    sort_of,
    split_cursor,
    start_of,
)

ITEM, MONEY = Column("item", "Item"), Column("money", "Money", "n", largest_first=True)
DEFAULT = Sort("item")
KEYS = Keys(
    {"item": Sortable("r.name"), "money": Sortable("r.minor", "bigint")},
    key="r.id",
    default=DEFAULT,
)


class Row:
    """A row with a value in the sorted column."""

    def __init__(self, key: int) -> None:
        self.key, self.mark = key, str(key * 10)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", DEFAULT),
        ("money", Sort("money")),
        ("-money", Sort("money", descending=True)),
        ("--money", DEFAULT),
        ("nonsense", DEFAULT),
    ],
)
def test_an_unknown_sort_order_falls_back_to_the_default(given: str, expected: Sort) -> None:
    assert sort_of(given, KEYS.columns, DEFAULT) == expected


def test_a_heading_sorts_descending_first_and_the_sorted_one_reverses() -> None:
    hidden = Column("", "Pick", is_hidden=True)
    found = headings((ITEM, MONEY, hidden), Sort("item"), {"q": "a b", "to": ""}, default=DEFAULT)

    assert [(one.url, one.direction) for one in found] == [
        ("?q=a+b&sort=-item", "ascending"),
        ("?q=a+b&sort=-money", ""),
        ("", ""),
    ]
    reversed_ = headings((ITEM,), Sort("item", descending=True), {}, default=DEFAULT, base="/x/")
    assert (reversed_[0].url, reversed_[0].direction) == ("/x/", "descending")


@pytest.mark.parametrize("row_id", ["7", "L|S", "a~b", "a%7Eb", "~", "%"])
@pytest.mark.parametrize("mark", ["", "12", "Tea~pot", "~"])
def test_splitting_a_cursor_returns_its_mark_and_row_id(mark: str, row_id: str) -> None:
    assert split_cursor(cursor_text(mark, row_id)) == (mark, row_id)


@pytest.mark.parametrize(
    ("mark", "kind", "expected"),
    [
        ("12", "bigint", True),
        ("-9", "bigint", True),
        ("9223372036854775807", "bigint", True),
        ("9" * 19, "bigint", False),
        ("1.5", "bigint", False),
        ("2026-02-28", "date", True),
        ("2026-02-31", "date", False),
        ("infinity", "date", True),
        ("2026-03-02 12:00:00.5+00", "timestamptz", True),
        ("2026-13-02 12:00:00+00", "timestamptz", False),
        ("2026-03-02 12:00:00+15:59", "timestamptz", True),
        ("2026-03-02 12:00:00+16", "timestamptz", False),
        ("a\x00b", "text", False),
        ("", "text", True),
        ("", "bigint", False),
    ],
)
def test_a_cursor_mark_fits_only_if_postgres_can_cast_it(
    mark: str,
    kind: str,
    expected: bool,  # noqa: FBT001 -- a parameter of the table above
) -> None:
    assert fits(mark, kind) is expected


def test_an_invalid_cursor_in_the_address_shows_the_first_page() -> None:
    place = KEYS.place_of({"sort": "-money", "before": "120~7"})

    assert place == Place(Sort("money", descending=True), "120", "7", backwards=True)
    assert place.cursor == {"before": "120~7"}
    assert parameters(place) == {"place_mark": "120", "place_key": "7"}
    for crafted in ("", "x~7", "120~x", "7", "~", "120~"):
        first = KEYS.place_of({"sort": "-money", "after": crafted})
        assert first == Place(Sort("money", descending=True))
        assert (parameters(first), first.cursor) == ({}, {})


@pytest.mark.parametrize(
    ("place", "order", "beyond"),
    [
        (Place(DEFAULT), "r.name ASC, r.id ASC", ""),
        (Place(DEFAULT, "a", "7"), "r.name ASC, r.id ASC", ">"),
        (Place(DEFAULT, "a", "7", backwards=True), "r.name DESC, r.id DESC", "<"),
        (Place(Sort("item", descending=True), "a", "7"), "r.name DESC, r.id DESC", "<"),
    ],
)
def test_the_page_query_continues_beyond_the_row_of_the_cursor(
    place: Place, order: str, beyond: str
) -> None:
    sql = KEYS.shown_sql("FROM rows r WHERE true", place, rows=2)

    assert sql.endswith(f"ORDER BY {order} LIMIT 3")
    condition = f"AND (r.name, r.id) {beyond} (%(place_mark)s::text, %(place_key)s::bigint)"
    assert (condition in sql) is bool(beyond)


def test_one_row_more_than_a_page_says_that_rows_follow() -> None:
    rows = [Row(number) for number in (1, 2, 3)]

    def cut_at(place: Place, found: list[Row]) -> tuple[list[int], bool, bool]:
        page: Page[Row] = cut(found, place, rows=2)
        return [row.key for row in page.rows], page.has_previous, page.has_next

    assert cut_at(Place(DEFAULT), rows) == ([1, 2], False, True)
    assert cut_at(Place(DEFAULT, "0", "0"), rows[:2]) == ([1, 2], True, False)
    assert cut_at(Place(DEFAULT, "9", "9", backwards=True), rows) == ([2, 1], True, True)
    assert cut_at(Place(DEFAULT, "9", "9"), []) == ([], False, False)


def test_links_keep_filters_and_order_and_the_shown_page() -> None:
    place = Place(Sort("money", descending=True), "40", "4")
    page = Page([Row(3), Row(2)], has_previous=True, has_next=True)

    links = KEYS.links((ITEM, MONEY), place, {"view": "open", "q": ""}, page)

    assert links.here == "view=open&sort=-money&after=40~4"
    assert links.pages.first == "?view=open&sort=-money"
    assert links.pages.previous == "?view=open&sort=-money&before=30~3"
    assert links.pages.next == "?view=open&sort=-money&after=20~2"
    assert links.as_context()["here"] == links.here


def test_first_and_last_pages_have_no_links_beyond_them() -> None:
    only = cursor_pages({}, previous="", following="")
    assert (only.first, only.previous, only.next) == ("", "", "")
    second = numbered_pages({"q": "a"}, start=40, rows=40, has_more=False)
    assert (second.first, second.previous, second.next) == ("", "?q=a&start=0", "")
    assert numbered_pages({}, start=80, rows=40, has_more=True).next == "?start=120"
    assert [start_of(given) for given in ("40", "-1", "x", "1" * 9, "")] == [40, 0, 0, 0, 0]
    assert address({}) == "?"
