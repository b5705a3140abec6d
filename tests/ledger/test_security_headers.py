"""Security headers, HTTP methods and addresses, which are the same in every deployment."""

from importlib import import_module

import psycopg
import pytest
from django.test import Client

from tests.ledger.inbox import level, state
from tests.ledger.pages import person, with_static_files

NONE = {"Access-Control-Allow-Origin", "Server", "X-Powered-By"}


@pytest.mark.parametrize(
    "address", ["/", "/login/", "/tasks/", "/no-such-page/", "/account/password/"]
)
def test_every_page_has_the_security_headers(ledger: psycopg.Connection, address: str) -> None:
    answer = person("associate").get(address)

    assert answer["Content-Type"] == "text/html; charset=utf-8"
    policy = answer["Content-Security-Policy"]
    for rule in ("default-src 'self'", "object-src 'none'", "base-uri 'none'"):
        assert rule in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["Referrer-Policy"] == "same-origin"
    assert NONE.isdisjoint(answer.headers)
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("/stock.csv", "text/csv; charset=utf-8"),
        ("/tasks/version", "application/json"),
        ("/prices/version", "application/json"),
        ("/readyz", "application/json"),
    ],
)
def test_answers_to_programs_state_their_type_and_are_not_cached(
    ledger: psycopg.Connection, address: str, kind: str
) -> None:
    answer = person("associate").get(address)

    assert answer["Content-Type"] == kind
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Cache-Control"] == "no-store"
    assert NONE.isdisjoint(answer.headers)


def test_an_export_is_a_file_to_save(ledger: psycopg.Connection) -> None:
    answer = person("associate").get("/stock.csv")

    assert answer["Content-Disposition"] == 'attachment; filename="stock.csv"'


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("%41", "%41"),
        ("%2527", "%2527"),
        ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
        ("' OR 1=1 --", "&#x27; OR 1=1 --"),
        ("\\'; DROP TABLE app.task; --", "\\&#x27;; DROP TABLE app.task; --"),
    ],
)
def test_a_search_is_decoded_once_and_is_never_sql(
    ledger: psycopg.Connection, typed: str, shown: str
) -> None:
    level(ledger, state())

    answer = person("associate").get("/", {"q": typed})

    assert answer.status_code == 200
    assert f'name="q" value="{shown}"' in answer.content.decode()
    assert "tr data-key" not in answer.content.decode()
    assert "<tr data-key" in person("associate").get("/").content.decode()


def test_a_post_without_a_csrf_token_is_refused(ledger: psycopg.Connection) -> None:
    people = import_module("ledger.people")
    user, _ = people.User.objects.get_or_create(username="ann")
    browser = Client(SERVER_NAME="localhost", enforce_csrf_checks=True)
    browser.force_login(user)

    for address in ("/login/", "/logout/", "/account/password/", "/account/second-factor/"):
        assert browser.post(address, {}).status_code == 403


def test_logout_requires_a_post(ledger: psycopg.Connection) -> None:
    browser = person("associate")

    assert browser.get("/logout/").status_code == 405
    assert browser.get("/tasks/").status_code == 200
    assert browser.post("/logout/")["Clear-Site-Data"] == '"cache"'
    assert browser.get("/tasks/").status_code == 302


@pytest.mark.parametrize(
    "address",
    ["/.git/config", "/static/", "/static/../manage.py", "/static/%2e%2e/manage.py", "/.env"],
)
def test_files_of_the_project_are_not_served(ledger: psycopg.Connection, address: str) -> None:
    with with_static_files():
        assert person("operator").get(address).status_code == 404


def test_a_trace_request_is_refused(ledger: psycopg.Connection) -> None:
    answer = person("associate").trace("/tasks/")

    assert answer.status_code in (403, 405)
    assert b"TRACE" not in answer.content
