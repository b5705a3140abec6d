"""The home page lists what waits for a person, by urgency and money, at their own store."""

import re
from datetime import timedelta

import psycopg
import pytest

from ledger.kernel.transactions import database_now
from tests.ledger.inbox import NOON, emptied, level, put, state
from tests.ledger.pages import person
from tests.ledger.rows import price_proposal, reorder_proposal, write


@pytest.fixture
def shop(ledger: psycopg.Connection) -> psycopg.Connection:
    return emptied(ledger)


def lines(role: str, query: str = "", name: str = "", **scope: tuple[str, ...]) -> list[list[str]]:
    """Return the cells of the home page's list as texts, one list per row."""
    page = person(role, name, **scope).get(f"/home/{query}").content.decode()
    rows = re.findall(r'<tr><th scope="row">.*?</tr>', page, re.DOTALL)
    cells = [re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL) for row in rows]
    return [[" ".join(re.sub(r"<[^>]+>", "", each).split()) for each in row] for row in cells]


def task(shop: psycopg.Connection, kind: str, role: str, location: str) -> None:
    put(
        shop,
        "app.task",
        kind=kind,
        subject=f"{location}|S",
        location=location,
        sku="S",
        role=role,
        noticed_at=NOON,
        opened_at=NOON,
    )


def test_home_page_lists_needs_with_their_value_before_tasks_for_a_buyer(
    shop: psycopg.Connection,
) -> None:
    reorder_proposal(shop, quantity_units=4, cost_minor=250)
    level(shop, state(stock={"on_hand_units": 0, "opening_units": 0}))
    task(shop, "held_at_zero", "buyer", "L")
    task(shop, "unknown_item", "buyer", "L")

    found = lines("buyer")

    assert [row[0] for row in found] == [
        "Needs without an order 1 with nothing left to sell",
        "Held need with nothing to sell",
        "Unknown item",
    ]
    assert [row[1] for row in found] == ["Now", "Now", "Later"]
    assert found[0][3] == "€10.00"
    assert [row[5].partition(":")[0] for row in found] == [
        "Approve needs",
        "Show held needs",
        "Range it",
    ]


def test_home_page_lists_only_work_at_the_stores_of_a_person(shop: psycopg.Connection) -> None:
    for location in ("L", "M"):
        write(shop, "stock_count", location=location, status="draft", recorded_at=NOON)
        task(shop, "negative_stock", "manager", location)

    [urgent, counts] = lines("manager", name="mia", stores=("M",))

    assert (urgent[0], urgent[2]) == ("Negative stock", "1")
    assert (counts[0], counts[2]) == ("Counts to approve", "1")
    page = person("manager", "mia", stores=("M",)).get("/home/").content.decode()
    assert "location=M" in page
    assert person("manager", "mia", stores=("M",)).get("/home/?location=L").status_code == 403
    assert [row[2] for row in lines("manager", name="max", stores=("L", "M"))] == ["2", "2"]


def test_home_page_lists_counts_with_large_differences_to_count_again(
    shop: psycopg.Connection,
) -> None:
    for units, status in ((20, "approved"), (5, "draft"), (19, "draft")):
        write(shop, "stock_count", units=units, status=status, recorded_at=NOON)

    [again] = lines("associate", name="lea", stores=("L",))

    assert again[0].startswith("Items to count again")
    assert (again[1], again[2]) == ("Today", "1")
    assert [row[0][:20] for row in lines("manager")] == [
        "Counts to approve",
        "Items to count again",
    ]
    assert lines("buyer") == []


def test_home_page_counts_every_item_to_count_again(shop: psycopg.Connection) -> None:
    for number in range(101):
        asked = {"sku": f"S{number:03}", "status": "draft", "recount_asked": number == 100}
        write(shop, "stock_count", **asked, recorded_at=NOON)

    [again] = lines("associate", name="lea", stores=("L",))

    assert again[0].startswith("Items to count again")
    assert again[2] == "1"


def test_count_page_lists_a_hundred_items_to_count_again_and_shows_their_number(
    shop: psycopg.Connection,
) -> None:
    for number in range(101):
        asked = {"sku": f"S{number:03}", "status": "draft", "recount_asked": True}
        write(shop, "stock_count", **asked, recorded_at=NOON)

    page = person("associate", "lea", stores=("L",)).get("/counts/").content.decode()

    assert "100 of 101 are on this page" in page
    assert '<span class="sku">S099</span>' in page
    assert "S100" not in page
    assert '<span class="badge">101</span>' in page


def test_home_page_shows_the_age_of_a_late_delivery_since_its_due_day(
    shop: psycopg.Connection,
) -> None:
    today = database_now().date()
    for order_ref, days in (("PO-1", 3), ("PO-2", 0)):
        due_on = today - timedelta(days=days)
        line = {"order_ref": order_ref, "due_on": due_on, "ordered_units": 1}
        write(shop, "purchase_order_line", **line, recorded_at=NOON)

    [due] = lines("associate", name="lea", stores=("L",))

    assert due[0] == "Deliveries due 2 units, 1 overdue"
    assert (due[1], due[4]) == ("Now", "3 days ago")


def test_an_operator_sees_requests_that_wait_for_a_confirmation(shop: psycopg.Connection) -> None:
    for kind, by in (("publish", "ada"), ("run", "ada"), ("rollback", "olga"), ("shadow", "eve")):
        shop.execute(
            "INSERT INTO app.history_request (kind, arguments, requested_by, cancelled_by,"
            " cancelled_at) VALUES (%s, '{}', %s, %s, now())",
            (kind, by, "eve" if by == "eve" else None),
        )

    [found] = [line for line in lines("operator") if line[0].startswith("Requests to confirm")]

    assert found[0] == (
        "Requests to confirm asked for by ada, olga; another operator has to confirm each request"
    )
    assert found[1:3] == ["Today", "2"]
    assert not [line for line in lines("analyst") if line[0].startswith("Requests to confirm")]


def test_home_page_lists_a_proposal_again_after_its_snooze_has_ended(
    shop: psycopg.Connection,
) -> None:
    reorder_proposal(shop, quantity_units=4, cost_minor=250)
    price_proposal(shop)
    for table in ("reorder_proposal", "price_proposal"):
        shop.execute(f"UPDATE app.{table} SET decided_action = 'snooze', decided_at = now()")  # noqa: S608 -- the two names above

    processed = "UPDATE app.{} SET updated_at = decided_at + interval '{} seconds'"
    found = []
    for seconds in (-1, 1):  # the workers have not processed the snooze; it has ended
        for table in ("reorder_proposal", "price_proposal"):
            shop.execute(processed.format(table, seconds))
        found.append([row[0] for row in (*lines("buyer"), *lines("pricing"))])

    assert found == [[], ["Needs without an order", "Proposed prices"]]


def test_an_unknown_cost_shows_no_money(shop: psycopg.Connection) -> None:
    reorder_proposal(shop, quantity_units=4, cost_minor=0)

    assert lines("buyer")[0][3] == "–"


def test_home_page_without_work_shows_a_message_and_the_age_of_the_figures(
    shop: psycopg.Connection,
) -> None:
    page = person("associate").get("/home/").content.decode()

    assert "Nothing waits" in page
    assert "The age of the stock figures is unknown" in page
