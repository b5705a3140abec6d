"""Codes of products in Find, Scan, counting, receiving, labels, documents and the API."""

import json
import re
from dataclasses import replace
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from inventory.model.ids import InvKey
from ledger import services
from ledger.items.scanned import Scanned, scanned_item, typed_sku
from ledger.services import DescribeProduct, DescribeSupplierCode, Entry
from tests.ledger.coded import CASE, EAN, NUMBER, OLD, UNIT, coded
from tests.ledger.inbox import level, put, state
from tests.ledger.pages import person
from tests.ledger.rows import write
from tests.ledger.test_query_counts import BUDGET, statements
from webui.desks.stock.ean import ean_bars
from webui.readmodel.find import exact, find

__all__ = ["coded"]


@pytest.fixture
def shop(coded: psycopg.Connection) -> psycopg.Connection:
    """Range mug and lamp at L, and a second lamp whose name contains the mug's supplier code."""
    put(coded, "retail.location", code="L", name="Leeds")
    put(coded, "retail.product", code="TRAP", name=f"Lamp {NUMBER}", department="Light")
    for sku in ("MUG", "LAMP", "TRAP"):
        services.range_item(location="L", sku=sku, policy={"supplier": "ACME"})
        found = replace(state(stock={"on_hand_units": 5}), inv_key=InvKey(f"L|{sku}"))
        level(coded, found)
    return coded


def found(text: str) -> list[str]:
    return [card.sku for card in find(text, mine="L").cards]


FORMS = [
    EAN,
    UNIT,
    f"(01){UNIT}(10)A7",
    f"]C101{UNIT}10A7\x1d21B",
    f"01{UNIT}",
    f"https://id.gs1.org/01/{UNIT}",
    "4 006381 333931",
    CASE,
    NUMBER.lower(),
]


@pytest.mark.parametrize("text", FORMS)
def test_every_form_of_a_code_finds_its_product_first(shop: psycopg.Connection, text: str) -> None:
    card = exact(text, mine="L")

    assert found(text)[0] == "MUG"
    assert card is not None
    assert card.sku == "MUG"


def test_find_lists_an_exact_code_match_before_name_matches(shop: psycopg.Connection) -> None:
    assert found(NUMBER) == ["MUG", "TRAP"]


@pytest.mark.parametrize("text", ["4006381333932", "4006381333913", "AC-4712", "AC-471", OLD])
def test_a_similar_or_deactivated_code_finds_nothing(shop: psycopg.Connection, text: str) -> None:
    assert "MUG" not in found(text)
    assert "LAMP" not in found(text)
    assert exact(text, mine="L") is None


def test_find_lists_a_sku_match_before_a_code_match(shop: psycopg.Connection) -> None:
    put(shop, "retail.product", code=EAN, name="Odd", department="")

    assert found(EAN) == [EAN, "MUG"]
    card = exact(EAN, mine="L")
    assert card is not None
    assert (card.sku, card.matched) == (EAN, None)


def test_a_code_of_two_suppliers_finds_both_items_but_scans_neither(
    shop: psycopg.Connection,
) -> None:
    services.add_reference(DescribeSupplierCode(f"BOLT|{NUMBER}", "BOLT", NUMBER, "LAMP"))
    client: Any = person("associate", "ann", stores=("L",))

    page = client.get(f"/scan/?q={NUMBER}").content.decode()

    assert found(NUMBER)[:2] == ["MUG", "LAMP"]
    assert exact(NUMBER, mine="L") is None
    assert (
        "This is a code that means different products at different suppliers (LAMP, MUG): type the"
        in page
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("4006381333932", "This is neither an SKU nor a GTIN: the last digit is 2, but the"),
        (OLD, "This is a deactivated code of LAMP: scan another code of the item, or type its"),
    ],
)
@pytest.mark.parametrize("path", ["/find/", "/scan/"])
def test_find_and_scan_explain_why_a_code_finds_nothing(
    shop: psycopg.Connection, path: str, text: str, sentence: str
) -> None:
    client: Any = person("associate", "ann", stores=("L",))

    page = client.get(path, {"q": text}).content.decode()

    assert sentence in page
    assert "Nothing was changed." not in page


def test_pages_show_the_code_that_matched_and_all_codes(shop: psycopg.Connection) -> None:
    client: Any = person("associate", "ann", stores=("L",))

    case = client.get(f"/scan/?q={CASE}").content.decode()
    number = client.get(f"/find/?q={NUMBER}").content.decode()
    item = client.get("/items/L/MUG").content.decode()

    assert f"GTIN {CASE}, a case of 12 units" in case
    assert f"{NUMBER}, article number at Acme" in number
    assert re.sub(r"<[^>]+>", "", item).count(
        f"Codes: GTIN {EAN} · GTIN {CASE} for a case of 12 units · {NUMBER} at Acme"
    )
    assert "Codes:" not in client.get("/items/L/LAMP").content.decode()


@pytest.mark.parametrize("path", [f"/?q={EAN}", f"/?q={NUMBER.lower()}", f"/?q=(01){UNIT}(10)A"])
def test_the_stock_list_finds_codes(shop: psycopg.Connection, path: str) -> None:
    client = person("associate", "ann", stores=("L",))

    page = client.get(path).content.decode()

    assert "/items/L/MUG" in page
    assert "/items/L/LAMP" not in page


def test_find_and_scan_stay_within_the_sql_statement_budget(shop: psycopg.Connection) -> None:
    client = person("associate", "ann", stores=("L",))

    taken = [len(statements(client, f"{path}?q={EAN}")) for path in ("/find/", "/scan/")]

    assert max(taken) <= BUDGET


def sheet_of(actor: str = "ann") -> int:
    return services.open_sheet(location="L", actor=actor)


def entry(code: str, units: int = 1) -> Entry:
    return Entry(uuid4(), code, units)


def test_a_count_takes_codes_and_adds_the_units_of_a_case(shop: psycopg.Connection) -> None:
    sheet = sheet_of()
    scans = [entry(EAN), entry(f"(01){UNIT}(10)A"), entry(CASE, 2), entry("MUG", 3), entry(NUMBER)]

    refused = services.add_entries(sheet_id=sheet, entries=scans, actor="ann")
    services.submit_sheet(sheet_id=sheet, actor="ann")

    assert refused == ()
    assert shop.execute("SELECT sku, units FROM app.count_entry ORDER BY number").fetchall() == [
        ("MUG", units) for units in (1, 1, 24, 3, 1)
    ]
    counted = "SELECT sku, units FROM retail.stock_count WHERE status = 'draft'"
    assert shop.execute(counted).fetchall() == [("MUG", 30)]


REFUSED = [
    ("4006381333932", 1, "neither an SKU nor a GTIN: the last digit is 2, but the check digit"),
    (OLD, 1, "a deactivated code of LAMP: scan another code of the item, or type its SKU."),
    ("400638133393", 1, "neither an SKU nor a GTIN: the last digit is 3"),
    ("40063813", 1, "neither an SKU nor a GTIN: the last digit is 3"),
    ("12345", 1, "not in the catalogue: ask for the item to be added."),
    ("<b>nothing</b>", 1, "not in the catalogue: ask for the item to be added."),
    ("X" * 90, 1, "an SKU has 1 to 32 characters."),
    ("a\tb", 1, "an SKU has printable characters only, and no |."),
    (CASE, 100_000, "Units: a whole number from 0 to 1,000,000; got “1200000”."),
]


@pytest.mark.parametrize(("code", "units", "why"), REFUSED)
def test_a_count_refuses_only_the_wrong_code_of_a_batch(
    shop: psycopg.Connection, code: str, units: int, why: str
) -> None:
    scans = [entry("MUG"), entry(code, units), entry(EAN)]

    [refused] = services.add_entries(sheet_id=sheet_of(), entries=scans, actor="ann")

    assert refused.entry_id == scans[1].entry_id
    assert refused.why.startswith(why)
    assert shop.execute("SELECT count(*) FROM app.count_entry").fetchall() == [(2,)]


def test_the_answer_to_scanned_codes_lists_stored_and_refused_entries(
    shop: psycopg.Connection,
) -> None:
    client: Any = person("associate", "ann", stores=("L",))
    sheet = sheet_of()
    rows = [
        {"id": str(uuid4()), "sku": code, "units": 1, "age_ms": 0} for code in ("MUG", CASE, "?")
    ]

    for _ in range(2):  # a browser that lost the answer sends the scans again
        answer = client.post(
            f"/counts/sheets/{sheet}/entries",
            json.dumps({"entries": rows}),
            content_type="application/json",
        ).json()

        assert answer["stored"] == [{"id": rows[1]["id"], "sku": "MUG", "units": 12}]
        assert [row["id"] for row in answer["refused"]] == [rows[2]["id"]]


def test_a_sku_typed_in_lower_case_finds_the_upper_case_item(shop: psycopg.Connection) -> None:
    assert scanned_item("L", "mug") == Scanned("MUG")
    assert typed_sku("L", "mug") == "MUG"


def test_an_exact_lower_case_sku_takes_precedence_over_upper_case(
    shop: psycopg.Connection,
) -> None:
    services.range_item(location="L", sku="mug", policy={"supplier": "ACME"})

    assert scanned_item("L", "mug") == Scanned("mug")


def test_pasted_lines_of_codes_are_counted(shop: psycopg.Connection) -> None:
    client: Any = person("associate", "ann", stores=("L",))
    sheet = sheet_of()
    lines = {"command_id": str(uuid4()), "lines": f"{EAN} 4\n{CASE} 1\n4006381333932 1"}

    page = client.post(f"/counts/sheets/{sheet}/entries", lines).content.decode()

    assert "1 row was not saved. All others were saved." in page
    assert "4006381333932 1</textarea>" in page
    assert shop.execute("SELECT sum(units)::int FROM app.count_entry").fetchall() == [(16,)]


def test_an_adjustment_accepts_a_unit_code_and_refuses_a_case_code(
    shop: psycopg.Connection,
) -> None:
    client: Any = person("associate", "ann", stores=("L",))
    form = {"location": "L", "reason": "theft", "quantity_units": 1, "action": "preview"}

    one = client.post("/counts/adjust/", form | {"sku": EAN})
    case = client.post("/counts/adjust/", form | {"sku": CASE})
    wrong = client.post("/counts/adjust/", form | {"sku": "4006381333932"})
    form |= {"action": "book", "sku": EAN, "command_id": str(uuid4())}
    assert client.post("/counts/adjust/", form).status_code == 302

    assert [answer.status_code for answer in (one, case, wrong)] == [200, 422, 422]
    assert "the code of a case of 12 × MUG: scan one unit" in case.content.decode()
    assert f'value="{CASE}"' in case.content.decode()
    assert "the last digit is 2" in wrong.content.decode()
    asked = "SELECT DISTINCT sku FROM app.adjustment_request"
    booked = "SELECT DISTINCT sku FROM retail.stock_adjustment"
    assert shop.execute(f"{asked} UNION {booked}").fetchall() == [("MUG",)]


def order(shop: psycopg.Connection) -> None:
    write(shop, "purchase_order_line", sku="MUG", order_ref="PO-9", ordered_units=24)
    write(shop, "purchase_order_line", sku="LAMP", order_ref="PO-9", ordered_units=6)


def test_the_receiving_page_has_the_codes_of_its_lines_and_looks_up_others(
    shop: psycopg.Connection,
) -> None:
    order(shop)
    services.add_reference(DescribeSupplierCode("BOLT|b-1", "BOLT", "b-1", "LAMP"))
    services.add_reference(DescribeSupplierCode("ACME|a-1", "ACME", "a-1", "LAMP"))
    client: Any = person("associate", "ann", stores=("L",))

    page = client.get("/receiving/order?ref=PO-9").content.decode()
    [codes] = re.findall(r'data-codes="([^"]*)"', page)
    asked = [
        client.get("/scan/code", {"q": text}).json()
        for text in (f"(01){CASE}(10)A", "LAMP", OLD, "4006381333932", "<b>")
    ]

    assert json.loads(codes.replace("&quot;", '"')) == {
        UNIT: ["MUG", 1],
        CASE: ["MUG", 12],
        NUMBER: ["MUG", 1],
        "A-1": ["LAMP", 1],
    }
    assert asked[0] == {"sku": "MUG", "units": 12}
    assert asked[1] == {"sku": "LAMP", "units": 1}
    assert asked[2]["why"].startswith("a deactivated code of LAMP")
    assert asked[3]["why"].startswith("neither an SKU nor a GTIN: the last digit is 2")
    assert all(answer["why"].endswith(". Nothing was added.") for answer in asked[2:])
    assert "PO-9" in client.get(f"/receiving/?q={CASE}")["Location"]


def test_the_document_of_an_order_has_the_suppliers_codes(shop: psycopg.Connection) -> None:
    order(shop)
    services.add_reference(DescribeSupplierCode("ACME|=1+1", "ACME", "=1+1", "LAMP"))
    client: Any = person("buyer")

    page = client.get("/orders/document?ref=PO-9").content.decode()
    lines = client.get("/orders/document.csv?ref=PO-9").content.decode().split("\r\n")

    assert re.findall(r'data-label="Your code">([^<]*)<', page) == [NUMBER, "=1+1"]
    assert ",supplier_code,gtin," in lines[0]
    assert f",{NUMBER},{UNIT}," in lines[1]
    assert ",'=1+1,," in lines[2]


def test_a_document_without_codes_has_no_column_for_them(shop: psycopg.Connection) -> None:
    write(shop, "purchase_order_line", sku="TRAP", order_ref="PO-8")
    client: Any = person("buyer")

    assert "Your code" not in client.get("/orders/document?ref=PO-8").content.decode()


def test_labels_have_the_ean_or_else_the_sku(shop: psycopg.Connection) -> None:
    client: Any = person("associate", "ann", stores=("L",))

    page = client.get("/labels/?sku=MUG&sku=LAMP").content.decode()

    assert re.findall(r'<p class="code">([^<]*)</p>', page) == ["LAMP", f"{EAN} · MUG"]
    assert 'viewBox="0 0 117 1"' in page
    assert ean_bars(UNIT)[0] in page


def test_hostile_codes_are_shown_as_text(shop: psycopg.Connection) -> None:
    hostile = '"><img src=x onerror=alert(1)>'
    services.add_reference(DescribeProduct("HOST", "Host"))
    services.add_reference(DescribeSupplierCode(f"ACME|{hostile}", "ACME", hostile, "HOST"))
    services.range_item(location="L", sku="HOST", policy={"supplier": "ACME"})
    write(shop, "purchase_order_line", sku="HOST", order_ref="PO-7")
    client: Any = person("associate", "ann", stores=("L",))

    pages = [
        client.get(path, {"q": hostile, "ref": "PO-7"}).content.decode()
        for path in ("/find/", "/scan/", "/items/L/HOST", "/receiving/order", "/orders/document")
    ]

    assert not any("<img" in page for page in pages)
    assert all("img src=x" in page or "IMG SRC=X" in page for page in pages)
