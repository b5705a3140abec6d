"""The value of an order is a number only if all costs are known. A missing cost isn't 0."""

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from django.utils import translation

from ledger import services
from ledger.services import PastOrder
from tests.ledger.pages import person
from tests.ledger.rows import write
from webui.desks.orders import queries as selectors
from webui.desks.orders.document import buyer, csv_text
from webui.desks.orders.lines import order_lines
from webui.desks.orders.order import HistoryEntry, header
from webui.desks.orders.queries import Filters
from webui.desks.orders.sheet import total_minor

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def line(ledger: psycopg.Connection, cost_minor: int | None, **changes: Any) -> None:
    write(ledger, "purchase_order_line", order_ref="X-1", cost_minor=cost_minor, **changes)


@pytest.mark.parametrize(
    ("costs", "worth"),
    [((400, 250), 6500), ((400, None), None), ((400, 0), None), ((None,), None)],
)
def test_an_order_has_a_value_where_each_cost_is_known(
    ledger: psycopg.Connection, costs: tuple[int | None, ...], worth: int | None
) -> None:
    for cost in costs:
        line(ledger, cost)

    [row] = selectors.orders(Filters("open"))
    lines = order_lines("X-1")

    assert row.value_minor == total_minor(lines) == worth
    shown = "–" if worth is None else "€65.00"
    client = person("buyer")
    assert f'data-label="Value">{shown}</td>' in client.get("/orders/").content.decode()
    page = client.get("/orders/order?ref=X-1").content.decode()
    assert f"<dt>Worth</dt><dd>{shown}</dd>" in page


def test_draft_of_unknown_cost_is_below_every_supplier_minimum(
    ledger: psycopg.Connection,
) -> None:
    services.name_suppliers(names={"ACME": "Acme"})
    services.set_supplier_terms(services.SetSupplierTerms(code="ACME", minimum_order_minor=1))
    line(ledger, None, status="draft")

    [row] = selectors.orders(Filters("draft"))

    assert row.is_below_minimum
    with pytest.raises(services.ServiceError, match=r"minimum of €0\.01"):
        services.send_order(order_ref="X-1")


def test_draft_line_of_unknown_cost_does_not_hide_the_value_of_others(
    ledger: psycopg.Connection,
) -> None:
    services.name_suppliers(names={"ACME": "Acme"})
    services.set_supplier_terms(services.SetSupplierTerms(code="ACME", minimum_order_minor=4000))
    line(ledger, 400, status="draft")
    line(ledger, None, status="draft")

    [row] = selectors.orders(Filters("draft"))

    assert not row.is_below_minimum
    assert services.send_order(order_ref="X-1").value_minor == 4000


def test_lines_that_were_sent_before_do_not_help_to_reach_the_minimum(
    ledger: psycopg.Connection,
) -> None:
    services.name_suppliers(names={"ACME": "Acme"})
    services.set_supplier_terms(services.SetSupplierTerms(code="ACME", minimum_order_minor=4001))
    line(ledger, 400, status="draft")
    line(ledger, 400, status="sent")

    [row] = selectors.orders(Filters("draft"))

    assert row.is_below_minimum
    with pytest.raises(services.ServiceError, match=r"worth €40\.00, below"):
        services.send_order(order_ref="X-1")


def test_order_csv_leaves_an_unknown_value_empty(ledger: psycopg.Connection) -> None:
    line(ledger, None)
    head = header("X-1")
    assert head is not None

    rows = csv_text(head, order_lines("X-1"), buyer(), {"S": []}).splitlines()

    assert rows[1].split(",")[-10:-7] == ["", "", ""]


def test_past_orders_take_the_cost_of_their_item(
    ledger: psycopg.Connection,
) -> None:
    for sku, cost in (("S", 400), ("T", 0)):
        write(ledger, "item_location", sku=sku, cost_minor=cost)
    past = [
        PastOrder("L", sku, "ACME", f"H-{sku}", 12, 10, NOON, NOON, is_closed=True)
        for sku in ("S", "T", "U")
    ]

    services.record_past_orders(rows=past)

    found = {row.order_ref: row.value_minor for row in selectors.orders(Filters("closed"))}
    assert found == {"H-S": 4000, "H-T": None, "H-U": None}


@pytest.mark.parametrize(
    ("action", "detail", "words"),
    [
        (
            "send_order",
            {"order": "X-1", "lines": 2, "units": 12, "value_minor": 3000},
            "units 12, value €30.00",
        ),
        (
            "correct_receipt",
            {"line": 7, "received": [5, 7], "reason": None},
            "line 7, received 5 to 7",
        ),
        (
            "confirm_order",
            {"line": 7, "confirmed_units": "9", "due_on": "2099-01-02"},
            "line 7, confirmed units 9, due on 2099-01-02",
        ),
    ],
)
def test_order_history_entry_shows_its_numbers_as_text(
    action: str, detail: dict[str, object], words: str
) -> None:
    assert HistoryEntry(NOON, "ann", action, "L|S", detail).numbers_text == words


@pytest.mark.usefixtures("ledger")
def test_order_history_entry_shows_a_change_in_the_language_of_the_page() -> None:
    detail = {"line": 7, "received": [5, 7]}

    with translation.override("de"):
        words = HistoryEntry(NOON, "ann", "correct_receipt", "L|S", detail).numbers_text

    assert words.endswith(" 5 auf 7")
