"""The item page shows the lines of `inventory explain` in the same order, over real rows."""

import re
from datetime import timedelta
from html import unescape
from importlib import import_module
from pathlib import Path
from re import findall, sub

import psycopg
import pytest
from pydantic import SecretStr

from analytics.explain import explain
from cdc.contracts.times import time_text
from cdc.settings import Connections
from inventory.explain import formatting
from inventory.revision import LOGIC_REVISION
from tests.ledger.folded import state_of
from tests.ledger.postgres import Server
from tests.ledger.rows import NOON, write
from tests.ledger.shown import AS_OF_US, project

POLICY = {
    "clock_mode": "replayed",
    "replenish_family": "sS",
    "reorder_point_units": 60,
    "order_up_to_units": 90,
    "pack_units": 12,
    "price_mode": "advise",
    "regular_minor": 999,
    "recorded_by": "ann",
}


def page(path: str, *, role: str = "buyer", status: int = 200) -> str:
    """Return the page for a person of this role. Fail unless the status is `status`."""
    models = import_module("django.contrib.auth.models")  # here, because they need Django set up
    client = import_module("django.test").Client()
    person, _ = models.User.objects.get_or_create(username=f"page-{role}")
    person.groups.set([models.Group.objects.get_or_create(name=role)[0]])
    import_module("ledger.people").write_memberships(person, everywhere=True)
    client.force_login(person)
    answer = client.get(path, headers={"host": "127.0.0.1"}, secure=True)
    assert answer.status_code == status, answer.content[:2000]
    body = b"".join(answer) if answer.streaming else answer.content
    return str(body.decode())


def text_of(html: str) -> str:
    return unescape(sub(r"\s+", " ", sub(r"<[^>]+>", " ", html)))


@pytest.fixture
def shop(ledger: psycopg.Connection) -> psycopg.Connection:
    write(ledger, "item_location", **POLICY)
    write(ledger, "stock_count", units=50, occurred_at=NOON - timedelta(days=1), recorded_by="bob")
    write(ledger, "sale_line", quantity_units=4, occurred_at=NOON - timedelta(minutes=25))
    write(ledger, "purchase_order_line", ordered_units=12, recorded_by="cy")
    ledger.execute("DELETE FROM read_model.sales_window")
    project(ledger, state_of(ledger, "L|S"))
    return ledger


@pytest.mark.usefixtures("shop")
def test_item_page_shows_the_lines_of_inventory_explain_in_the_same_order(
    server: Server, database: str, tmp_path: Path
) -> None:
    url = SecretStr(server.url("app_ro", database))
    found = explain("S", "L", settings=Connections(home=tmp_path, read_database_url=url))

    html = page("/items/L/S?tab=sources")

    shown = [
        (unescape(label).strip(), unescape(text))
        for label, text in findall(r"<dt>([^<]*)(?:<span.*?</span>)?</dt><dd>([^<]*)</dd>", html)
    ]
    wanted = [
        (formatting.label(line), formatting.text(line, time_text))
        for section in found.sections
        for line in formatting.visible_lines(section)
        if line.name != "as_of_us"
    ]
    assert [line for line in shown if line in wanted] == wanted
    assert "inventory explain S --location L" in text_of(html)
    assert "stock_count" in html
    assert "by bob" in text_of(html)
    for tab, name in (("stock", "Stock"), ("demand", "Demand"), ("reorder", "Levels")):
        assert f'<h3 id="explained-{name.lower()}">{name}</h3>' in page(f"/items/L/S?tab={tab}")


@pytest.mark.usefixtures("shop")
def test_item_page_shows_sales_of_the_last_hour_day_and_week() -> None:
    assert AS_OF_US == 1_772_452_800_000_000  # noon, as the sale's clock

    text = text_of(page("/items/L/S?tab=demand"))

    assert "hour 2026-03-02 11:00, 2026-03-02 12:00 can still grow 4" in text
    assert "Sessions of these 7 days: 1" in text
    assert "2026-03-02 11:30 2026-03-02 11:40 4" in text
    assert "inventory sales S --location L" in text


def test_item_page_names_the_deciding_revision_if_its_figures_have_another(
    shop: psycopg.Connection,
) -> None:
    words = "Logic revision {} decides: proposals follow its rules and parameters."
    revisions = (LOGIC_REVISION, LOGIC_REVISION + 1)
    shown = ""
    for revision in revisions:
        shop.execute(
            "INSERT INTO app.revision_switch (revision, switched_by) VALUES (%s, 'x')", (revision,)
        )
        shown = text_of(page("/items/L/S?tab=reorder"))
        assert (words.format(revision) in shown) == (revision != LOGIC_REVISION)

    assert f"follow the rules of revision {LOGIC_REVISION}." in shown


@pytest.mark.usefixtures("shop")
def test_item_page_links_to_the_desks_that_the_role_may_open() -> None:
    buyer, associate = page("/items/L/S"), page("/items/L/S", role="associate")

    assert "reorders/?location=L&amp;sku=S" in buyer
    assert "counts/?location=L&amp;sku=S" in associate
    assert "counts/?location=L&amp;sku=S" not in buyer


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/items/M/S", "There is no location M . The locations are L"),
        ("/items/L/s", "Capital and small letters matter in an SKU. Did you mean S"),
        ("/items/L/T", "No location has an item T"),
    ],
)
def test_page_of_an_unknown_item_names_the_unknown_location_or_sku(path: str, said: str) -> None:
    assert said in text_of(page(path, status=404))


def test_late_sales_are_listed_under_the_window_that_they_changed(
    ledger: psycopg.Connection,
) -> None:
    write(ledger, "item_location", **POLICY)
    for name, at in (
        ("first", NOON),
        ("late", NOON - timedelta(minutes=20)),
        ("gone", NOON - timedelta(minutes=20)),
    ):
        write(ledger, "sale_line", source="t", source_ref=name, occurred_at=at, recorded_by="bob")
    ledger.execute("DELETE FROM read_model.sales_window")
    project(ledger, state_of(ledger, "L|S"))
    ledger.execute("DELETE FROM retail.sale_line WHERE source_ref = 'gone'")

    text = text_of(page("/items/L/S?tab=demand"))

    ledger.execute("DELETE FROM read_model.sales_window")
    _, row, rest = text.partition("2026-03-02 11:40 2 0 €19.98 2 2")
    assert row
    late, _, _ = rest.partition("2026-03-02 12:00")
    assert "t late: sale \N{MINUS SIGN}1, recorded" in late
    assert "by bob" in late
    assert (
        "1 change comes from a line that was corrected or deleted later; the log has this change."
        in late
    )


def test_a_price_that_began_after_the_last_record_of_the_item_is_shown(
    shop: psycopg.Connection,
) -> None:
    write(shop, "price_change", price_minor=1299, effective_from=NOON - timedelta(days=2))
    project(shop, state_of(shop, "L|S"))
    price = re.compile(r'data-f="price">([^<]*)<')
    assert price.findall(page("/items/L/S")) == ["€12.99"]

    # The item has had no record since, so its row in the read model has the old price.
    write(shop, "price_change", price_minor=1099, effective_from=NOON - timedelta(hours=1))
    write(shop, "price_change", price_minor=899, effective_from=NOON + timedelta(days=36500))

    assert price.findall(page("/items/L/S")) == ["€10.99"]
    assert price.findall(page("/?location=L")) == ["€10.99"]
    assert ",1099," in page("/stock.csv?location=L")
