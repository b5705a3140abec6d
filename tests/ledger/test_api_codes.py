"""The API returns codes with the stock of an item, and finds the product of a scanned code."""

from dataclasses import replace

import psycopg

from inventory.model.ids import InvKey
from ledger import services
from tests.ledger.coded import CASE, EAN, NUMBER, OLD, UNIT, coded
from tests.ledger.inbox import level, state
from tests.ledger.programs import problem, program

__all__ = ["coded"]
MUG = [
    {"code": UNIT, "supplier": None, "pack_units": 1},
    {"code": CASE, "supplier": None, "pack_units": 12},
    {"code": NUMBER, "supplier": "ACME", "pack_units": 1},
]


def test_api_stock_has_active_product_codes_and_is_searchable_by_them(
    coded: psycopg.Connection,
) -> None:
    for sku in ("MUG", "LAMP"):
        services.range_item(location="L", sku=sku)
        level(coded, replace(state(), inv_key=InvKey(f"L|{sku}")))
    visitor = program("associate", stores=("L",))

    one = visitor.get("/api/v1/stock/L/MUG").json()["item"]
    lists = [visitor.get("/api/v1/stock", q=q).json()["items"] for q in ("", EAN, NUMBER, OLD)]

    assert one["codes"] == MUG
    assert [[item["sku"] for item in items] for items in lists] == [
        ["LAMP", "MUG"],
        ["MUG"],
        ["MUG"],
        [],
    ]
    assert lists[0][0]["codes"] == []


def test_the_codes_api_finds_the_product_of_a_scanned_code(coded: psycopg.Connection) -> None:
    visitor = program("associate", stores=("L",))

    def found(**query: str | int) -> list[tuple[str, str, int, bool]]:
        items = visitor.get("/api/v1/codes", **query).json()["items"]
        return [(one["code"], one["sku"], one["pack_units"], one["is_active"]) for one in items]

    assert found(code=EAN) == found(code=f"(01){UNIT}(10)A7") == [(UNIT, "MUG", 1, True)]
    assert found(code=CASE) == [(CASE, "MUG", 12, True)]
    assert found(code=NUMBER.lower()) == [(NUMBER, "MUG", 1, True)]
    assert found(code=OLD) == [(OLD, "LAMP", 1, False)]
    assert found(code="4006381333932") == []
    assert found(sku="MUG", code=OLD) == []
    assert [code for code, *_ in found(sku="MUG")] == [NUMBER, UNIT, CASE]
    assert problem(visitor.get("/api/v1/codes", code="x" * 101))["status"] == 400


def test_the_longest_codes_come_in_pages(coded: psycopg.Connection) -> None:
    visitor = program("associate")
    sku, supplier = "磁" * 32, "店" * 64
    services.add_reference(services.DescribeProduct(sku, "Longest", ""))
    services.add_reference(services.DescribeSupplier(supplier, "Longest"))
    numbers = ["号" * 63 + end for end in "ab"]
    for number in numbers:
        code = f"{supplier}|{number}"
        services.add_reference(services.DescribeSupplierCode(code, supplier, number, sku))

    first = visitor.get("/api/v1/codes", sku=sku, limit=1).json()
    last = visitor.get("/api/v1/codes", sku=sku, limit=1, after=first["next"]).json()

    assert [one["code"] for one in (*first["items"], *last["items"])] == numbers


def test_codes_come_in_pages(coded: psycopg.Connection) -> None:
    visitor = program("associate")
    seen, after = [], ""

    for _ in range(4):
        page = visitor.get("/api/v1/codes", limit=1, after=after).json()
        seen += [one["code"] for one in page["items"]]
        after = page["next"] or ""

    assert (seen, after) == ([OLD, NUMBER, UNIT, CASE], "")
