"""The order document for a supplier, on paper and as CSV."""

import csv
import io
import re
from dataclasses import replace
from datetime import date
from typing import Any

import psycopg
import pytest
from django.test import override_settings
from pydantic import ValidationError

from ledger import services
from tests.ledger.pages import person
from webui.config.environment import WebEnvironment
from webui.desks.orders.document import Buyer, csv_text, decimal_text, file_name
from webui.desks.orders.lines import order_lines
from webui.desks.orders.order import header
from webui.readmodel.codes import ItemCode
from webui.shell.spreadsheet import safe_text


def order(units: int = 12, actor: str | None = None, **changes: Any) -> int:
    given: dict[str, Any] = {"location": "L", "sku": "S", "supplier": "ACME", "order_ref": "X-1"}
    return services.place_order_line(
        services.PlaceOrderLine(**given | {"ordered_units": units} | changes), actor=actor
    )


def text(response: Any) -> str:
    return re.sub(r"\s+", " ", response.content.decode())


def test_order_document_and_csv_show_units_packs_cost_and_due_day(
    ledger: psycopg.Connection,
) -> None:
    services.name_suppliers(names={"ACME": "Acme & Sons"})
    services.name_products(names={"S": "Mug"})
    line_id = order(24, due_on=date(2099, 1, 2))
    ledger.execute("UPDATE retail.purchase_order_line SET cost_minor = 125, pack_units = 6")
    services.confirm_order_line(services.ConfirmOrderLine(line_id=line_id, confirmed_units=18))
    client = person("buyer")

    page = text(client.get("/orders/document?ref=X-1"))
    rows = list(
        csv.DictReader(io.StringIO(client.get("/orders/document.csv?ref=X-1").content.decode()))
    )

    for part in ("X-1", "Acme &amp; Sons", "Mug", ">18<", "3 × 6", "1.25", "22.50", "2099-01-02"):
        assert part in page
    assert [rows[0][name] for name in ("units", "packs", "pack_units", "unit_cost", "total")] == [
        "18",
        "3",
        "6",
        "1.25",
        "22.50",
    ]
    assert "of 24 ordered" in page
    assert (rows[0]["ordered_units"], rows[0]["status"]) == ("24", "confirmed")
    assert client.get("/orders/document?ref=none").status_code == 404
    assert client.get("/orders/document.csv?ref=none").status_code == 404


def test_order_document_marks_drafts_and_omits_cancelled_lines(
    ledger: psycopg.Connection,
) -> None:
    order(status="draft", sku="T")
    services.cancel_order_units(line_id=order())

    page = text(person("buyer").get("/orders/document?ref=X-1"))

    assert "Draft: not sent" in page
    assert ">T<" in page
    assert ">S<" not in page


def test_several_orders_are_printed_as_one_document(ledger: psycopg.Connection) -> None:
    order()
    order(sku="T", order_ref="X-2")
    client = person("buyer")

    page = text(client.get("/orders/document?ref=X-1&ref=X-2"))

    assert "2 purchase orders" in page
    assert page.count("<article>") == 2
    assert client.get("/orders/document?ref=X-1&ref=none").status_code == 404


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_of_the_csv_is_a_formula(ledger: psycopg.Connection, start: str) -> None:
    order()
    head = header("X-1")
    assert head is not None
    [line] = order_lines("X-1")
    hostile = f'{start}HYPERLINK("x"),\n"y"'

    written = csv_text(
        replace(head, location_name=hostile, supplier=hostile),
        [replace(line, name=hostile)],
        Buyer(hostile, hostile, "EUR"),
        {line.sku: [ItemCode(line.sku, hostile, hostile, "Acme", 1)]},
    )

    [_, cells] = list(csv.reader(io.StringIO(written, newline="")))
    assert [cells[column] for column in (2, 4, 7, 15, 16, 17)] == ["'" + hostile] * 6
    assert written.endswith("\r\n")


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
@pytest.mark.parametrize("end", [";", "\n", "\r\n", ';"', ';""'])
def test_safe_text_escapes_formulas_after_semicolons_and_line_breaks(start: str, end: str) -> None:
    """A program that splits at semicolons ignores a quotation mark that follows a comma."""
    before = f"Tea{end}".rstrip('"')
    hostile = f'Tea{end}{start}HYPERLINK("x");1'
    out = io.StringIO()
    csv.writer(out).writerow(["L", safe_text(hostile), 3])

    cells = re.split(r"[;\n]|\r\n?", out.getvalue())

    assert not [cell for cell in cells if cell.lstrip('"').startswith(("=", "+", "-", "@", "\t"))]
    assert safe_text(hostile) == f"{before}'{hostile.removeprefix(before)}"


def test_order_document_helpers_format_text_amounts_and_file_names() -> None:
    assert safe_text("plain") == "plain"
    assert safe_text("") == ""
    assert [decimal_text(minor) for minor in (5, 125, -5)] == ["0.05", "1.25", "-0.05"]
    assert file_name('PO-1|"../x') == "PO-1-----x.csv"
    assert file_name("") == "order.csv"


def test_order_document_names_the_buyer_and_the_currency(
    ledger: psycopg.Connection,
) -> None:
    order()
    ledger.execute("UPDATE retail.purchase_order_line SET cost_minor = 125")
    client = person("buyer")

    with override_settings(
        COMPANY_NAME="Nordlicht & Söhne",
        COMPANY_ADDRESS="Hafenstraße 1\n20457 Hamburg",
        CURRENCY="CHF",
    ):
        page = text(client.get("/orders/document?ref=X-1"))
        written = client.get("/orders/document.csv?ref=X-1").content.decode()
    [row] = csv.DictReader(io.StringIO(written, newline=""))

    for part in (
        "Nordlicht &amp; Söhne",
        "Hafenstraße 1 20457 Hamburg",
        "amounts are in CHF, without tax",
        ">Unit cost, CHF<",
        ">Total, CHF<",
    ):
        assert part in page
    assert "no company name is set" not in page
    assert [row[name] for name in ("total", "currency", "buyer", "buyer_address")] == [
        "15.00",
        "CHF",
        "Nordlicht & Söhne",
        "Hafenstraße 1\n20457 Hamburg",
    ]


def test_order_document_warns_if_no_company_name_is_set(
    ledger: psycopg.Connection,
) -> None:
    order()

    page = text(person("buyer").get("/orders/document?ref=X-1"))

    assert "Suppliers see “Example Retail” as the buyer" in page
    assert "amounts are in EUR" in page


@pytest.mark.parametrize("code", ["eur", "EURO", "€", ""])
def test_a_currency_is_the_three_letters_of_its_code(
    ledger: psycopg.Connection, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INVENTORY_CURRENCY", code)

    with pytest.raises(ValidationError, match="currency"):
        WebEnvironment()


def test_company_address_setting_is_split_at_vertical_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INVENTORY_COMPANY_ADDRESS", "Hafenstraße 1 | 20457 Hamburg")

    assert WebEnvironment().company_lines == "Hafenstraße 1\n20457 Hamburg"
