"""A price far from the present one needs a confirmation. Programs need none."""

import re
from typing import Any

import psycopg
import pytest

from ledger import services
from ledger.kernel.refusal_text import refusal_text
from ledger.pricing.plausibility import (
    ImplausiblePrice,
    require_plausible,
    require_plausible_policy,
)
from tests.ledger.pages import form, person

pytestmark = pytest.mark.usefixtures("database")  # amounts need the setting of the currency
PAGE = "/prices/items/L/S/change"
RANGE = "/range/item"


def text(answer: Any) -> str:
    return re.sub(r"\s+", " ", answer.content.decode())


def prices(ledger: psycopg.Connection) -> list[int]:
    found = ledger.execute("SELECT price_minor FROM retail.price_change ORDER BY id").fetchall()
    return [minor for (minor,) in found]


@pytest.fixture
def priced(ledger: psycopg.Connection) -> psycopg.Connection:
    services.range_item(location="L", sku="S", policy={"regular_minor": 2499})
    services.set_price(services.SetPrice(location="L", sku="S", price_minor=2499, kind="initial"))
    return ledger


@pytest.mark.parametrize("price_minor", [4999, 1249, 249_900])
def test_price_over_twice_or_under_half_of_the_last_one_is_implausible(price_minor: int) -> None:
    with pytest.raises(ImplausiblePrice, match=r"less than half of the last price, €24\.99"):
        require_plausible(price_minor, 2499)


@pytest.mark.parametrize(("price_minor", "usual"), [(4998, 2499), (1250, 2499), (249_900, None)])
def test_price_from_half_to_twice_the_last_one_or_without_one_is_plausible(
    price_minor: int, usual: int | None
) -> None:
    require_plausible(price_minor, usual)


@pytest.mark.parametrize("action", ["manual", "emergency"])
def test_implausible_price_needs_a_tick_and_its_form_keeps_the_input(
    priced: psycopg.Connection, action: str
) -> None:
    client = person("pricing")
    [shown] = priced.execute("SELECT max(id) FROM retail.price_change").fetchone() or (0,)
    typed = form("L|S", shown, action=action, price="2499", reason="new label")

    asked = client.post(PAGE, typed)

    page = text(asked)
    assert asked.status_code == 422
    assert "Price: more than twice or less than half of the last price, €24.99" in page
    assert 'name="price" type="text" inputmode="decimal" required maxlength="20"' in page
    assert "> €2,499.00 is correct, though" in page
    # The price field and the confirming checkbox both have the typed price.
    assert {"price", "meant"} <= set(re.findall(r'name="(\w+)"[^>]* value="2499"', page))
    assert page.count('value="new label"') == 1
    assert prices(priced) == [2499]

    meant = client.post(PAGE, form("L|S", shown, **{**_plain(typed), "meant": "2499"}))

    assert meant.status_code == 302
    assert prices(priced) == [2499, 249_900]


def _plain(typed: dict[str, Any]) -> dict[str, Any]:
    return {name: typed[name] for name in ("action", "price", "reason")}


def test_confirmation_of_another_price_is_not_accepted(priced: psycopg.Connection) -> None:
    [shown] = priced.execute("SELECT max(id) FROM retail.price_change").fetchone() or (0,)
    typed = form("L|S", shown, action="manual", price="24990", meant="2499")

    asked = person("pricing").post(PAGE, typed)

    assert asked.status_code == 422
    assert prices(priced) == [2499]


def test_plausible_or_malformed_price_shows_no_confirmation_tick(
    priced: psycopg.Connection,
) -> None:
    client = person("pricing")
    [shown] = priced.execute("SELECT max(id) FROM retail.price_change").fetchone() or (0,)

    without_reason = client.post(PAGE, form("L|S", shown, action="emergency", price="19.99"))
    no_number = client.post(PAGE, form("L|S", shown, action="manual", price="two"))

    for answer in (without_reason, no_number):
        assert answer.status_code == 422
        assert 'name="meant"' not in text(answer)
    done = client.post(PAGE, form("L|S", shown, action="manual", price="12.50"))
    assert done.status_code == 302
    assert prices(priced) == [2499, 1250]


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (
            {"regular_minor": 249_900},
            "Regular price: more than twice .* other locations have, €20.00 to €24.99",
        ),
        ({"cost_minor": 99}, "Cost: more than twice .* other locations have, €12.00:"),
        ({"regular_minor": 1000, "cost_minor": 2400}, ""),
        ({}, ""),
    ],
)
def test_amounts_of_a_new_item_are_compared_with_other_locations(
    ledger: psycopg.Connection, policy: dict[str, object], said: str
) -> None:
    for location, regular in (("A", 2000), ("B", 2499)):
        elsewhere = {"regular_minor": regular, "cost_minor": 1200}
        services.range_item(location=location, sku="S", policy=elsewhere)

    if not said:
        require_plausible_policy("S", "L|S", policy)
        return
    with pytest.raises(ImplausiblePrice) as refused:
        require_plausible_policy("S", "L|S", policy)
    assert re.match(said, refusal_text(refused.value))


def test_the_first_regular_price_is_compared_with_the_cost(ledger: psycopg.Connection) -> None:
    require_plausible_policy("S", "L|S", {"regular_minor": 12_000, "cost_minor": 1200})

    with pytest.raises(ImplausiblePrice, match=r"ten times the cost of €12\.00"):
        require_plausible_policy("S", "L|S", {"regular_minor": 12_001, "cost_minor": 1200})


def test_range_form_needs_confirmation_of_an_implausible_regular_price(
    ledger: psycopg.Connection,
) -> None:
    services.name_locations(names={"L": "Leeds"})
    client = person("lead")
    typed = form("", 0, location="L", sku="S", opening="zero", cost="12", regular="2499")

    asked = client.post(RANGE, typed)

    page = text(asked)
    assert asked.status_code == 422
    assert "more than ten times the cost of €12.00" in page
    assert 'name="meant" value="12 / 2499"' in page
    assert client.post(RANGE, typed | {"meant": "12 / 24999"}).status_code == 422

    done = client.post(RANGE, typed | {"meant": "12 / 2499"})

    assert done.status_code == 302
    row = ledger.execute("SELECT regular_minor FROM retail.item_location").fetchone()
    assert row == (249_900,)


def test_range_form_confirms_an_implausible_cost_without_a_regular_price(
    ledger: psycopg.Connection,
) -> None:
    services.name_locations(names={"L": "Leeds", "M": "Metz"})
    services.range_item(location="M", sku="S", policy={"cost_minor": 1200})
    client = person("lead")
    typed = form("", 0, location="L", sku="S", opening="zero", cost="1200")

    asked = client.post(RANGE, typed)
    [confirmation] = re.findall(r'name="meant" value="([^"]*)"', text(asked))

    assert confirmation == "1200 / none"
    assert client.post(RANGE, typed | {"meant": confirmation}).status_code == 302
