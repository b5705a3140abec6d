# ruff: noqa: S608 -- statements are literals of this file
"""Refused requests and logins are recorded in limited number and listed by a command."""

import json
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
        "This needs the right to see rejected bytes",
        "location THEIRS-1 belongs to a store that is not one of yours",
        "This needs the right to stop prices",
    ]


def test_an_answer_that_is_given_leaves_no_record(record: psycopg.Connection) -> None:
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


def test_a_wrong_present_password_is_recorded_and_logged(
    staff: psycopg.Connection, record: psycopg.Connection
) -> None:
    browser = client()
    log_in(browser)

    browser.post("/account/password/", {"old_password": WRONG, "new_password1": "x"})

    assert recorded(record) == [("login", "ann", HERE, "password wrong", 1)]
    assert ("password_wrong", "ann") in audit(staff)


def test_a_form_without_a_token_and_a_malformed_one_are_recorded(
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
    assert reasons == [("CSRF cookie not set.",), ("Location: a form holds no zero characters.",)]


def test_the_token_of_an_invitation_is_not_recorded(
    record: psycopg.Connection, accounts: Any
) -> None:
    link = link_in(add(person("operator")))
    browser = Client(SERVER_NAME="localhost", enforce_csrf_checks=True)

    assert browser.post(link, {"password": "x"}).status_code == 403

    [(_, _, _, address, _)] = recorded(record)
    assert address == "POST /invitation/<str:token>/"


def test_further_addresses_of_one_person_share_a_row(record: psycopg.Connection) -> None:
    visitor = person("associate", "nora", stores=("MINE-1",))

    for number in range(105):
        visitor.get(f"/items/THEIRS-{number}/S")

    found = recorded(record)
    assert len(found) == 101
    assert found[-1] == ("forbidden", "nora", "127.0.0.1", "further addresses", 5)


def test_old_rows_and_all_but_the_newest_hundred_thousand_go(record: psycopg.Connection) -> None:
    values = "'forbidden', 'a', 's', 'x', ''"
    insert = "INSERT INTO app.refusal (hour, mark, kind, account, source, address, reason"

    record.execute(
        f"{insert}, last_at) SELECT now(), int4send(n), {values}, now() - interval '91 days'"
        " FROM generate_series(1, 50) n"
    )
    record.execute(
        f"{insert}) SELECT now(), int8send(n), {values} FROM generate_series(1, 100300) n"
    )

    found = record.execute(
        "SELECT count(*), count(*) FILTER (WHERE last_at < now() - interval '90 days')"
        " FROM app.refusal"
    ).fetchone()
    assert found is not None
    assert 100_000 <= found[0] < 100_100
    assert found[1] == 0
    record.execute("DELETE FROM app.refusal")


def test_a_command_lists_refusals(command: Any, record: psycopg.Connection) -> None:
    visitor = person("associate", "nora", stores=("MINE-1",))
    visitor.get("/items/THEIRS-1/[bold]\x1b[2J")

    shown = command("refused", group="audit")
    listed = json.loads(command("refused", "--json", "--account", "nora", group="audit").stdout)
    other = json.loads(command("refused", "--json", "--account", "otto", group="audit").stdout)

    assert "GET /items/THEIRS-1/[bold]?[2J" in shown.stdout
    assert [each["times"] for each in listed] == [1]
    assert other == []
