# ruff: noqa: S608 -- statements are literals of this file
"""Refused requests and logins are recorded in limited number and listed by a command."""

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import psycopg
import pytest
from django.test import Client

from tests.ledger.pages import person
from tests.ledger.staff import HERE, WRONG, audit, client, log_in
from tests.ledger.test_people import accounts, add, command, link_in

__all__ = ["accounts", "command"]


@pytest.fixture
def record(ledger: psycopg.Connection) -> psycopg.Connection:
    ledger.execute("DELETE FROM app.refusal; DELETE FROM app.login_count")
    return ledger


def recorded(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT kind, account, source, address, times FROM app.refusal ORDER BY id"
    ).fetchall()


def test_a_refused_page_and_a_foreign_store_are_recorded_with_their_reason(
    record: psycopg.Connection,
) -> None:
    visitor = person("associate", "nora", stores=("MINE-1",))

    visitor.get("/system/rejected/1-1-1")
    for _ in range(3):
        visitor.get("/items/THEIRS-1/SECRET?q=typed")
    visitor.post("/prices/stop", {"stop": "1"})

    assert recorded(record) == [
        ("forbidden", "nora", "127.0.0.1", "GET /system/rejected/1-1-1", 1),
        ("forbidden", "nora", "127.0.0.1", "GET /items/THEIRS-1/SECRET", 3),
        ("forbidden", "nora", "127.0.0.1", "POST /prices/stop", 1),
    ]
    reasons = record.execute("SELECT reason FROM app.refusal ORDER BY id").fetchall()
    assert [reason.partition(".")[0] for (reason,) in reasons] == [
        "This page or action needs the right to see rejected bytes",
        "THEIRS-1 is not one of your stores",
        "This page or action needs the right to stop prices",
    ]


def test_permitted_requests_leave_no_refusal_record(record: psycopg.Connection) -> None:
    visitor = person("associate", "nora", stores=("MINE-1",))

    visitor.get("/")
    visitor.get("/no-such-page/")
    visitor.post("/counts/sheets/", {})

    assert recorded(record) == []


def test_refused_logins_are_recorded_without_typed_text(
    staff: psycopg.Connection, record: psycopg.Connection
) -> None:
    for _ in range(6):
        log_in(client(), password=WRONG)
    log_in(client("192.0.2.9"), name="my secret password")

    assert recorded(record) == [
        ("login", "ann", HERE, "login failed", 5),
        ("too many", "ann", HERE, "POST /login/", 1),
        ("login", "unknown account", "192.0.2.9", "login failed", 1),
    ]


def test_a_wrong_current_password_is_recorded_and_logged(
    staff: psycopg.Connection, record: psycopg.Connection
) -> None:
    browser = client()
    log_in(browser)

    browser.post("/account/password/", {"old_password": WRONG, "new_password1": "x"})

    assert recorded(record) == [("login", "ann", HERE, "password wrong", 1)]
    assert ("password_wrong", "ann") in audit(staff)


def test_forms_without_a_csrf_token_and_malformed_forms_are_recorded(
    record: psycopg.Connection,
) -> None:
    browser = Client(SERVER_NAME="localhost", enforce_csrf_checks=True)

    browser.post("/login/", {"username": "typed by mistake"})
    person("associate", "nora").post("/counts/sheets/", {"location": "a\x00b"})

    assert recorded(record) == [
        ("forbidden", "not logged in", "127.0.0.1", "POST /login/", 1),
        ("malformed", "nora", "127.0.0.1", "POST /counts/sheets/", 1),
    ]
    reasons = record.execute("SELECT reason FROM app.refusal ORDER BY id").fetchall()
    assert reasons == [
        ("CSRF cookie not set.",),
        ("Location: forms can't contain zero characters. Nothing was changed.",),
    ]


def test_the_token_of_an_invitation_is_not_recorded(
    record: psycopg.Connection, accounts: Any
) -> None:
    link = link_in(add(person("operator")))
    browser = Client(SERVER_NAME="localhost", enforce_csrf_checks=True)

    assert browser.post(link, {"password": "x"}).status_code == 403

    [(_, _, _, address, _)] = recorded(record)
    assert address == "POST /invitation/<str:token>/"


def test_refused_addresses_beyond_100_of_one_account_share_a_row(
    record: psycopg.Connection,
) -> None:
    visitor = person("associate", "nora", stores=("MINE-1",))

    for number in range(105):
        visitor.get(f"/items/THEIRS-{number}/S")

    found = recorded(record)
    assert len(found) == 101
    assert found[-1] == ("forbidden", "nora", "127.0.0.1", "further addresses", 5)


@pytest.fixture
def thousand(record: psycopg.Connection) -> Iterator[None]:
    """Make the trigger keep 1,000 rows instead of 100,000, until the test ends."""
    [(stated,)] = record.execute(
        "SELECT pg_get_functiondef('app.forget_refusals'::regproc)"
    ).fetchall()
    assert stated.count(" OFFSET 100000 ") == 1
    record.execute(stated.replace(" OFFSET 100000 ", " OFFSET 1000 "))
    yield
    record.execute(stated)


@pytest.mark.usefixtures("thousand")
def test_refusals_older_than_90_days_or_beyond_the_newest_rows_are_deleted(
    record: psycopg.Connection,
) -> None:
    values = "'forbidden', 'a', 's', 'x', ''"
    insert = "INSERT INTO app.refusal (hour, mark, kind, account, source, address, reason"

    record.execute(
        f"{insert}, last_at) SELECT now(), int4send(n), {values}, now() - interval '91 days'"
        " FROM generate_series(1, 50) n"
    )
    record.execute(f"{insert}) SELECT now(), int8send(n), {values} FROM generate_series(1, 1300) n")

    found = record.execute(
        "SELECT count(*), count(*) FILTER (WHERE last_at < now() - interval '90 days')"
        " FROM app.refusal"
    ).fetchone()
    assert found is not None
    assert 1_000 <= found[0] < 1_100
    assert found[1] == 0
    record.execute("DELETE FROM app.refusal")


def test_the_audit_command_lists_refusals(command: Any, record: psycopg.Connection) -> None:
    visitor = person("associate", "nora", stores=("MINE-1",))
    visitor.get("/items/THEIRS-1/[bold]\x1b[2J")

    shown = command("refused", group="audit")
    listed = json.loads(command("refused", "--json", "--account", "nora", group="audit").stdout)
    other = json.loads(command("refused", "--json", "--account", "otto", group="audit").stdout)

    assert "GET /items/THEIRS-1/[bold]?[2J" in shown.stdout
    assert [each["times"] for each in listed] == [1]
    assert other == []


def listed(browser: Client, query: str = "") -> tuple[int, str]:
    answer = browser.get(f"/people/refused/{query}")
    return answer.status_code, answer.content.decode()


def plant(ledger: psycopg.Connection, day: str, account: str, address: str) -> None:
    ledger.execute(
        "INSERT INTO app.refusal (hour, mark, kind, account, source, address, reason, first_at,"
        " last_at) VALUES (%(at)s, %(mark)s, 'forbidden', %(account)s, '192.0.2.7', %(address)s,"
        " 'not yours', %(at)s, %(at)s)",
        {"at": day, "mark": address.encode(), "account": account, "address": address},
    )


def test_operators_read_refusals_by_account_and_day(record: psycopg.Connection) -> None:
    operator = person("operator")
    plant(record, "2026-11-20 23:00+00", "nora", "GET /first")
    plant(record, "2026-11-21 00:00+00", "nora", "GET /second")
    plant(record, "2026-11-21 23:00+00", "otto", "GET /<b>third")
    plant(record, "2026-11-22 00:00+00", "nora", "GET /fourth")
    shown = {
        query: re.findall(r"GET /([\w&;]+)", listed(operator, query)[1])
        for query in ("", "?account=nora", "?day=2026-11-21", "?day=2026-11-21&account=nora")
    }

    assert shown == {
        "": ["fourth", "&lt;b&gt;third", "second", "first"],
        "?account=nora": ["fourth", "second", "first"],
        "?day=2026-11-21": ["&lt;b&gt;third", "second"],
        "?day=2026-11-21&account=nora": ["second"],
    }
    status, page = listed(operator, "?account=nora")
    assert (status, page.count("Not allowed</b>: not yours")) == (200, 3)
    assert "No refused request with these filters" in listed(operator, "?account=nobody")[1]


@pytest.mark.parametrize("day", ["yesterday", "2026-13-01", "0000-00-00", "9" * 90, "%00"])
def test_an_invalid_day_filter_is_refused_with_the_next_step(
    record: psycopg.Connection, day: str
) -> None:
    status, page = listed(person("operator"), f"?day={day}")

    assert status in (400, 422)
    assert status == 400 or "Choose a day, or leave the field empty for all days." in page


def test_the_day_filter_accepts_the_first_and_last_calendar_day(record: psycopg.Connection) -> None:
    operator = person("operator")

    assert [listed(operator, f"?day={day}")[0] for day in ("0001-01-01", "9999-12-31")] == [200] * 2


def test_pages_of_refusals_show_each_row_once(record: psycopg.Connection) -> None:
    operator = person("operator")
    for number in range(120):
        plant(record, "2026-11-21 10:00+00", "nora", f"GET /{number:03}")
    pages, query = [], "?account=nora"

    while query:
        _, page = listed(operator, query)
        pages.append(re.findall(r"GET /(\d{3})", page))
        plant(record, "2026-11-21 11:00+00", "nora", f"GET /new-{len(pages)}")
        found = re.search(r'href="(\?[^"]+)" rel="next"', page)
        query = unescape(found[1]) if found else ""

    assert [len(page) for page in pages] == [50, 50, 20]
    assert [number for page in pages for number in page] == [
        f"{number:03}" for number in reversed(range(120))
    ]
    assert listed(operator, "?before=x")[0] == 200


def test_only_operators_of_all_stores_read_refusals(record: psycopg.Connection) -> None:
    assert listed(person("operator", "otto", stores=("MINE-1",)))[0] == 403
    assert listed(person("manager"))[0] == 403
    assert "Refused requests" not in person("manager").get("/people/").content.decode()
