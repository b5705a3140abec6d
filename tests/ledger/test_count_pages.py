"""The counting desk: blind sheets for the counter, pages for the other roles."""

import html
import json
import re
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.test import Client

from ledger import services
from ledger.services import Entry
from tests.ledger.pages import person
from tests.ledger.rows import write


@pytest.fixture
def shelf(ledger: psycopg.Connection) -> psycopg.Connection:
    """Range L|S at a cost of 4.00 a unit, with 20 units counted three hours ago."""
    ledger.execute("INSERT INTO retail.location (code, name) VALUES ('L', 'Leeds')")
    write(ledger, "item_location", cost_minor=400)
    write(ledger, "stock_count", units=20, kind="opening", occurred_at=ago(ledger, hours=3))
    ledger.execute("UPDATE app.setting SET adjustment_limit_minor = 10000")
    return ledger


def ago(ledger: psycopg.Connection, **span: int) -> datetime:
    found = ledger.execute("SELECT clock_timestamp()").fetchone()
    assert found is not None
    now: datetime = found[0]
    return now - timedelta(**span)


def text(answer: Any) -> str:
    """Return the text of the page's main part, without tags."""
    body = answer.content.decode().partition("<main")[2].partition("</main>")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body))


def post(client: Client, path: str, **form: Any) -> Any:
    return client.post(path, {"command_id": str(uuid4()), **form})


def scan(client: Client, sheet: int, *rows: tuple[str, int], age_ms: int = 0) -> Any:
    entries = [
        {"id": str(uuid4()), "sku": sku, "units": units, "age_ms": age_ms} for sku, units in rows
    ]
    return client.post(
        f"/counts/sheets/{sheet}/entries",
        json.dumps({"entries": entries}),
        content_type="application/json",
    )


def waiting(units: int, actor: str = "ann", at: datetime | None = None) -> int:
    sheet = services.open_sheet(location="L", actor=actor)
    services.add_entries(sheet_id=sheet, entries=[Entry(uuid4(), "S", units, at)], actor=actor)
    return services.submit_sheet(sheet_id=sheet, actor=actor).count_ids[0]


def test_a_sheet_is_opened_scanned_and_handed_in(shelf: psycopg.Connection) -> None:
    ann = person("associate", "ann")

    opened = post(ann, "/counts/sheets/", location="L", sku="S")
    sheet = int(opened.headers["Location"].split("/")[3])
    assert opened.headers["Location"].endswith("?sku=S")
    for _ in range(3):
        assert scan(ann, sheet, ("S", 6)).json() == {"refused": [], "stored": []}
    assert 'value="S"' in ann.get(f"/counts/sheets/{sheet}/?sku=S").content.decode()
    ended = post(ann, f"/counts/sheets/{sheet}/submit")

    assert ended.headers["Location"] == "/counts/?location=L"
    assert '<option value="L" selected>' in ann.get("/counts/?location=L").content.decode()
    found = shelf.execute(
        "SELECT units, counted_by FROM retail.stock_count WHERE status = 'draft'"
    ).fetchall()
    assert found == [(18, "ann")]


def test_pages_of_a_counter_never_show_the_expected_units(shelf: psycopg.Connection) -> None:
    # A number that can't be part of an id or a time of day.
    shelf.execute("UPDATE retail.stock_count SET units = 731973")
    waiting(5)
    ann = person("associate", "ann")
    sheet = services.open_sheet(location="L", actor="ann")

    for path in ("/counts/", f"/counts/sheets/{sheet}/", "/counts/?location=L&sku=S"):
        assert "731973" not in text(ann.get(path)).replace(",", "")
    assert "S S L" in text(ann.get("/counts/"))  # the item needs a second count
    assert ann.get("/counts/waiting/").status_code == 403


def test_an_entry_sent_late_has_the_time_of_its_scan(shelf: psycopg.Connection) -> None:
    ann = person("associate", "ann")
    sheet = services.open_sheet(location="L", actor="ann")

    scan(ann, sheet, ("S", 1), age_ms=3_600_000)

    row = shelf.execute(
        "SELECT clock_timestamp() - counted_at BETWEEN '60 minutes' AND '61 minutes'"
        " FROM app.count_entry"
    ).fetchone()
    assert row == (True,)


def test_the_answer_to_a_batch_lists_each_refused_entry(shelf: psycopg.Connection) -> None:
    ann = person("associate", "ann")
    sheet = services.open_sheet(location="L", actor="ann")

    answer = scan(ann, sheet, ("S", 1), ("NOPE", 1), ("S", -1))

    refused = answer.json()["refused"]
    assert [(row["field"], row["value"]) for row in refused] == [("sku", "NOPE"), ("units", "-1")]
    assert [row["why"] for row in refused] == [
        "not in the catalogue: ask for the item to be added.",
        "Units: a whole number from 0 to 1,000,000; got “-1”.",
    ]
    assert shelf.execute("SELECT sku, units FROM app.count_entry").fetchall() == [("S", 1)]


@pytest.mark.parametrize("body", ["", "[]", '{"entries": [{"id": "x"}]}', '{"entries": 5}'])
def test_a_malformed_batch_of_entries_is_refused(shelf: psycopg.Connection, body: str) -> None:
    ann = person("associate", "ann")
    sheet = services.open_sheet(location="L", actor="ann")

    answer = ann.post(f"/counts/sheets/{sheet}/entries", body, content_type="application/json")

    assert answer.status_code == 422


def test_valid_lines_are_saved_and_invalid_lines_stay_in_the_form(
    shelf: psycopg.Connection,
) -> None:
    ann = person("associate", "ann")
    sheet = services.open_sheet(location="L", actor="ann")

    answer = post(ann, f"/counts/sheets/{sheet}/entries", lines="S 4\nNOPE 3\n\nS\na|b 1\nS x")

    assert answer.status_code == 422
    assert "3 rows were not saved" in text(answer)
    assert "NOPE : not in the catalogue: ask for the item to be added." in text(answer)
    assert "S : Units: not a number of units: write the item, a space and its units" in text(answer)
    assert "NOPE 3\na|b 1\nS x</textarea>" in answer.content.decode()
    assert shelf.execute("SELECT sum(units) FROM app.count_entry").fetchone() == (5,)


def test_refusal_reasons_of_entries_are_shown_in_german(shelf: psycopg.Connection) -> None:
    ann = person("associate", "ann")
    ann.cookies["django_language"] = "de"
    sheet = services.open_sheet(location="L", actor="ann")

    scanned = scan(ann, sheet, ("NOPE", 1), ("S", 9_999_999)).json()["refused"]
    typed = text(post(ann, f"/counts/sheets/{sheet}/entries", lines="NOPE 1\nS 9999999"))

    reasons = [
        "nicht im Katalog: um Aufnahme des Artikels bitten.",
        "Stück: eine ganze Zahl von 0 bis 1,000,000; erhalten: “9999999”.",
    ]
    assert [row["why"] for row in scanned] == reasons
    for reason in reasons:
        assert reason in typed


@pytest.mark.parametrize("path", ["/counts/", "/counts/adjust/"])
def test_the_only_store_of_a_person_is_chosen_already(shelf: psycopg.Connection, path: str) -> None:
    one = person("associate", "ann", stores=("L",)).get(path).content.decode()
    all_stores = person("associate", "bob").get(path).content.decode()

    assert '<select name="location" required><option value="L" selected>' in one
    assert '<select name="location" required><option value="">' in all_stores


def test_pasted_lines_accept_several_separators_and_skus_with_a_comma(
    shelf: psycopg.Connection,
) -> None:
    write(shelf, "item_location", inv_key="L|S,2", sku="S,2")
    ann = person("associate", "ann")
    sheet = services.open_sheet(location="L", actor="ann")

    post(ann, f"/counts/sheets/{sheet}/entries", lines="S;4\nS,5\nS , 6\nS\t7\nS,2\nS,2 8\n4,2")

    found = shelf.execute("SELECT sku, units FROM app.count_entry ORDER BY number").fetchall()
    assert found == [("S", 4), ("S", 5), ("S", 6), ("S", 7), ("S,2", 1), ("S,2", 8)]


def test_the_count_again_form_opens_a_sheet_for_its_item(shelf: psycopg.Connection) -> None:
    waiting(5)
    ann = person("associate", "bob")
    page = ann.get("/counts/").content.decode().partition('aria-label="Count again"')[2]
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))

    opened = ann.post("/counts/sheets/", fields)

    assert opened.status_code == 302
    assert opened.headers["Location"].endswith("?sku=S")
    assert 'data-label="Store">Leeds</td>' in page


def test_a_barcode_in_the_units_field_is_refused_and_not_truncated(
    shelf: psycopg.Connection,
) -> None:
    ann = person("associate", "ann", stores=("L",))
    sheet = services.open_sheet(location="L", actor="ann")

    [field] = re.findall(
        r'<input name="units"[^>]*>', ann.get(f"/counts/sheets/{sheet}/").content.decode()
    )
    refused = post(ann, f"/counts/sheets/{sheet}/entries", sku="S", units="01234567890128")

    assert 'maxlength="14"' in field
    assert refused.status_code == 422
    assert "a whole number from 0" in text(refused)


def test_a_sheet_marks_an_item_that_is_not_in_the_range(shelf: psycopg.Connection) -> None:
    shelf.execute("INSERT INTO retail.product (code, name) VALUES ('T', 'Tea towel')")
    ann = person("associate", "ann", stores=("L",))
    sheet = services.open_sheet(location="L", actor="ann")
    scan(ann, sheet, ("S", 1), ("T", 2))

    page = html.unescape(text(ann.get(f"/counts/sheets/{sheet}/")))

    assert "Tea towel T not in this store's range: tell the buyer 2 1" in page
    assert page.count("not in this store's range") == 1


def test_an_entry_can_be_taken_back(shelf: psycopg.Connection) -> None:
    ann = person("associate", "ann")
    sheet = services.open_sheet(location="L", actor="ann")
    scan(ann, sheet, ("S", 1), ("S", 100))
    row = shelf.execute("SELECT entry_id FROM app.count_entry WHERE units = 100").fetchone()
    assert row is not None

    opened = ann.get(f"/counts/sheets/{sheet}/?open=S")
    assert "Total 101 2" in text(opened)
    assert f'name="entry_id" value="{row[0]}"' in opened.content.decode()
    post(ann, f"/counts/sheets/{sheet}/undo", entry_id=str(row[0]))

    assert services.submit_sheet(sheet_id=sheet, actor="ann").refused == ()
    assert shelf.execute(
        "SELECT units FROM retail.stock_count WHERE status = 'draft'"
    ).fetchall() == [(1,)]


def test_a_person_cannot_open_the_count_sheet_of_another_person(shelf: psycopg.Connection) -> None:
    sheet = services.open_sheet(location="L", actor="ann")

    assert person("associate", "bob").get(f"/counts/sheets/{sheet}/").status_code == 404


def test_entries_for_a_submitted_count_sheet_get_a_conflict(shelf: psycopg.Connection) -> None:
    ann = person("associate", "ann")
    sheet = services.open_sheet(location="L", actor="ann")
    stored, late = Entry(uuid4(), "S", 1), Entry(uuid4(), "S", 2)
    services.add_entries(sheet_id=sheet, entries=[stored], actor="ann")
    services.submit_sheet(sheet_id=sheet, actor="ann")
    rows = [
        {"id": str(one.entry_id), "sku": one.sku, "units": one.units, "age_ms": 0}
        for one in (stored, late)
    ]

    sent = ann.post(
        f"/counts/sheets/{sheet}/entries",
        json.dumps({"entries": rows}),
        content_type="application/json",
    )

    assert (sent.status_code, sent.json()["had"]) == (409, [str(stored.entry_id)])
    closed = ann.get(f"/counts/sheets/{sheet}/").content.decode()
    assert f'action="/counts/sheets/{sheet}/entries" data-late="{sheet}" hidden>' in closed
    again = post(ann, f"/counts/sheets/{sheet}/submit")
    assert (again.status_code, "was handed in" in text(again)) == (409, True)


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/tasks/", "/counts/", "/counts/waiting/", "/counts/history/", "/counts/adjust/"),
        *("/receiving/", "/transfers/", "/reorders/", "/orders/", "/suppliers/", "/prices/"),
    ],
)
def test_hostile_query_parameters_cause_no_server_error(
    shelf: psycopg.Connection, path: str
) -> None:
    names = ("location", "sku", "units", "q", "supplier", "after", "role", "status", "family")
    for role in ("manager", "buyer"):
        if role == "buyer" and path.startswith(("/counts/", "/receiving/")):
            continue
        for hostile, status in (("%00", 400), ("%27%3B--", 200), ("x" * 300, 200)):
            query = "&".join(f"{name}={hostile}" for name in names)
            answer = person(role, f"{role}-1").get(f"{path}?{query}")
            assert answer.status_code in ({status} if role == "manager" else {status, 403})


@pytest.mark.parametrize(
    "path",
    ["/items/L/%00", "/prices/items/L/%00", "/suppliers/%00/", "/system/rejected/%00"],
)
def test_a_zero_character_in_a_path_is_refused(shelf: psycopg.Connection, path: str) -> None:
    assert person("manager", "max").get(path).status_code == 400


@pytest.mark.parametrize(
    ("role", "path", "status"),
    [
        ("buyer", "/counts/", 403),
        ("buyer", "/counts/adjust/", 403),
        ("buyer", "/counts/history/", 200),
        ("associate", "/counts/adjust/?location=L&sku=S", 200),
        ("associate", "/counts/waiting/", 403),
        ("manager", "/counts/waiting/", 200),
    ],
)
def test_counting_pages_are_open_only_to_the_roles_that_need_them(
    shelf: psycopg.Connection, role: str, path: str, status: int
) -> None:
    assert person(role).get(path).status_code == status
