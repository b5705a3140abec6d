"""The order that a supplier gets: on paper and as CSV."""

import csv
import io
import re
from dataclasses import replace
from datetime import date
from typing import Any

import psycopg
import pytest

from tests.ledger.pages import person
from webui.ledger import services
from webui.orders.document import csv_text, decimal_text, file_name
from webui.orders.lines import order_lines
from webui.orders.order import header
from webui.spreadsheet import safe_text


def order(units: int = 12, **changes: object) -> int:
    given: dict[str, Any] = {"location": "L", "sku": "S", "supplier": "ACME", "order_ref": "X-1"}
    return services.place_order_line(**given | {"ordered_units": units} | changes)


def text(response: Any) -> str:
    return re.sub(r"\s+", " ", response.content.decode())


def test_the_document_names_what_a_supplier_needs(ledger: psycopg.Connection) -> None:
    services.name_suppliers(names={"ACME": "Acme & Sons"})
    services.name_products(names={"S": "Mug"})
    line_id = order(24, due_on=date(2099, 1, 2))
    ledger.execute("UPDATE retail.purchase_order_line SET cost_minor = 125, pack_units = 6")
    services.confirm_order_line(line_id=line_id, confirmed_units=18)
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
    assert client.get("/orders/document?ref=none").status_code == 404
    assert client.get("/orders/document.csv?ref=none").status_code == 404


def test_a_draft_on_paper_says_so_and_a_cancelled_line_is_left_out(
    ledger: psycopg.Connection,
) -> None:
    order(status="draft", sku="T")
    services.cancel_order_units(line_id=order())

    page = text(person("buyer").get("/orders/document?ref=X-1"))

    assert "Draft: not sent" in page
    assert ">T<" in page
    assert ">S<" not in page


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_of_the_csv_is_a_formula(ledger: psycopg.Connection, start: str) -> None:
    order()
    head = header("X-1")
    assert head is not None
    [line] = order_lines("X-1")
    hostile = f'{start}HYPERLINK("x"),\n"y"'

    written = csv_text(
        replace(head, location_name=hostile, supplier=hostile), [replace(line, name=hostile)]
    )

    [_, cells] = list(csv.reader(io.StringIO(written, newline="")))
    assert [cells[column] for column in (2, 4, 7)] == ["'" + hostile] * 3
    assert written.endswith("\r\n")


def test_small_parts_of_the_document() -> None:
    assert safe_text("plain") == "plain"
    assert safe_text("") == ""
    assert [decimal_text(minor) for minor in (5, 125, -5)] == ["0.05", "1.25", "-0.05"]
    assert file_name('PO-1|"../x') == "PO-1-----x.csv"
    assert file_name("") == "order.csv"
