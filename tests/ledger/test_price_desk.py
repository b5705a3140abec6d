"""The desk of prices: its table, search, order, pages, details, changes and the price stop."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import psycopg
import pytest

from ledger import services
from ledger.kernel.transactions import database_now
from tests.ledger.pages import form, person
from tests.ledger.rows import price_proposal, write

POLICY = {"cost_minor": 400, "tax_bp": 2000, "regular_minor": 999, "initial_rate_micro": 2_500_000}


def html(answer: Any) -> str:
    return re.sub(r"\s+", " ", answer.content.decode())


def rows(page: str) -> list[str]:
    """Return the SKUs of the table, in its order."""
    return re.findall(r'data-proposal="P:L\|(\w+):', page)


def propose(connection: psycopg.Connection, sku: str, new_minor: int, **changes: Any) -> str:
    policy = POLICY | changes.pop("policy", {})
    services.range_item(location="L", sku=sku, policy=policy)
    return price_proposal(
        connection,
        proposal_id=f"P:L|{sku}:1-2",
        sku=sku,
        inv_key=f"L|{sku}",
        new_minor=new_minor,
        **changes,
    )


@pytest.fixture
def three(ledger: psycopg.Connection) -> psycopg.Connection:
    propose(ledger, "A", 949, signal="idle")
    propose(ledger, "B", 849, clamps=["ending", "floor"])
    propose(ledger, "C", 1049, policy={"initial_rate_micro": 10_000_000})
    return ledger


@pytest.mark.usefixtures("three")
def test_a_row_has_old_and_new_price_margins_signal_and_limits() -> None:
    page = html(person("pricing").get("/prices/"))
    [row] = re.findall(r'<tr id="P:L\|B:1-2".*?</tr>', page)

    cells = [unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall(r"<td.*?</td>", row)]
    minus = "\N{MINUS SIGN}"
    assert cells[1] == f"9.99 → 8.49 {minus}15.0 %"
    assert cells[2:6] == [
        f"{minus}1.24",
        f"{minus}21.70",
        "too much stock",
        "allowed ending, floor",
    ]
    assert 'aria-sort="descending"' in page
    assert "3 proposed prices" in page


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["C", "B", "A"]),  # by effect on a week
        ("sort=week", ["A", "B", "C"]),
        ("sort=-unit", ["B", "A", "C"]),
        ("sort=-item", ["C", "B", "A"]),
        ("sort=-price", ["C", "A", "B"]),
        ("sort=-change", ["B", "A", "C"]),
        ("sort=store", ["A", "B", "C"]),
        ("sort=signal", ["A", "B", "C"]),
        ("sort=nonsense", ["C", "B", "A"]),
        ("q=b", ["B"]),
        ("q=%25", []),
        ("location=L&signal=idle", ["A"]),
        ("location=M", []),
        ("view=closed", []),
    ],
)
def test_the_desk_is_searched_and_sorted(query: str, expected: list[str]) -> None:
    assert rows(html(person("pricing").get(f"/prices/?{query}"))) == expected


def test_price_desk_pages_link_both_ways_and_share_no_row(ledger: psycopg.Connection) -> None:
    for number in range(45):
        propose(ledger, f"S{number:02}", 949)
    client = person("pricing")

    first = html(client.get("/prices/?sort=item"))
    [following] = re.findall(r'href="([^"]*)" rel="next"', first)
    second = html(client.get("/prices/" + unescape(following)))

    assert rows(first) + rows(second) == [f"S{number:02}" for number in range(45)]
    assert 'rel="prev"' in second
    assert 'rel="next"' not in second
    assert "45 proposed prices, from 41 on" in second
    assert first.count("<") - first.count("</") < 1500


@pytest.mark.usefixtures("three")
def test_details_open_below_their_row_and_stay_open_after_a_refusal() -> None:
    client = person("pricing")
    page = html(client.get("/prices/", {"open": "P:L|B:1-2"}))

    assert page.count('class="details"') == 1
    assert "all prices of this item" in page
    assert 'aria-expanded="true"' in page

    refused = client.post("/prices/decide?sort=item", form("P:L|B:1-2", 1, action="reject"))

    assert refused.status_code == 422
    assert html(refused).count('class="details"') == 1
    assert 'role="alert"' in html(refused)
    assert rows(html(refused)) == ["A", "B", "C"]


@pytest.mark.usefixtures("three")
def test_a_scheduled_price_is_named_beside_the_proposal_that_it_replaces() -> None:
    tomorrow = database_now() + timedelta(days=1)
    services.set_price(services.SetPrice("L", "B", 949, effective_from=tomorrow))

    page = html(person("pricing").get("/prices/", {"open": "P:L|B:1-2"}))

    assert page.count("price scheduled") == 1
    assert f"A price of <b>€9.49</b> is scheduled from tomorrow {tomorrow:%H:%M} on." in page


@pytest.mark.usefixtures("three")
def test_price_decision_redirects_with_the_same_sort_order_and_page() -> None:
    fields = form("P:L|B:1-2", 1, action="snooze", days=3, next="P:L|A:1-2")

    answer = person("pricing").post("/prices/decide?view=open&sort=item&start=0", fields)

    assert answer["Location"] == "/prices/?view=open&sort=item&start=0#P%3AL%7CA%3A1-2"


def test_price_desk_shows_the_stop_switch_and_its_state_at_the_top(
    ledger: psycopg.Connection,
) -> None:
    client = person("pricing", "pat")
    page = html(client.get("/prices/"))
    assert page.index("Rule-made prices are on") < page.index('<ul class="tabs"')

    assert client.post("/prices/stop", {"stop": "1"}).status_code == 302

    page = html(client.get("/prices/"))
    assert page.index("Rule-made prices are stopped") < page.index('<ul class="tabs"')
    assert re.search(r"by pat, today \d\d:\d\d\.", page)
    assert "Allow rule-made prices again" in page
    assert "Stop all rule-made prices" not in html(person("associate").get("/prices/"))


def test_the_newest_changes_are_rolled_back_from_their_list(ledger: psycopg.Connection) -> None:
    services.range_item(location="L", sku="S", policy=POLICY)
    now = database_now()
    for days, price, kind in ((9, 999, "initial"), (5, 899, "rule"), (2, 849, "manual")):
        moment = now - timedelta(days=days)
        write(ledger, "price_change", effective_from=moment, price_minor=price, kind=kind)
    client = person("pricing")
    page = html(client.get("/prices/?view=changes"))

    assert re.findall(r"Roll back to ([^<]+)</button>", page) == ["€8.99"]
    assert "€8.99 → <b>€8.49</b>" in page
    assert "replaced" in page
    hidden = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.split('class="decide"')[1]))
    hidden["proposal"] = unescape(hidden["proposal"])

    assert client.post("/prices/items/L/S/change", hidden).status_code == 302

    page = html(client.get("/prices/?view=changes"))
    assert "€8.49 → <b>€8.99</b>" in page
    assert "Roll back to" not in page
    assert "Roll back to" not in html(person("buyer").get("/prices/?view=changes"))
    assert "No price change with these filters" in html(client.get("/prices/?view=changes&q=nix"))


def test_no_rollback_is_offered_below_the_floor_or_without_a_policy(
    ledger: psycopg.Connection,
) -> None:
    services.range_item(location="L", sku="S", policy=POLICY | {"cost_minor": 800})
    for sku in ("S", "T"):
        for days, price in ((9, 700), (2, 999)):
            moment = database_now() - timedelta(days=days)
            write(
                ledger,
                "price_change",
                sku=sku,
                effective_from=moment,
                price_minor=price,
                floor_minor=1,
            )

    page = html(person("pricing").get("/prices/?view=changes"))

    assert re.findall(r"Roll back to ([^<]+)</button>", page) == ["€9.60"]


def test_details_label_the_reason_of_a_decision(
    ledger: psycopg.Connection,
) -> None:
    propose(ledger, "A", 949, status="snoozed", reason="wait for the season")

    page = html(person("pricing").get("/prices/?view=snoozed&open=P:L|A:1-2"))

    assert "Reason: wait for the season" in page


@pytest.mark.parametrize(
    ("view", "text"),
    [
        ("open", "Proposals then appear here."),
        ("snoozed", "A snoozed proposal appears here"),
        ("closed", "Proposals that are approved, rejected"),
    ],
)
@pytest.mark.usefixtures("ledger")
def test_empty_price_view_explains_which_proposals_appear_in_it(view: str, text: str) -> None:
    page = html(person("pricing").get(f"/prices/?view={view}"))

    assert text in page
    assert len(re.findall("appears? here", page)) == 1


def test_audit_page_labels_the_price_stop_and_the_number_of_a_price(
    ledger: psycopg.Connection,
) -> None:
    services.range_item(location="L", sku="S", policy=POLICY)
    number = services.set_price(services.SetPrice(location="L", sku="S", price_minor=950))
    client = person("pricing", "pat")
    client.post("/prices/stop", {"stop": "1"})

    page = html(person("operator").get("/system/audit/?rules=1"))

    assert 'Rule-made prices stopped: <span class="was">no</span> → <b>yes</b>' in page
    assert f"Number of the price: <b>{number}</b>" in page
    assert ">stop of rule-made prices</td>" in page
