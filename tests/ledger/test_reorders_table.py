"""The table of needs: flagged needs first, its size, and one form for twenty needs."""

import gzip
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from itertools import product
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.test import Client
from typing_extensions import override

from inventory.replenishment.attention import NeedFacts, attention, urgency
from ledger import services
from ledger.automation import sends
from tests.ledger.inbox import level, state
from tests.ledger.pages import person
from tests.ledger.rows import reorder_proposal
from tests.ledger.test_pending_sends import let_time_pass
from webui.desks.reorders.table import Wanted, need_page

MOST_NODES = 1_500
MOST_BYTES = 60_000


def need(ledger: psycopg.Connection, number: int, **changes: object) -> str:
    """Write a need of 42 units at 4.00 and return its id; `changes` are columns of the proposal."""
    sku = f"S{number:03}"
    policy = {"supplier": "ACME", "pack_units": 6, "cost_minor": 400}
    services.range_item(location="L", sku=sku, policy=policy)
    names = {"reorder_id": f"R:L|{sku}:1-2", "inv_key": f"L|{sku}", "sku": sku}
    return reorder_proposal(ledger, **{"cost_minor": 400, **names, **changes})


def html(answer: Any) -> str:
    return str(answer.content.decode())


class Page(HTMLParser):
    """A parsed page: the number of its elements, and the fields of the bulk form."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.nodes = 0
        self.boxes: list[str] = []
        self.packs: dict[str, str] = {}
        self.command_id = ""
        self.action = ""
        self.is_bulk = False
        self.feed(html(answer))

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.nodes += 1
        given = {name: value or "" for name, value in attrs}
        name = given.get("name", "")
        if tag == "form":
            self.is_bulk = given.get("id") == "bulk"
            self.action = given["action"] if self.is_bulk else self.action
        if tag == "input" and name == "command_id" and self.is_bulk:
            self.command_id = given["value"]
        if given.get("form") == "bulk" and name == "pick":
            self.boxes.append(given["value"])
        if given.get("form") == "bulk" and name.startswith("packs-"):
            self.packs[name] = given["value"]


def test_sql_and_python_flag_the_same_needs_for_attention(ledger: psycopg.Connection) -> None:
    services.name_suppliers(names={"ACME": "Acme", "GONE": "Gone"})
    services.set_supplier_terms(services.SetSupplierTerms("GONE", is_active=False))
    facts: dict[str, NeedFacts] = {}
    cases = product(
        ("ACME", "GONE", None), (-1, 3), (42, 41), ((), ("cover_over_guard",)), (0, 100)
    )
    for number, (supplier, on_hand, units, flags, limit) in enumerate(cases):
        sku = f"S{number:03}"
        policy = {"pack_units": 6, "cost_minor": 400, "auto_max_minor": limit}
        services.range_item(location="L", sku=sku, policy=policy)
        level(ledger, state(sku=sku, stock={"on_hand_units": on_hand}))
        names = {"reorder_id": f"R:L|{sku}:1-2", "inv_key": f"L|{sku}", "sku": sku}
        row = {"supplier": supplier, "quantity_units": units, "flags": list(flags)}
        need_id = reorder_proposal(ledger, **names, **row)
        facts[need_id] = NeedFacts(
            supplier=supplier,
            is_supplier_active=supplier != "GONE",
            on_hand_units=on_hand,
            is_phantom_suspect=False,
            quantity_units=units,
            pack_units=6,
            cost_minor=400,
            auto_max_minor=limit,
            flags=flags,
        )

    page = need_page(Wanted("open"), 100)
    rows = page.rows

    assert {row.reorder_id: tuple(row.attention) for row in rows} == {
        need_id: attention(need) for need_id, need in facts.items()
    }
    assert {row.reorder_id for row in rows if row.section == 1} == {
        need_id for need_id, need in facts.items() if not attention(need)
    }
    assert sum(total.needs for total in page.totals) == len(facts)


@pytest.mark.parametrize(
    ("available", "cover", "lead", "expected"),
    [(0, 0, 200, 0), (-2, 0, 0, 0), (3, 199, 200, 1), (3, 200, 200, 2), (0, None, 200, 2)],
)
def test_urgency_depends_on_available_units_cover_and_lead_time(
    available: int, cover: int | None, lead: int, expected: int
) -> None:
    found = urgency(available_units=available, cover_centidays=cover, lead_time_centidays=lead)

    assert found == expected


def test_flagged_needs_come_first_and_then_the_largest_values(ledger: psycopg.Connection) -> None:
    small = need(ledger, 1, quantity_units=6)
    large = need(ledger, 2, quantity_units=60)
    flagged = need(ledger, 3, flags=["no_demand_history"], quantity_units=6)

    page = html(person("buyer").get("/reorders/"))

    assert re.findall(r'data-proposal="([^"]+)"', page) == [flagged, large, small]
    assert re.findall(r'<section class="needs-section" aria-label="([^"]+)"', page) == [
        "To look at first",
        "Routine",
    ]
    assert "has no sales to judge by" in page
    assert "3 needs, worth €288.00." in page


@pytest.mark.parametrize(
    "sort", ["item", "store", "on_hand", "cover", "units", "money", "supplier"]
)
def test_every_column_sorts_in_both_directions_over_all_pages(
    ledger: psycopg.Connection, sort: str
) -> None:
    for number in range(60):
        need(ledger, number, quantity_units=6 * (1 + number * 7 % 13))
    orders = []

    for wanted in (sort, f"-{sort}"):
        first = need_page(Wanted("open", sort=wanted), 40).rows
        second = need_page(Wanted("open", sort=wanted, after=first[-1].cursor), 40).rows
        back = need_page(Wanted("open", sort=wanted, before=second[0].cursor), 40).rows
        assert back == first
        orders.append([row.reorder_id for row in (*first, *second)])

    assert len(set(orders[0])) == 60
    assert orders[1] == orders[0][::-1]


@pytest.mark.parametrize("after", ["R:nothing", "~~", "7~1~R", "1~abc~R", "1~1"])
def test_an_invalid_cursor_shows_the_start_of_the_list(
    ledger: psycopg.Connection, after: str
) -> None:
    mine = need(ledger, 1)

    page = person("buyer").get("/reorders/", {"after": after, "sort": "money"})

    assert page.status_code == 200
    assert mine in html(page)


@pytest.mark.parametrize("name", ["after", "before"])
def test_an_invalid_page_cursor_in_a_long_list_shows_the_first_page(
    ledger: psycopg.Connection, name: str
) -> None:
    for number in range(55):
        need(ledger, number)

    pages = [person("buyer").get("/reorders/", given) for given in ({}, {name: "x"})]

    shown = [re.findall(r'data-proposal="([^"]*)"', html(page)) for page in pages]
    assert len(shown[0]) == 50
    assert shown[0] == shown[1]
    assert 'rel="prev"' not in html(pages[1])


def test_the_needs_page_keeps_its_limits_of_nodes_and_bytes(ledger: psycopg.Connection) -> None:
    for number in range(120):
        need(ledger, number, flags=["cover_over_guard"] if number % 2 else [])

    answer = person("buyer").get("/reorders/")

    assert len(re.findall("data-proposal=", html(answer))) == 50
    assert Page(answer).nodes <= MOST_NODES
    assert len(gzip.compress(answer.content)) <= MOST_BYTES


def twenty(ledger: psycopg.Connection) -> Client:
    for number in range(20):
        need(ledger, number)
    return person("buyer")


def bulk(page: Page, **fields: object) -> dict[str, object]:
    """Return the bulk form as a browser sends it with every box ticked."""
    return {"command_id": page.command_id, "pick": page.boxes, **page.packs, **fields}


def test_twenty_needs_become_sent_orders_with_two_requests(ledger: psycopg.Connection) -> None:
    client = twenty(ledger)
    page = Page(client.get("/reorders/"))
    assert len(page.boxes) == 20

    answer = client.post(page.action, bulk(page, do="send"))

    assert answer.status_code == 302
    waiting = html(client.get(answer["Location"]))
    assert "<b>20 needs in 1 order</b>, €3,360.00, are sent in" in waiting
    assert "data-proposal" not in waiting
    let_time_pass(ledger)
    assert sends.send_due() == 1
    done = html(client.get("/reorders/"))
    assert "Sent <b>20 needs in 1 order</b>" in done
    lines = "SELECT count(*), min(status), max(status) FROM retail.purchase_order_line"
    assert ledger.execute(lines).fetchall() == [(20, "sent", "sent")]


def test_undo_brings_the_needs_back_in_the_same_list(ledger: psycopg.Connection) -> None:
    client = twenty(ledger)
    page = Page(client.get("/reorders/"))
    client.post(page.action, bulk(page, do="send"))
    waiting = html(client.get("/reorders/?location=L"))
    [send] = re.findall(r'name="send" value="(\d+)"', waiting)
    [action] = set(re.findall(r'action="(/reorders/sends[^"]*)"', waiting))

    undone = client.post(
        unescape(action), {"send": send, "action": "undo", "command_id": str(uuid4())}
    )

    assert undone["Location"] == "/reorders/?location=L"
    again = html(client.get(undone["Location"]))
    assert "Undone: nothing was sent" in again
    assert len(re.findall("data-proposal=", again)) == 20
    late = client.post(
        "/reorders/sends", {"send": send, "action": "undo", "command_id": str(uuid4())}
    )
    assert late.status_code == 409
    assert "buyer has already undone this send" in html(late)


def test_an_unsent_need_is_reported_until_it_is_dismissed(ledger: psycopg.Connection) -> None:
    first, second = need(ledger, 1), need(ledger, 2)
    client = person("buyer")
    page = Page(client.get("/reorders/"))
    client.post(page.action, bulk(page, do="send"))
    ledger.execute("UPDATE app.reorder_proposal SET revision = 2 WHERE reorder_id = %s", [second])
    let_time_pass(ledger)
    sends.send_due()

    shown = html(client.get("/reorders/"))
    assert "Sent <b>1 need in 1 order</b>" in shown
    assert "S002 at L</a>: " in shown
    assert "still on the list" in shown
    assert "send-notice warning" in shown
    assert "It now has revision 2" in shown
    assert second in shown
    assert f'data-proposal="{first}"' in shown  # still open, because no workers run here
    [send] = re.findall(r'name="send" value="(\d+)"', shown)
    seen = {"send": send, "action": "seen", "command_id": str(uuid4())}
    assert client.post("/reorders/sends", seen).status_code == 302
    assert "send-notice" not in html(client.get("/reorders/"))


def test_a_need_ordered_meanwhile_is_not_reported_as_still_on_the_list(
    ledger: psycopg.Connection,
) -> None:
    first, second = need(ledger, 1), need(ledger, 2)
    client = person("buyer")
    for picked in (first, second):
        pick = {"pick": [f"1@{picked}"], "do": "send", "command_id": str(uuid4())}
        client.post("/reorders/approve", pick)
    services.approve_reorder(services.ApproveReorder(reorder_id=second, shown_revision=1))
    let_time_pass(ledger)
    sends.send_due()

    shown = html(client.get("/reorders/"))

    assert "1 need was not ordered, because it has left the list meanwhile" in shown
    assert "still on the list" not in shown
    assert shown.count("send-notice success") == 2
    [send, *_] = re.findall(r'name="send" value="(\d+)"', shown)
    seen = {"send": send, "action": "all_seen", "command_id": str(uuid4())}
    assert client.post("/reorders/sends", seen).status_code == 302
    after = html(client.get("/reorders/"))
    assert "send-notice" not in after
    assert '<div class="toasts"></div>' in after


def test_typed_packs_are_ordered_and_refused_rows_keep_them(
    ledger: psycopg.Connection,
) -> None:
    fine, stale, odd = need(ledger, 1), need(ledger, 2), need(ledger, 3)
    client = person("buyer")
    page = Page(client.get("/reorders/"))
    ledger.execute("UPDATE app.reorder_proposal SET revision = 2 WHERE reorder_id = %s", [stale])
    typed = {f"packs-6@{fine}": "8", f"packs-6@{stale}": "9", f"packs-6@{odd}": "many"}

    answer = client.post(page.action, bulk(page, **typed))

    shown = html(answer)
    assert "2 of the picked needs could not be ordered" in shown
    assert "Packs: a whole number from 1; got “many”." in shown
    assert f'name="packs-6@{stale}" value="9"' in shown
    ordered = "SELECT reorder_id, ordered_units FROM retail.purchase_order_line"
    assert ledger.execute(ordered).fetchall() == [(fine, 48)]


def test_the_button_of_a_row_orders_that_need_alone_and_once(ledger: psycopg.Connection) -> None:
    first, second = need(ledger, 1), need(ledger, 2)
    client = person("buyer")
    answer = client.get("/reorders/")
    page = Page(answer)
    form = {"command_id": page.command_id, **page.packs}
    # Enter in a quantity presses the first button of the form, so this button must order nothing.
    assert " disabled" in re.findall(r'<button[^>]*form="bulk"[^>]*>', html(answer))[0]

    answers = [client.post(page.action, {**form, "one": f"1@{first}"}) for _ in range(2)]
    other = client.post(page.action, {**form, "one": f"1@{second}"})

    assert [answer.status_code for answer in (*answers, other)] == [302, 302, 302]
    ordered = "SELECT reorder_id FROM retail.purchase_order_line ORDER BY id"
    assert ledger.execute(ordered).fetchall() == [(first,), (second,)]


def test_a_refused_row_shows_the_reason_and_the_typed_packs(ledger: psycopg.Connection) -> None:
    mine = need(ledger, 1)
    client = person("buyer")
    page = Page(client.get("/reorders/"))
    ledger.execute("UPDATE app.reorder_proposal SET revision = 2, quantity_units = 48")

    fields = {"command_id": page.command_id, "one": f"1@{mine}", f"packs-6@{mine}": "9"}
    answer = client.post(page.action, fields)

    assert answer.status_code == 409
    assert "It now has revision 2" in html(answer)
    assert f'name="packs-6@{mine}" value="9"' in html(answer)
    assert ">48</span>" in html(answer)


def test_draft_orders_are_picked_and_sent_together(ledger: psycopg.Connection) -> None:
    client = twenty(ledger)
    page = Page(client.get("/reorders/"))
    client.post(page.action, bulk(page))
    drafts = Page(client.get("/orders/?view=draft"))
    assert len(drafts.boxes) == 1

    answer = client.post(drafts.action, bulk(drafts))

    assert answer.status_code == 302
    waiting = html(client.get(answer["Location"]))
    assert "<b>1 order</b>, €3,360.00, is sent in" in waiting
    assert "Being sent" in waiting
    let_time_pass(ledger)
    sends.send_due()
    assert "Sent <b>1 order</b>" in html(client.get("/orders/?view=open"))
    nothing = client.post("/orders/send", {"command_id": str(uuid4())})
    assert nothing.status_code == 422
    assert "Tick at least one order first." in html(nothing)


def test_the_need_shows_its_rule_and_levels_in_words(ledger: psycopg.Connection) -> None:
    terms = (
        '[["on_hand_units", 18], ["on_order_units", 0], ["allocated_units", 0],'
        ' ["base_position_units", 18], ["replenish_family", "sS"], ["levels", "fixed"],'
        ' ["demand_rate_micro", 0], ["reorder_point_units", 20], ["order_up_to_units", 60],'
        ' ["need_units", 42], ["pack_units", 6], ["pack_rounding", "up"], ["packed_units", 42],'
        ' ["minimum_units", 6], ["limit_units", null], ["quantity_units", 42]]'
    )
    mine = need(ledger, 1, terms=terms)

    page = re.sub(r"\s+", " ", html(person("buyer").get("/reorders/need", {"id": mine})))

    assert "<dt>Reorder rule</dt><dd>sS, min/max: when the reorder point is reached, order" in page
    assert "<dt>Reorder point</dt><dd>20</dd>" in page
    assert "<dt>Above the reorder point</dt><dd>+40</dd>" in page
    assert "<dt>Order up to</dt><dd>60</dd>" in page


def test_the_needs_page_renders_if_a_need_changes_its_section_meanwhile(
    ledger: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = need(ledger, 1)
    client: Client = person("buyer")
    without_totals = replace(need_page(Wanted("open"), 51), totals=[])
    monkeypatch.setattr("webui.desks.reorders.views.need_page", lambda *_: without_totals)

    page = client.get("/reorders/")

    assert page.status_code == 200
    assert mine in html(page)
