"""The policy on the item page, and the changes that each role may make there."""

import html
import re
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.test import Client

from ledger import services
from ledger.items.automation import set_automation
from ledger.services import Conflict, ServiceError
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.pages import person

PAGE = "/items/L/S?tab=policy"
POST = "/items/policy?location=L&sku=S"
SHOWN = {"auto_max_minor": 0}


@pytest.fixture(autouse=True)
def item(ledger: psycopg.Connection) -> None:
    policy = {
        "replenish_family": "sS",
        "reorder_point_units": 4,
        "order_up_to_units": 9,
        "supplier": "ACME",
        "cost_minor": 1250,
        "price_mode": "advise",
        "regular_minor": 1999,
        "margin_permille": 205,
        "tax_bp": 750,
    }
    services.range_item(location="L", sku="S", policy=policy)


def text(answer: Any) -> str:
    plain = re.sub(r"<[^>]+>", " ", answer.content.decode())
    return html.unescape(re.sub(r"\s+", " ", plain))


def filled(client: Client, **typed: object) -> dict[str, str]:
    """Return the rendered values of the page's form by field; `typed` replaces some of them."""
    card = client.get(PAGE).content.decode().split('id="policy"')[1].split("</section>")[0]
    fields = dict(re.findall(r'name="(\w+)"[^>]* value="([^"]*)"', card))
    fields |= dict(re.findall(r'name="(price_mode)">.*?value="(\w+)" selected', card))
    fields |= {"command_id": str(uuid4())}
    return {name: html.unescape(value) for name, value in fields.items()} | {
        name: str(value) for name, value in typed.items()
    }


def columns(ledger: psycopg.Connection) -> Any:
    return ledger.execute(
        "SELECT auto_max_minor, price_mode, auto_permille, recorded_by FROM retail.item_location"
    ).fetchone()


def test_item_page_shows_the_policy() -> None:
    said = text(person("associate").get(PAGE))

    for part in (
        "Reorder rule when the reorder point is reached, order up to the order level sS,",
        " up to the order level sS, levels fixed",
        "Typed reorder point, order level, quantity 4, 9, 0",
        "Supplier ACME",
        "Cost of a unit €12.50",
        "Automatic orders up to never",
        "Price mode the rules propose, a person approves advise",
        "Regular price, margin, tax €19.99, 20.5 %, 7.50 %",
    ):
        assert part in said
    assert "Change what is done automatically" not in said


def test_purchasing_sets_the_automatic_limit_and_nothing_else(ledger: psycopg.Connection) -> None:
    client = person("buyer")
    fields = filled(client, auto_max="500.00", price_mode="auto", auto_permille=50)

    answer = client.post(POST, fields)

    assert (answer.status_code, answer["Location"]) == (302, "/items/L/S?tab=policy")
    assert columns(ledger) == (50_000, "advise", 0, "buyer")
    said = text(client.get(PAGE))
    assert "Changed: automatic limit." in said
    assert "Automatic orders up to €500.00" in said


def test_pricing_sets_the_price_mode_and_its_limit(ledger: psycopg.Connection) -> None:
    client = person("pricing")
    fields = filled(client, price_mode="auto", auto_permille=50)
    assert "auto_max" not in fields

    assert client.post(POST, fields).status_code == 302

    assert columns(ledger) == (0, "auto", 50, "pricing")
    assert "changes up to 50 ‰" in text(client.get(PAGE))


def test_policy_form_sent_twice_or_without_changes_is_logged_once(
    ledger: psycopg.Connection,
) -> None:
    client = person("buyer")
    fields = filled(client, auto_max=7)

    assert [client.post(POST, fields).status_code for _ in range(2)] == [302, 302]
    assert client.post(POST, filled(client)).status_code == 302

    assert "Nothing changed." in text(client.get(PAGE))
    logged = ledger.execute("SELECT count(*) FROM app.action_log WHERE action = 'policy'")
    assert logged.fetchone() == (1,)


@pytest.mark.parametrize(
    ("role", "field", "typed", "said"),
    [
        ("buyer", "auto_max", "-1", "Automatic limit"),
        ("buyer", "auto_max", "1000000000.01", "Automatic limit: an amount from 0.00"),
        ("buyer", "shown", "[]", "reload"),
        ("buyer", "shown", "{}", "reload"),
        ("pricing", "auto_permille", "1001", "Largest automatic change"),
        ("pricing", "price_mode", "always", "off, advise, auto"),
    ],
)
def test_a_value_outside_its_limits_is_refused_and_stays_in_the_form(
    ledger: psycopg.Connection, role: str, field: str, typed: str, said: str
) -> None:
    before, client = columns(ledger), person(role)

    answer = client.post(POST, filled(client) | {field: typed})

    assert answer.status_code == 422
    assert said in text(answer)
    if field.startswith("auto"):
        assert f'value="{typed}"' in answer.content.decode()
    assert columns(ledger) == before


def test_second_policy_change_is_refused_and_the_page_names_the_first_change(
    ledger: psycopg.Connection,
) -> None:
    first, second = person("buyer", "ann"), person("buyer", "bob")
    theirs = filled(second, auto_max="x")
    first.post(POST, filled(first, auto_max=5))
    mistyped = second.post(POST, theirs).content.decode()
    [shown] = re.findall(r'name="shown" value="([^"]+)"', mistyped)

    refused = second.post(POST, theirs | {"auto_max": "9.00", "shown": html.unescape(shown)})

    assert refused.status_code == 409
    said = (
        r"Last change by ann, \d{4}-\d\d-\d\d \d\d:\d\d UTC: automatic limit is €5\.00, was €0\.00"
    )
    assert re.search(said, text(refused))
    assert 'value="9.00"' in refused.content.decode()
    assert columns(ledger)[0] == 500


def test_one_of_two_simultaneous_policy_changes_is_refused(ledger: psycopg.Connection) -> None:
    def change(limit: int) -> object:
        return set_automation(
            location="L", sku="S", changes={"auto_max_minor": limit}, shown=SHOWN, actor="ann"
        )

    outcomes = at_the_same_time(lambda: change(500), lambda: change(900))

    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 1
    assert columns(ledger)[0] in {500, 900}


def test_set_automation_refuses_other_policy_columns() -> None:
    with pytest.raises(ServiceError, match="policy: one of auto_max_minor"):
        set_automation(location="L", sku="S", changes={"cost_minor": 1}, shown={}, actor="ann")


def test_policy_form_answers_403_to_other_roles_and_404_for_unranged_items() -> None:
    assert person("associate").post(POST, {}).status_code == 403
    assert person("buyer").post("/items/policy?location=L&sku=T", {}).status_code == 404
    assert person("buyer").get("/items/policy").status_code == 405
