"""Adding items to the range: rights, refusals, and the task that it closes."""

import re
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.test import Client
from psycopg import sql

from ledger import services
from ledger.kernel.errors import FormReused
from ledger.ranging.service import NewItem, range_new_item
from ledger.services import Conflict
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.folded import state_of
from tests.ledger.inbox import emptied, is_open, level, state
from tests.ledger.pages import person
from tests.ledger.rows import NOON, write
from webui.desks.ranging.columns import FIELDS

MINIMUM = {"replenish_family": "sS", "reorder_point_units": "5", "order_up_to_units": "20"}


@pytest.fixture(autouse=True)
def places(ledger: psycopg.Connection) -> psycopg.Connection:
    services.name_locations(names={"L": "Leeds"})
    services.name_suppliers(names={"ACME": "Acme"})
    return ledger


def form(**fields: object) -> dict[str, object]:
    given = {"location": "L", "sku": "S", "opening": "zero", "command_id": uuid4()}
    return {**given, **fields}


def post(client: Client, **fields: object) -> Any:
    return client.post("/range/item", form(**fields))


def text(answer: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.content.decode()))


def ranged(ledger: psycopg.Connection, columns: str) -> list[tuple[Any, ...]]:
    names = sql.SQL(", ").join(map(sql.Identifier, columns.split(", ")))
    statement = sql.SQL("SELECT {} FROM retail.item_location").format(names)
    return ledger.execute(statement).fetchall()


def test_a_buyer_ranges_an_item_with_its_policy(ledger: psycopg.Connection) -> None:
    fields = {"name": "Mug", "supplier": "ACME", "pack_units": 6, "cost": "2.50"}
    fields |= {"regular": "9.99", "lead_time": "5.25", **MINIMUM}

    answer = post(person("buyer"), **fields)

    assert (answer.status_code, answer["Location"]) == (302, "/items/L/S")
    columns = "inv_key, status, replenish_family, levels, reorder_point_units, order_up_to_units"
    assert ranged(ledger, columns) == [("L|S", "active", "sS", "fixed", 5, 20)]
    columns = "supplier, pack_units, cost_minor, regular_minor, lead_time_centidays, moq_units"
    assert ranged(ledger, columns) == [("ACME", 6, 250, 999, 525, 0)]
    assert ranged(ledger, "recorded_by") == [("buyer",)]
    assert ledger.execute("SELECT name FROM retail.product").fetchall() == [("Mug",)]
    assert ledger.execute("SELECT actor, action, subject FROM app.action_log").fetchall() == [
        ("buyer", "range", "L|S")
    ]
    found = state_of(ledger, "L|S")
    assert found.stock.on_hand_units == 0
    assert found.episode.quantity_units == 24


def test_ranging_with_unknown_stock_writes_no_stock_count(ledger: psycopg.Connection) -> None:
    answer = post(person("buyer"), opening="unknown")

    assert answer.status_code == 302
    assert ledger.execute("SELECT count(*) FROM retail.stock_count").fetchone() == (0,)


def test_ranging_an_item_closes_its_unknown_item_task(ledger: psycopg.Connection) -> None:
    emptied(ledger)
    unknown = state(sku="a/b & c", policy=None, stock={"opening_count": None, "on_hand_units": -3})
    level(ledger, unknown)
    write(ledger, "sale_line", sku="a/b & c", quantity_units=3, recorded_at=NOON)
    assert is_open(ledger, "unknown_item")
    client = person("buyer")

    tasks = client.get("/tasks/").content.decode()
    link = re.search(r'href="(/range/[^"]*)">Range it', tasks)
    assert link is not None
    page = client.get(link[1].replace("&amp;", "&"))
    assert 'name="sku" value="a/b &amp; c"' in page.content.decode()
    assert '<option value="unknown" selected>' in page.content.decode()
    assert "add up to -3 on hand" in text(page).replace("−", "-")
    assert post(client, sku="a/b & c", opening="unknown").status_code == 302

    assert not is_open(ledger, "unknown_item")
    assert "Every item that has facts is in the range" in text(client.get("/range/"))


def test_unknown_item_task_links_other_roles_to_the_item_page(ledger: psycopg.Connection) -> None:
    emptied(ledger)
    level(ledger, state(policy=None, stock={"opening_count": None}))
    write(ledger, "sale_line", recorded_at=NOON)
    assert is_open(ledger, "unknown_item")

    page = person("associate").get("/tasks/?for=all").content.decode()

    assert "/range/" not in page
    assert re.search(r'href="/items/L/S"[^>]*>See its facts', page)


def test_unranged_item_page_links_only_buyers_to_the_range_form(
    ledger: psycopg.Connection,
) -> None:
    link = 'href="/range/?location=L&amp;sku=S%26T"'
    for has_facts in (False, True):
        if has_facts:
            write(ledger, "sale_line", sku="S&T")
        assert link in person("buyer").get("/items/L/S%26T").content.decode()
        assert "/range/?" not in person("associate").get("/items/L/S%26T").content.decode()
    assert "/range/?" not in person("buyer").get("/items/NOWHERE/S").content.decode()


@pytest.mark.parametrize("role", ["associate", "manager", "pricing", "analyst", "operator"])
def test_other_roles_cannot_range_items(ledger: psycopg.Connection, role: str) -> None:
    assert person(role).get("/range/").status_code == 403
    assert post(person(role)).status_code == 403
    assert ranged(ledger, "id") == []


def test_purchasing_lead_can_range_an_item(ledger: psycopg.Connection) -> None:
    assert post(person("lead")).status_code == 302


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"location": "NOWHERE"}, "no such location: check its code"),
        ({"location": ""}, "a location is 1 to 24"),
        ({"sku": "a|b"}, "printable characters only, and no |"),
        ({"supplier": "NOBODY"}, "no such supplier"),
        ({"opening": "many"}, "one of zero, unknown"),
        ({"name": "x" * 201}, "at most 200 characters"),
        ({"name": "Mug\nred"}, "one line"),
        ({"name": "Mug \u202egum"}, "printable characters only"),
        ({"pack_units": "0"}, "a whole number from 1 to 1,000,000"),
        ({"pack_units": "1000001"}, "a whole number from 1 to 1,000,000"),
        ({"cost": "-1"}, "Cost: an amount from 0.00 to 10,000,000.00"),
        ({"cost": "10000000.01"}, "Cost: an amount from 0.00 to 10,000,000.00"),
        ({"cost_minor": "250"}, "this page is out of date: reload it"),
        ({"regular": "0"}, "Regular price: an amount from 0.01"),
        ({"margin": "100"}, "per cent from 0.00 to 99.90, like 7.5"),
        ({"margin": "7.55"}, "per cent from 0.00 to 99.90, like 7.5"),
        ({"replenish_family": "best"}, "one of"),
        ({**MINIMUM, "order_up_to_units": "5"}, "above reorder"),
        ({"replenish_family": "par"}, "at least 1 for par"),
        ({"replenish_family": "sQ"}, "at least 1 for sQ"),
    ],
)
def test_invalid_policy_is_refused_with_its_rule_and_the_input_is_kept(
    ledger: psycopg.Connection, fields: dict[str, str], rule: str
) -> None:
    answer = post(person("buyer"), **{"moq_units": "7", **fields})

    assert answer.status_code == 422
    notice = re.search(r'role="alert">([^<]*)<', answer.content.decode())
    assert notice is not None
    assert rule.lower() in notice[1].lower()
    for name, typed in fields.items():
        if name in {"cost", "regular"}:
            assert re.search(rf'name="{name}" [^>]*value="{typed}"', answer.content.decode())
    assert 'name="moq_units" type="number" inputmode="numeric" min="0" max="1000000" value="7"' in (
        answer.content.decode()
    )
    assert ranged(ledger, "id") == []


@pytest.mark.parametrize(
    "fields",
    [
        {**MINIMUM, "order_up_to_units": "6"},
        {"replenish_family": "par", "order_up_to_units": "1"},
        {"replenish_family": "sQ", "order_quantity_units": "1"},
        {"replenish_family": "sS", "levels": "computed", "safety_method": "days"},
        {"name": "x" * 200},
        {"margin": "99.9", "tax": "7.25", "pack_units": "1000000", "cost": "10,000,000.00"},
    ],
)
def test_range_form_accepts_the_limit_of_each_rule(
    ledger: psycopg.Connection, fields: dict[str, str]
) -> None:
    assert post(person("buyer"), **fields).status_code == 302


def test_range_form_accepts_the_default_of_every_field(
    ledger: psycopg.Connection,
) -> None:
    shown = {field.name: field.default for field in FIELDS}

    assert post(person("buyer"), **shown).status_code == 302


def test_an_item_that_is_ranged_already_keeps_its_policy(ledger: psycopg.Connection) -> None:
    services.range_item(location="L", sku="S", policy={"pack_units": 12})

    answer = post(person("buyer"), pack_units=6)

    assert answer.status_code == 409
    assert "S at Leeds is ranged already" in text(answer)
    assert ranged(ledger, "pack_units") == [(12,)]


def test_a_new_sku_that_differs_only_in_its_case_is_not_ranged(
    ledger: psycopg.Connection,
) -> None:
    services.range_item(location="M", sku="s")

    refused = post(person("buyer"), name="Mug")
    level(ledger, state())  # a till has sold it
    known = post(person("buyer"), name="Mug")

    assert (refused.status_code, known.status_code) == (422, 302)
    assert "SKU: differs from s only in upper and lower case: use s" in text(refused)
    assert ledger.execute("SELECT code FROM retail.product").fetchall() == [("S",)]


def test_item_is_ranged_once_despite_a_double_click_or_a_second_person(
    ledger: psycopg.Connection,
) -> None:
    client, command = person("buyer"), uuid4()
    item = NewItem("L", "T", {})

    answers = [post(client, command_id=command).status_code for _ in range(2)]
    outcomes = at_the_same_time(
        lambda: range_new_item(item=item, actor="ann"),
        lambda: range_new_item(item=item, actor="bob"),
    )

    assert answers == [302, 302]
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 1
    assert sorted(ranged(ledger, "inv_key")) == [("L|S",), ("L|T",)]
    assert ledger.execute("SELECT count(*) FROM retail.stock_count").fetchone() == (2,)


def test_a_command_id_belongs_to_one_item(ledger: psycopg.Connection) -> None:
    command = UUID(int=7)
    range_new_item(item=NewItem("L", "S", {}), actor="ann", command_id=command)

    with pytest.raises(FormReused, match="already sent with different values"):
        range_new_item(item=NewItem("L", "T", {}), actor="ann", command_id=command)


def test_item_sold_at_an_unnamed_location_can_be_ranged(
    ledger: psycopg.Connection,
) -> None:
    write(ledger, "sale_line", location="POP-UP")

    page = person("buyer").get("/range/?location=POP-UP&sku=S").content.decode()
    answer = post(person("buyer"), location="POP-UP", opening="unknown")

    assert '<option value="POP-UP" selected>' in page
    assert answer.status_code == 302


@pytest.mark.parametrize(("hostile", "status"), [("%00", 400), ("%27%3B--", 200), ("x" * 300, 200)])
def test_range_page_handles_hostile_url_parameters(hostile: str, status: int) -> None:
    page = person("buyer").get(f"/range/?location={hostile}&sku={hostile}")

    assert page.status_code == status


def test_a_product_keeps_the_name_that_it_has(ledger: psycopg.Connection) -> None:
    services.name_products(names={"S": "Mug"})
    assert 'name="name" value="Mug"' in (
        person("buyer").get("/range/?location=L&sku=S").content.decode()
    )

    post(person("buyer"), name="Cup")

    assert ledger.execute("SELECT name FROM retail.product").fetchall() == [("Mug",)]
