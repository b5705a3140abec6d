"""After a decision the desk shows the next card, not the top of the page."""

import re
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ledger import services
from tests.ledger.inbox import level, state
from tests.ledger.outcomes import waiting_request
from tests.ledger.pages import form, person
from tests.ledger.rows import price_proposal, reorder_proposal
from tests.ledger.test_count_pages import shelf, waiting
from webui.shell.commands import next_cards

__all__ = ["shelf"]


def html(answer: Any) -> str:
    return re.sub(r"\s+", " ", answer.content.decode())


def next_of(page: str, card: str) -> set[str]:
    """Return the addresses to which the forms of a card redirect."""
    [article] = re.findall(
        rf'<(?:article|li|tr) [^>]*id="{re.escape(card)}".*?</(?:article|li|tr)>', page
    )
    return set(re.findall(r'name="next" value="([^"]*)"', article))


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([], {}),
        (["a"], {}),
        (["a", "b"], {"a": "b", "b": "a"}),
        (["a", "b", "c"], {"a": "b", "b": "c", "c": "b"}),
    ],
)
def test_next_card_is_the_following_one_or_the_previous_one_at_the_end(
    ids: list[str], expected: dict[str, str]
) -> None:
    assert next_cards(ids) == expected


@pytest.fixture
def needs(ledger: psycopg.Connection) -> list[str]:
    ids = []
    for sku in ("S1", "S2", "S3"):
        services.range_item(location="L", sku=sku, policy={"supplier": "ACME"})
        level(ledger, state(sku=sku))
        ids.append(f"R:L|{sku}:1-2")
        reorder_proposal(ledger, reorder_id=ids[-1], sku=sku, inv_key=f"L|{sku}")
    return ids


def test_decision_on_a_need_redirects_to_the_next_need_with_a_message(needs: list[str]) -> None:
    client = person("buyer")

    fields = form(needs[0], 1, action="reject", reason="no")
    answer = client.post("/reorders/decide?view=open&location=L&supplier=", fields)

    assert answer.status_code == 302
    place = "/reorders/?view=open&location=L#R%3AL%7CS2%3A1-2"
    assert answer["Location"] == place
    said = html(client.get(place))
    assert "Rejected S1 at L. For seven days the rules open no new need of this item." in said


def test_decision_on_the_last_flagged_need_redirects_to_no_routine_need(
    ledger: psycopg.Connection, needs: list[str]
) -> None:
    flag = "UPDATE app.reorder_proposal SET flags = '{cover_over_guard}' WHERE reorder_id = %s"
    ledger.execute(flag, [needs[1]])

    fields = form(needs[1], 1, action="reject", reason="no")
    answer = person("buyer").post("/reorders/decide?location=L", fields)

    assert answer["Location"] == "/reorders/?location=L"


def test_refused_decision_is_shown_on_its_own_card(needs: list[str]) -> None:
    fields = form(needs[0], 1, action="reject", reason="", next=needs[1])

    answer = person("buyer").post("/reorders/decide", fields)

    assert answer.status_code == 422
    assert "You had filled in" not in html(answer)


def test_price_decision_redirects_to_the_next_proposal(ledger: psycopg.Connection) -> None:
    ids = []
    for sku in ("S1", "S2"):
        services.range_item(location="L", sku=sku)
        ids.append(f"P:L|{sku}:1-2")
        price_proposal(ledger, proposal_id=ids[-1], sku=sku, inv_key=f"L|{sku}")

    page = html(person("pricing").get("/prices/"))

    assert [next_of(page, card) for card in ids] == [{ids[1]}, {ids[0]}]

    opened = html(person("pricing").get("/prices/", {"open": ids[0]}))
    [details] = re.findall(
        rf'<tr class="details" data-details="{re.escape(ids[0])}".*?</tr>', opened
    )
    assert re.findall(r'name="next" value="([^"]*)"', details) == [ids[1]] * 2


def test_next_field_of_a_form_sets_only_the_url_fragment(needs: list[str]) -> None:
    fields = form(needs[0], 1, action="reject", reason="no", next="//elsewhere/#<\r\n" + "x" * 300)

    answer = person("buyer").post("/reorders/decide", fields)

    assert answer.status_code == 302
    place, _, fragment = answer["Location"].partition("#")
    assert place == "/reorders/"
    assert fragment.startswith("%2F%2Felsewhere%2F%23%3C%0D%0A")
    assert len(fragment) < 300


def order(number: int) -> int:
    return services.place_order_line(
        services.PlaceOrderLine(
            location="L",
            sku=f"S{number}",
            supplier="ACME",
            order_ref="X-1",
            ordered_units=1,
            status="draft",
        )
    )


def test_order_line_change_returns_to_its_line_and_deletion_to_the_next_line(
    ledger: psycopg.Connection,
) -> None:
    first, second = order(1), order(2)
    client = person("buyer")
    page = html(client.get(f"/orders/order?ref=X-1&open={first}"))

    [details] = re.findall(rf'<tr class="detail" data-details="line-{first}".*?</tr>', page)
    cards = set(re.findall(r'name="next" value="([^"]*)"', details))
    assert cards == {f"line-{first}", f"line-{second}"}

    ids = rf'name="line" value="{first}"><input type="hidden" name="next" value="line-{first}">'
    [version] = set(
        re.findall(rf'{ids}<input type="hidden" name="shown_version" value="(.*?)"', page)
    )
    given = {"line": first, "shown_version": version, "command_id": uuid4(), "units": 2}
    answer = client.post(
        "/orders/act?ref=X-1&from=0", given | {"action": "change", "next": f"line-{first}"}
    )

    assert answer.status_code == 302
    assert answer["Location"] == f"/orders/order?ref=X-1&from=0#line-{first}"


def test_decision_on_a_waiting_adjustment_redirects_to_the_next_row(
    shelf: psycopg.Connection,
) -> None:
    count = f"count-{waiting(19)}"
    wanted = services.Adjust("L", "S", "theft", 100)
    first, second = (f"request-{waiting_request(wanted, actor)}" for actor in ("ann", "bob"))
    client = person("manager", "max")

    alone = html(client.get("/counts/waiting/?show=counts"))
    page = html(client.get("/counts/waiting/?show=adjustments"))

    assert next_of(alone, count) == {""}
    assert [next_of(page, row) for row in (first, second)] == [{second}, {first}]
