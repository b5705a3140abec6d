"""Paging through a long history on the item page. Every page adds up."""

from datetime import timedelta
from itertools import accumulate, pairwise
from re import findall, search
from typing import NamedTuple

import psycopg
import pytest

from tests.ledger.rows import NOON, write
from tests.ledger.test_item_page import page, text_of

SALES = 60


class Shown(NamedTuple):
    """The numbers of one page of facts."""

    opening: int
    changes: list[int]
    sums: list[int]
    newer: int
    total: int
    earlier_address: str


def shown(address: str) -> Shown:
    html = page(address)
    table = html.split('<table class="cards facts">')[1].split("</table>")[0]
    total, *rows, opening = table.split("<tbody>")[1].split("<tr")[1:]
    foot = "".join(row for row in rows if 'class="newer"' in row)
    facts = [row for row in rows if 'class="newer"' not in row][::-1]  # the oldest first
    earlier = search(r'href="(\?to=\d+)#facts"', opening)
    newer = search(r'class="n" data-label="Change">([^<]*)<', foot)
    return Shown(
        opening=number(findall(r">([^<>]*)</td>", opening)[-1]),
        changes=[number(findall(r'class="n" data-label="[^"]*">([^<]*)', row)[0]) for row in facts],
        sums=[
            number(findall(r'class="n sum" data-label="On hand">([^<]*)', row)[0]) for row in facts
        ],
        newer=number(newer[1]) if newer else 0,
        total=number(findall(r'id="facts-total">([^<]*)<', total)[0]),
        earlier_address=earlier[1] if earlier else "",
    )


def number(text: str) -> int:
    return int(text.replace("\N{MINUS SIGN}", "-").replace("+", "").replace(",", ""))


@pytest.fixture
def history(ledger: psycopg.Connection) -> list[int]:
    """Write a count of 100, then a sale of one unit a minute. Return on-hand after each fact."""
    write(ledger, "item_location")
    write(ledger, "stock_count", units=100, kind="opening", occurred_at=NOON - timedelta(days=1))
    for n in range(SALES):
        at = NOON - timedelta(minutes=SALES - n)
        write(ledger, "sale_line", source="t", source_ref=f"{n}", quantity_units=1, occurred_at=at)
    return [100 - n for n in range(SALES + 1)]


def test_fact_pages_show_each_fact_once_and_their_sums_add_up(history: list[int]) -> None:
    pages = [shown("/items/L/S")]
    while pages[-1].earlier_address:
        pages.append(shown("/items/L/S" + pages[-1].earlier_address))

    assert [len(found.sums) for found in pages] == [25, 25, 11]
    assert [at for found in reversed(pages) for at in found.sums] == history
    for found in pages:
        assert list(accumulate(found.changes, initial=found.opening))[1:] == found.sums
        assert found.opening + sum(found.changes) + found.newer == found.total == history[-1]
    for newer, older in pairwise(pages):
        assert newer.opening == older.sums[-1]
    assert pages[-1].opening == 0


@pytest.mark.usefixtures("history")
def test_fact_page_shows_its_range_and_links_to_newer_facts() -> None:
    newest, middle = page("/items/L/S"), page("/items/L/S?to=36")

    assert "Facts 37 to 61 of 61, the newest business time first" in text_of(newest)
    assert "After 36 earlier facts" in text_of(newest)
    assert "newer fact" not in newest
    assert "Facts 12 to 36 of 61, the newest business time first" in text_of(middle)
    assert "25 newer facts" in text_of(middle)
    assert 'href="?to=61#facts"' in middle
    assert 'href="/items/L/S#facts"' in middle


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("to", ["", "0", "-1", "²", "9" * 30, "x", "999999999"])
def test_invalid_fact_position_shows_the_newest_facts(to: str) -> None:
    assert "Facts 37 to 61 of 61" in text_of(page(f"/items/L/S?to={to}"))


def test_a_short_history_is_shown_whole(ledger: psycopg.Connection) -> None:
    write(ledger, "stock_count", units=7, kind="opening", occurred_at=NOON)

    html = page("/items/L/S")

    assert "Every fact, the newest business time first" in text_of(html)
    assert "Before the first fact" in html
    assert "Earlier facts" not in html


def test_fact_page_of_an_item_without_facts_ignores_the_position(
    ledger: psycopg.Connection,
) -> None:
    write(ledger, "item_location")

    assert "Why on hand is 0" in text_of(page("/items/L/S?to=5"))
