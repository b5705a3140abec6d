"""The counting desk as people use it: blind for the counter, with numbers for the manager."""

import json
import re
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.test import Client

from tests.ledger.pages import person
from tests.ledger.rows import write
from webui.ledger import services
from webui.ledger.services import Entry, Wanted


@pytest.fixture
def shelf(ledger: psycopg.Connection) -> psycopg.Connection:
    """L|S, counted 20 three hours ago, 4.00 a unit."""
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
    """What a page says, without its marks."""
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
        assert scan(ann, sheet, ("S", 6)).json() == {"refused": []}
    assert 'value="S"' in ann.get(f"/counts/sheets/{sheet}/?sku=S").content.decode()
    ended = post(ann, f"/counts/sheets/{sheet}/submit")

    assert ended.headers["Location"] == "/counts/"
    found = shelf.execute(
        "SELECT units, counted_by FROM retail.stock_count WHERE status = 'draft'"
    ).fetchall()
    assert found == [(18, "ann")]


def test_the_counters_pages_never_say_what_is_expected(shelf: psycopg.Connection) -> None:
    waiting(5)
    ann = person("associate", "ann")
    sheet = services.open_sheet(location="L", actor="ann")

    for path in ("/counts/", f"/counts/sheets/{sheet}/", "/counts/?location=L&sku=S"):
        said = text(ann.get(path))
        assert "20" not in re.sub(r"20\d\d-\d\d-\d\d [\d:]+", "", said).replace(f"{sheet}", "")
    assert "S at L" in text(ann.get("/counts/"))  # to be counted again
    assert ann.get("/counts/waiting/").status_code == 403


def test_a_scan_happened_when_it_was_scanned(shelf: psycopg.Connection) -> None:
    ann = person("associate", "ann")
    sheet = services.open_sheet(location="L", actor="ann")

    scan(ann, sheet, ("S", 1), age_ms=3_600_000)

    row = shelf.execute(
        "SELECT clock_timestamp() - counted_at BETWEEN '60 minutes' AND '61 minutes'"
        " FROM app.count_entry"
    ).fetchone()
    assert row == (True,)


def test_what_a_batch_gets_wrong_is_answered_row_by_row(shelf: psycopg.Connection) -> None:
    ann = person("associate", "ann")
    sheet = services.open_sheet(location="L", actor="ann")

    answer = scan(ann, sheet, ("S", 1), ("NOPE", 1), ("S", -1))

    refused = answer.json()["refused"]
    assert [(row["field"], row["value"]) for row in refused] == [("sku", "NOPE"), ("units", "-1")]
    assert shelf.execute("SELECT sku, units FROM app.count_entry").fetchall() == [("S", 1)]


@pytest.mark.parametrize("body", ["", "[]", '{"entries": [{"id": "x"}]}', '{"entries": 5}'])
def test_a_batch_that_is_no_batch_is_refused(shelf: psycopg.Connection, body: str) -> None:
    ann = person("associate", "ann")
    sheet = services.open_sheet(location="L", actor="ann")

    answer = ann.post(f"/counts/sheets/{sheet}/entries", body, content_type="application/json")

    assert answer.status_code == 422


def test_many_lines_are_kept_and_the_wrong_ones_stay_in_the_form(
    shelf: psycopg.Connection,
) -> None:
    ann = person("associate", "ann")
    sheet = services.open_sheet(location="L", actor="ann")

    answer = post(ann, f"/counts/sheets/{sheet}/entries", lines="S 4\nNOPE 3\n\nS\na|b 1")

    assert answer.status_code == 422
    assert "2 rows not kept" in text(answer)
    assert "NOPE 3\na|b 1</textarea>" in answer.content.decode()
    assert shelf.execute("SELECT sum(units) FROM app.count_entry").fetchone() == (5,)


def test_an_entry_can_be_taken_back(shelf: psycopg.Connection) -> None:
    ann = person("associate", "ann")
    sheet = services.open_sheet(location="L", actor="ann")
    scan(ann, sheet, ("S", 1), ("S", 100))
    row = shelf.execute("SELECT entry_id FROM app.count_entry WHERE units = 100").fetchone()
    assert row is not None

    post(ann, f"/counts/sheets/{sheet}/undo", entry_id=str(row[0]))

    assert services.submit_sheet(sheet_id=sheet, actor="ann").refused == ()
    assert shelf.execute(
        "SELECT units FROM retail.stock_count WHERE status = 'draft'"
    ).fetchall() == [(1,)]


def test_nobody_sees_the_sheet_of_somebody_else(shelf: psycopg.Connection) -> None:
    sheet = services.open_sheet(location="L", actor="ann")

    assert person("associate", "bob").get(f"/counts/sheets/{sheet}/").status_code == 404


def test_a_sheet_that_was_handed_in_elsewhere_says_so(shelf: psycopg.Connection) -> None:
    ann = person("associate", "ann")
    sheet = services.open_sheet(location="L", actor="ann")
    scan(ann, sheet, ("S", 1))
    services.submit_sheet(sheet_id=sheet, actor="ann")

    assert scan(ann, sheet, ("S", 1)).status_code == 409
    again = post(ann, f"/counts/sheets/{sheet}/submit")
    assert (again.status_code, "was handed in" in text(again)) == (409, True)


def test_the_manager_sees_both_numbers_and_approves(shelf: psycopg.Connection) -> None:
    count_id = waiting(19, at=ago(shelf, minutes=10))
    write(shelf, "sale_line", quantity_units=3, occurred_at=ago(shelf, minutes=5))
    max_ = person("manager", "max")

    said = text(max_.get("/counts/waiting/?location=L"))
    answer = post(
        max_,
        "/counts/waiting/decide?location=L",
        subject=f"count-{count_id}",
        action="approve",
        shown_expected=20,
    )

    assert "Variance −1 Worth at cost −4.00 Moved since the count −3" in said
    assert "On hand now, and after approval 17 → 16" in said
    assert answer.headers["Location"] == "/counts/waiting/?location=L"
    history = text(max_.get("/counts/history/?location=L&sku=S"))
    assert "ann, approved by max" in history


def test_an_approval_of_an_old_number_is_refused_beside_its_count(
    shelf: psycopg.Connection,
) -> None:
    count_id = waiting(19)
    write(shelf, "sale_line", quantity_units=1, occurred_at=ago(shelf, hours=1))

    answer = post(
        person("manager", "max"),
        "/counts/waiting/decide",
        subject=f"count-{count_id}",
        action="approve",
        shown_expected=20,
    )

    assert answer.status_code == 409
    assert "20 units were expected when this was shown, 19 are now" in text(answer)
    assert "Expected at" in text(answer)


def test_a_count_over_the_tolerance_has_no_approve_button(shelf: psycopg.Connection) -> None:
    waiting(9)
    max_ = person("manager", "max")

    said = text(max_.get("/counts/waiting/"))

    assert "second blind count first" in said
    assert "Approve" not in said
    waiting(9, actor="bob")
    assert "Approve" in text(max_.get("/counts/waiting/"))


def test_a_count_is_refused_with_its_reason_and_a_recount_can_be_asked_for(
    shelf: psycopg.Connection,
) -> None:
    first, max_ = waiting(20), person("manager", "max")
    post(max_, "/counts/waiting/decide", subject=f"count-{first}", action="recount")
    assert "second blind count first" in text(max_.get("/counts/waiting/"))

    post(max_, "/counts/waiting/decide", subject=f"count-{first}", action="refuse", reason="wet")

    assert "No count waits" in text(max_.get("/counts/waiting/"))
    logged = shelf.execute(
        "SELECT detail->>'reason' FROM app.action_log WHERE action = 'void_count'"
    ).fetchall()
    assert logged == [("wet",)]


def test_the_history_restates_a_variance_and_voids_a_young_count(
    shelf: psycopg.Connection,
) -> None:
    count_id, max_ = waiting(19), person("manager", "max")
    services.approve_waiting_count(count_id=count_id, actor="max")
    late = write(shelf, "sale_line", quantity_units=1, occurred_at=ago(shelf, hours=1))
    restated = text(max_.get("/counts/history/?sku=S"))
    shelf.execute("DELETE FROM retail.sale_line WHERE id = %s", [late])
    restored = text(max_.get("/counts/history/?sku=S"))

    voided = post(max_, "/counts/history/void?sku=S", count_id=count_id, reason="wrong shelf")

    assert re.search(r"cycle 19 19 −1 0 restated by late facts 0.00", restated)
    assert re.search(r"cycle 19 20 −1 −1 −4.00", restored)
    assert voided.headers["Location"] == "/counts/history/?sku=S"
    shown = text(max_.get("/counts/history/?sku=S"))
    assert "cycle void" in shown
    assert re.search(r"made void by max, 20[\d: -]+: “wrong shelf”", shown)


@pytest.mark.parametrize(
    ("reason", "rule"), [("", "must not be empty"), ("x" * 201, "at most 200 characters")]
)
def test_a_count_is_voided_for_a_reason(shelf: psycopg.Connection, reason: str, rule: str) -> None:
    max_ = person("manager", "max")
    counted = services.approve_count(location="L", sku="S", units=19)
    drafted = waiting(19)

    voided = post(max_, "/counts/history/void?sku=S", count_id=counted, reason=reason)
    refused = post(
        max_,
        "/counts/waiting/decide",
        subject=f"count-{drafted}",
        action="refuse",
        reason=reason,
    )

    for answer in (voided, refused):
        assert answer.status_code == 422
        assert f"Reason: {rule}" in text(answer)
        assert f'maxlength="200" value="{reason}"' in answer.content.decode()
    assert shelf.execute("SELECT FROM retail.stock_count WHERE status = 'void'").fetchall() == []
    post(max_, "/counts/history/void?sku=S", count_id=counted, reason="y" * 200)
    assert "“" + "y" * 200 + "”" in text(max_.get("/counts/history/?sku=S"))


def test_an_adjustment_says_what_it_means_before_it_is_booked(shelf: psycopg.Connection) -> None:
    ann = person("associate", "ann")
    form = {"location": "L", "sku": "S", "reason": "damage", "quantity_units": "26"}

    shown = post(ann, "/counts/adjust/", **form, action="preview")
    booked = post(ann, "/counts/adjust/", **form, action="book")

    assert "on hand −26 , unavailable +26 , worth 104.00" in text(shown)
    assert "Somebody else has to approve it" in text(shown)
    assert booked.status_code == 302
    assert "Waiting for somebody else" in text(ann.get("/counts/adjust/"))
    assert shelf.execute("SELECT count(*) FROM retail.stock_adjustment").fetchone() == (0,)


def test_a_wrong_adjustment_keeps_its_input(shelf: psycopg.Connection) -> None:
    form = {"location": "L", "sku": "S", "reason": "damage", "quantity_units": "0"}

    answer = post(person("associate", "ann"), "/counts/adjust/", **form, action="book")

    assert answer.status_code == 422
    assert "Units: a whole number from 1 to 1,000,000; got “0”." in text(answer)
    assert 'value="damage" selected' in answer.content.decode()


def test_a_waiting_adjustment_is_approved_by_somebody_else(shelf: psycopg.Connection) -> None:
    wanted = Wanted("L", "S", "theft", 100)
    request = services.request_adjustment(wanted=wanted, actor="max").request_id
    form = {"subject": f"request-{request}", "action": "approve"}

    own = post(person("manager", "max"), "/counts/waiting/decide", **form)
    other = post(person("manager", "moe"), "/counts/waiting/decide", **form)

    assert (own.status_code, "Another person than who asked approves." in text(own)) == (422, True)
    assert other.status_code == 302
    assert shelf.execute("SELECT quantity_units FROM retail.stock_adjustment").fetchall() == [
        (100,)
    ]


@pytest.mark.parametrize(
    "form",
    [
        {"subject": "", "action": "approve"},
        {"subject": "count-1", "action": "think"},
        {"subject": "count-1", "action": "approve", "shown_expected": "many"},
        {"subject": "count-999999", "action": "approve", "shown_expected": "1"},
        {"subject": "request-999999", "action": "approve"},
    ],
)
def test_a_form_that_is_not_ours_is_refused(
    shelf: psycopg.Connection, form: dict[str, str]
) -> None:
    answer = post(person("manager", "max"), "/counts/waiting/decide", **form)

    assert answer.status_code == 422


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/tasks/", "/counts/", "/counts/waiting/", "/counts/history/", "/counts/adjust/"),
        *("/receiving/", "/transfers/", "/reorders/", "/orders/", "/suppliers/", "/prices/"),
    ],
)
def test_no_text_of_an_address_breaks_a_page(shelf: psycopg.Connection, path: str) -> None:
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
def test_each_page_is_for_the_roles_that_need_it(
    shelf: psycopg.Connection, role: str, path: str, status: int
) -> None:
    assert person(role).get(path).status_code == status
