"""Codes of products: their rules, their audit, and their pages in the admin."""

import html
import re

import psycopg
import pytest

from ledger import services
from ledger.audit import chain
from ledger.audit.head import Head
from ledger.items.gtin import gtin14
from ledger.services import (
    Conflict,
    DescribeGtin,
    DescribeProduct,
    DescribeSupplier,
    DescribeSupplierCode,
    ServiceError,
)
from tests.ledger.administered import audit, filled, operator, text
from tests.ledger.coded import CASE, EAN, NUMBER, OLD, UNIT, coded
from tests.ledger.fingerprint import fingerprint

__all__ = ["coded"]
ADD = "/admin/ledger/gtin/add/"
ADD_NUMBER = "/admin/ledger/suppliercode/add/"


def number(code: str, sku: str, supplier: str = "ACME") -> DescribeSupplierCode:
    return DescribeSupplierCode(f"{supplier}|{code}", supplier, code, sku)


@pytest.mark.parametrize(
    ("command", "field", "rule"),
    [
        (DescribeGtin("04006381333932", "MUG"), "code", "the last digit is 2, but"),
        (DescribeGtin(EAN, "MUG"), "code", "14 digits"),
        (DescribeGtin("9638507", "MUG"), "code", "a GTIN has 8, 12, 13 or 14 digits, not 7"),
        (DescribeGtin("ABCDEFGH", "MUG"), "code", "a GTIN has digits only"),
        (DescribeGtin(UNIT, "LAMP"), "code", "this is a code of MUG: check the number"),
        (DescribeGtin(UNIT, "MUG", 6), "code", "MUG has this code already: change that row"),
        (DescribeGtin(OLD, "MUG"), "code", "this is a code of LAMP, deactivated: check"),
        (DescribeGtin("10614141543219", "CUP"), "sku", "no such product"),
        (DescribeGtin("10614141543219", "MUG", 0), "pack_units", "a whole number from 1"),
        (DescribeGtin("10614141543219", "MUG", 10_001), "pack_units", "a whole number from 1"),
        (number(NUMBER, "LAMP"), "number", "this is a code of MUG"),
        (number(NUMBER.lower(), "LAMP"), "number", "this is a code of MUG"),
        (number("N-2", "CUP"), "sku", "no such product"),
        (number("N-2", "MUG", "NOBODY"), "supplier", "no such supplier"),
        (number(" N-2", "MUG"), "number", "printable characters"),
        (number("N\n2", "MUG"), "number", "printable characters"),
        (number("", "MUG"), "number", "must not be empty"),
        (number("N" * 65, "MUG"), "number", "at most 64 characters"),
    ],
)
def test_a_wrong_code_is_refused_with_its_reason(
    coded: psycopg.Connection, command: services.DescribeGtin, field: str, rule: str
) -> None:
    before = fingerprint()

    with pytest.raises(ServiceError) as refused:
        services.add_reference(command)

    assert (refused.value.field, refused.value.rule[: len(rule)]) == (field, rule)
    assert fingerprint() == before


def test_a_gtin_that_is_the_sku_of_another_item_is_refused(coded: psycopg.Connection) -> None:
    services.add_reference(DescribeProduct("036000291452", "Odd"))

    with pytest.raises(ServiceError, match="these digits are also the SKU 036000291452"):
        services.add_reference(DescribeGtin(gtin14("036000291452"), "MUG"))

    services.add_reference(DescribeGtin(gtin14("036000291452"), "036000291452"))


def test_two_suppliers_may_use_one_number(coded: psycopg.Connection) -> None:
    services.add_reference(number(NUMBER, "LAMP", "BOLT"))

    found = coded.execute("SELECT supplier, sku FROM retail.supplier_code ORDER BY 1").fetchall()
    assert found == [("ACME", "MUG"), ("BOLT", "LAMP")]


def test_moving_a_gtin_to_another_product_writes_one_audit_entry(
    coded: psycopg.Connection,
) -> None:
    services.change_reference(DescribeGtin(UNIT, "LAMP", is_active=False), actor="olga")

    moved = {"sku": ["MUG", "LAMP"], "is_active": [True, False]}
    assert audit(coded) == [("olga", "change_gtin", UNIT, moved)]
    with pytest.raises(ServiceError, match="no such product"):
        services.change_reference(DescribeGtin(UNIT, "CUP"))
    with pytest.raises(Conflict, match="has changed since it was shown"):
        services.change_reference(DescribeGtin(UNIT, "MUG"), shown={"sku": "MUG"})


def test_seeds_add_codes_in_bulk_and_keep_existing_ones(coded: psycopg.Connection) -> None:
    codes = [DescribeGtin(UNIT, "LAMP"), DescribeGtin("10614141543219", "LAMP", 6)]

    assert services.name_codes([*codes, number("L-1", "LAMP")]) == 2
    assert services.name_codes([*codes, number("L-1", "LAMP")]) == 0
    found = coded.execute("SELECT sku FROM retail.gtin WHERE code = %s", [UNIT]).fetchall()
    assert found == [("MUG",)]


def test_an_operator_adds_a_gtin_in_any_form(coded: psycopg.Connection) -> None:
    client = operator()
    form = filled(client, ADD, code="(01)10614141543219(10)A", sku="LAMP", pack_units="6")

    for _ in range(2):  # the second click of a double click
        answer = client.post(ADD, form | {"is_active": "on"})
        assert (answer.status_code, answer["Location"]) == (302, "/admin/ledger/gtin/")

    entry = {"sku": [None, "LAMP"], "pack_units": [None, 6], "is_active": [None, True]}
    assert audit(coded) == [("olga", "add_gtin", "10614141543219", entry)]
    assert "10614141543219" in text(client.get("/admin/ledger/gtin/?q=LAMP"))
    assert chain.verify(coded, Head()).breaks == ()


def test_an_operator_adds_and_deactivates_a_suppliers_code(coded: psycopg.Connection) -> None:
    client = operator()
    form = filled(client, ADD_NUMBER, supplier="BOLT", number="B<1>", sku="LAMP")

    assert client.post(ADD_NUMBER, form | {"is_active": "on"}).status_code == 302
    listed = text(client.get("/admin/ledger/suppliercode/"))
    path, *_ = re.findall(r'href="(/admin/[^"]*BOLT[^"]*)"', listed)
    page = text(client.get(path))
    assert client.post(path, filled(client, path)).status_code == 302

    assert "B&lt;1&gt;" in listed
    assert 'name="supplier"' not in page
    assert [entry[1:] for entry in audit(coded)] == [
        (
            "add_supplier_code",
            "BOLT|B<1>",
            {
                "supplier": [None, "BOLT"],
                "number": [None, "B<1>"],
                "sku": [None, "LAMP"],
                "is_active": [None, True],
            },
        ),
        ("change_supplier_code", "BOLT|B<1>", {"is_active": [True, False]}),
    ]
    history = html.unescape(text(client.get(path.replace("change/", "history/"))))
    assert "Active: no, was yes" in history


REFUSED = [
    (ADD, {"code": "4006381333932", "sku": "MUG"}, "code", "The last digit is 2, but the"),
    (ADD, {"code": "123", "sku": "MUG"}, "code", "A GTIN has 8, 12, 13 or 14 digits, not 3"),
    (ADD, {"code": "<b>x", "sku": "MUG"}, "code", "A GTIN has digits only"),
    (ADD, {"code": EAN, "sku": "LAMP"}, "code", "This is a code of MUG: check the number"),
    (ADD, {"code": "96385074", "sku": "CUP"}, "code", "This is a code of LAMP, deactivated"),
    (ADD, {"code": CASE[1:], "sku": "LAMP"}, "code", "The last digit is 8, but"),
    (ADD, {"code": "036000291452", "sku": "CUP"}, "sku", "No such product"),
    (
        ADD,
        {"code": "036000291452", "sku": "MUG", "pack_units": "0"},
        "pack_units",
        "A whole number",
    ),
    (ADD_NUMBER, {"supplier": "ACME", "number": NUMBER, "sku": "LAMP"}, "number", "This is a"),
    (ADD_NUMBER, {"supplier": "X", "number": "N", "sku": "LAMP"}, "supplier", "No such supplier"),
]


@pytest.mark.parametrize(("path", "typed", "field", "message"), REFUSED)
def test_refused_code_form_names_the_field_and_saves_nothing(
    coded: psycopg.Connection, path: str, typed: dict[str, str], field: str, message: str
) -> None:
    client = operator()
    before = fingerprint()

    answer = client.post(path, filled(client, path, **typed))

    shown = html.unescape(answer.content.decode())
    found = re.search(rf'<ul class="errorlist" id="id_{field}_error"><li>([^<]*)', shown)
    assert answer.status_code == 422
    assert found is not None
    assert found[1].startswith(message)
    assert found[1].endswith("Nothing was saved.")
    assert all(
        f'value="{html.escape(value)}"' in answer.content.decode() for value in typed.values()
    )
    assert fingerprint() == before


def test_the_audit_page_shows_changed_codes_without_links_to_items(
    coded: psycopg.Connection,
) -> None:
    services.add_reference(DescribeSupplier("A/B & Co.", "Abel"), actor="olga")
    services.add_reference(number("7", "MUG", "A/B & Co."), actor="olga")
    services.add_reference(number("N-2", "LAMP"), actor="olga")
    services.change_reference(DescribeGtin(CASE, "MUG", 10), actor="olga")

    response = operator().get("/system/audit/")

    assert response.status_code == 200
    page = response.content.decode()
    assert "ACME|N-2" in page
    assert "A/B &amp; Co.|7" in page
    assert 'href="/items/' not in page
    assert '<span class="was">12</span> → <b>10</b>' in page
