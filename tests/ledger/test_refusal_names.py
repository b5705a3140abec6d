"""Refusals have names of stores, suppliers and items on pages, and codes in the API."""

import re
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.urls import reverse

from ledger import services
from ledger.kernel.errors import Conflict, FormReused, ServiceError
from ledger.messages import Counted, Message, joined
from tests.ledger.pages import form, person
from tests.ledger.programs import problem, program
from tests.ledger.stocked import stocked
from webui.shell.refusals import conflict_text, named, refused_text


@pytest.fixture(autouse=True)
def names(ledger: psycopg.Connection) -> psycopg.Connection:
    """Stock 100 units of a kettle in Leeds and in the centre; ACME delivers it."""
    services.name_locations(names={"L": "Leeds", "DC-1": "Centre"})
    services.name_products(names={"S": "Kettle"})
    services.name_suppliers(names={"ACME": "Acme Ltd"})
    stocked("DC-1", "L")
    return ledger


def text(answer: Any) -> str:
    body = answer.content.decode().partition("<main")[2].partition("</main>")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body))


def test_a_refused_transfer_shows_store_names_on_pages_and_codes_in_the_api() -> None:
    asked = {"source": "DC-1", "destination": "L", "sku": "S", "action": "plan"}
    ann = person("manager", stores=("L",))

    page = ann.post("/transfers/ask", {**asked, "units": "101", "command_id": str(uuid4())})
    api = program("manager", stores=("L",)).post("/api/v1/transfers", asked | {"units": 101})

    assert "at most 100: Centre has no more units that are free to send" in text(page)
    assert problem(api)["rule"] == "at most 100: DC-1 has no more units that are free to send"


def test_a_refused_store_is_shown_by_name_and_recorded_by_code(ledger: psycopg.Connection) -> None:
    answer = person("associate", "ann", stores=("L",)).get("/items/DC-1/S")

    assert answer.status_code == 403
    assert "Centre is not one of your stores" in text(answer)
    recorded = ledger.execute("SELECT reason FROM app.refusal ORDER BY id DESC LIMIT 1").fetchone()
    assert recorded is not None
    assert recorded[0].startswith("DC-1 is not one of your stores")


def test_a_price_conflict_shows_the_item_name() -> None:
    services.set_price(services.SetPrice(location="L", sku="S", price_minor=999, kind="initial"))
    late = form("L|S", 0, action="manual", price="9.50", reason="season")

    answer = person("pricing").post(reverse("prices-item-change", args=("L", "S")), late)

    assert answer.status_code == 409
    assert "The price of Kettle at Leeds has changed since it was shown: now €9.99" in text(answer)


@pytest.mark.parametrize(
    ("field", "value", "rule", "shown"),
    [
        ("source", "DC-1", "choose another one", "Source: choose another one; got “Centre”."),
        ("destination", "L", "x", "Destination: x; got “Leeds”."),
        ("supplier", "ACME", "not active", "Supplier: not active; got “Acme Ltd”."),
        ("inv_key", "L|S", "x", "Item: x; got “Kettle at Leeds”."),
        ("location", "L-9", "no such location", "Location: no such location; got “L-9”."),
        ("location", "", "choose one", "Location: choose one."),
        ("inv_key", "LS", "x", "Item: x; got “LS”."),
        ("sku", "S", "x", "SKU: x; got “S”."),
        ("units", 7, Message("more than %(location)s has", location="L"), "Units: more than Leeds"),
    ],
)
def test_a_refusal_shows_names_for_codes_in_its_value_and_its_rule(
    field: str, value: object, rule: str, shown: str
) -> None:
    assert refused_text(ServiceError(field, value, rule)).startswith(shown)


def test_names_replace_codes_in_every_kind_of_message() -> None:
    one = Counted("%(n)s line of %(supplier)s", "%(n)s lines of %(supplier)s", 2, n=2, supplier="A")
    acme = one.with_values(lambda name, value: "ACME" if name == "supplier" else value)
    whole = Message("%(what)s (%(sku)s)", what=joined([acme, "plain"]), sku="S")

    assert named(whole) == "2 lines of Acme Ltd, plain (S)"
    assert named("L is plain text") == "L is plain text"
    assert whole == "2 lines of ACME, plain (S)"


def test_a_reused_form_conflict_does_not_state_that_nothing_was_written() -> None:
    what = Message("%(inv_key)s has changed", inv_key="L|S")

    assert conflict_text(Conflict(what)) == "Kettle at Leeds has changed. Nothing was written."
    assert conflict_text(FormReused(what)) == "Kettle at Leeds has changed"
