"""A buyer answers a need with spare units of another location."""

import re
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest
from django.test import Client

from inventory.model.ids import InvKey
from inventory.model.state import KeyState, Stock
from ledger import services
from tests.ledger.folded import state_of
from tests.ledger.inbox import level, policy, state
from tests.ledger.pages import form, person
from tests.ledger.rows import reorder_proposal
from tests.ledger.stocked import stocked

NEED = "R:L|S:1-2"
NEED_PAGE = f"/reorders/need?{urlencode({'id': NEED})}"


@pytest.fixture
def need(ledger: psycopg.Connection) -> str:
    services.range_item(location="L", sku="S", policy={"supplier": "ACME", "pack_units": 6})
    stocked("DC", "M", units=30)
    services.name_locations(names={"DC": "Depot", "L": "Lane"})
    return reorder_proposal(ledger)


def shelf(location: str, units: int, **changes: Any) -> KeyState:
    """Return the state of a key with `units` on hand and a reorder point of 10."""
    stock = Stock(on_hand_units=units, opening_units=units)
    found = replace(state(), inv_key=InvKey(f"{location}|S"), **changes)
    opening = state().stock.opening_count
    active = replace(policy(), inv_key=InvKey(f"{location}|S"))
    return replace(
        found,
        stock=replace(stock, opening_count=opening),
        policy=active,
        base_position_units=units,
        reorder_point_units=changes.get("reorder_point_units", 10),
    )


def text(answer: Any) -> str:
    return re.sub(r"\s+", " ", answer.content.decode())


def ask(client: Client, need: str, **fields: object) -> Any:
    given = {"source": "DC", "destination": "L", "sku": "S", "units": 12, **fields}
    return client.post("/reorders/decide", form(need, 1, action="transfer", **given))


def planned(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT inv_key, leg, status, planned_units, reorder_id, recorded_by"
        " FROM retail.shipment_line ORDER BY id"
    ).fetchall()


def offered(client: Client) -> list[str]:
    return re.findall(r"<option[^>]*>([^<]* can spare [^<]*)</option>", text(client.get(NEED_PAGE)))


def test_a_buyer_asks_a_location_that_can_spare_the_units(
    ledger: psycopg.Connection, need: str
) -> None:
    level(ledger, shelf("DC", 30))
    client = person("buyer")
    page = text(client.get(NEED_PAGE))

    answer = ask(client, need)

    assert "Depot can spare 19" in page
    assert (
        'name="units" type="number" inputmode="numeric" min="1" max="1000000" required value="19"'
        in page
    )
    assert answer.status_code == 302
    assert "Asked Depot to send 12 units of S to Lane: transfer" in text(client.get("/reorders/"))
    assert planned(ledger) == [
        ("DC|S", "transfer_out", "planned", 12, None, "buyer"),
        ("L|S", "transfer_in", "planned", 12, need, "buyer"),
    ]
    assert ledger.execute(
        "SELECT decided_action, decided_by, decided_units FROM app.reorder_proposal"
    ).fetchone() == ("approve", "buyer", None)


@pytest.mark.domain("5.3 cell open × answered")
def test_the_planned_transfer_closes_the_need_by_the_rules(ledger: psycopg.Connection) -> None:
    levels = {"reorder_point_units": 20, "order_up_to_units": 60}
    fixed = {"replenish_family": "sS", "levels": "fixed", "pack_units": 6, **levels}
    services.range_item(location="L", sku="S", policy=fixed)
    services.approve_count(services.ApproveCount(location="L", sku="S", units=10, kind="opening"))
    stocked("DC", units=54)
    opened = state_of(ledger, "L|S").episode
    assert opened.state == "open"
    need = reorder_proposal(ledger, reorder_id=opened.id, quantity_units=opened.quantity_units)

    assert ask(person("buyer"), need, units=54).status_code == 302

    closed = state_of(ledger, "L|S")
    assert closed.episode.last_output is not None
    assert (closed.episode.state, closed.episode.last_output.status) == ("idle", "accepted")
    assert closed.stock.on_order_units == 54


@pytest.mark.parametrize(
    ("units", "reorder_point", "spare"),
    [(30, 10, ["DC can spare 19"]), (11, 10, []), (12, 10, ["DC can spare 1"])],
)
def test_a_source_stays_above_its_own_reorder_point(
    ledger: psycopg.Connection, units: int, reorder_point: int, spare: list[str]
) -> None:
    services.range_item(location="L", sku="S", policy={"supplier": "ACME"})
    reorder_proposal(ledger)
    level(ledger, shelf("DC", units, reorder_point_units=reorder_point))

    assert offered(person("buyer")) == spare


def test_promised_units_and_the_needs_own_location_are_not_offered(
    ledger: psycopg.Connection, need: str
) -> None:
    level(ledger, shelf("DC", 30))
    level(ledger, shelf("L", 30))
    services.plan_transfer(route=services.Route("DC", "M", "S", 14))

    assert offered(person("buyer")) == ["Depot can spare 5"]
    services.plan_transfer(route=services.Route("DC", "M", "S", 5))
    assert offered(person("buyer")) == []


def test_the_five_locations_with_most_spare_units_are_offered(
    ledger: psycopg.Connection, need: str
) -> None:
    for number in range(7):
        level(ledger, shelf(f"M{number}", 20 + number))

    found = offered(person("buyer"))

    assert found == [f"M{number} can spare {9 + number}" for number in (6, 5, 4, 3, 2)]


@pytest.mark.parametrize("role", ["associate", "manager", "pricing"])
def test_only_buyers_can_answer_a_need_by_a_transfer(
    ledger: psycopg.Connection, need: str, role: str
) -> None:
    level(ledger, shelf("DC", 30))

    assert ask(person(role), need).status_code == 403
    assert "From another location" not in text(person(role).get(NEED_PAGE))
    assert planned(ledger) == []


def test_a_transfer_for_a_changed_need_gets_a_conflict_and_keeps_the_input(
    ledger: psycopg.Connection, need: str
) -> None:
    level(ledger, shelf("DC", 30))
    ledger.execute("UPDATE app.reorder_proposal SET revision = 2")

    answer = ask(person("buyer"), need, units=7, due_on="2099-01-02")

    page = text(answer)
    assert answer.status_code == 409
    assert "It now has revision 2" in page
    assert '<details class="more" open><summary>From another location' in page
    assert 'value="7"' in page
    assert 'value="2099-01-02"' in page
    assert planned(ledger) == []


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"units": 0}, "a whole number from 1"),
        ({"source": "L"}, "must differ from the location that sends the units"),
        ({"sku": "T"}, "a need of Lane for T"),
        ({"due_on": "soon"}, "a day like"),
    ],
)
def test_an_invalid_transfer_for_a_need_is_refused(
    ledger: psycopg.Connection, need: str, fields: dict[str, Any], rule: str
) -> None:
    level(ledger, shelf("DC", 30))

    answer = ask(person("buyer"), need, **fields)

    assert answer.status_code == 422
    assert rule in text(answer)
    assert planned(ledger) == []
