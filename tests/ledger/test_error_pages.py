"""Error pages as a person reads them."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection, connections
from django.test import Client, RequestFactory

from deploy.stack.home import PROJECT
from tests.ledger.pages import person
from webui.config.session_limits import options

pytestmark = pytest.mark.usefixtures("database")


def errors() -> Any:
    """Return the handlers under test, loaded after the fixture has set Django up."""
    return import_module("webui.config.errors")


@pytest.fixture
def nobody_answers() -> Iterator[None]:
    """Point Django's database at a port without a listener."""
    entry = connections["default"].settings_dict
    before = dict(entry)
    connections["default"].close()
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        entry |= {"HOST": "127.0.0.1", "PORT": str(bound.getsockname()[1])}
        yield
        connections["default"].close()
    entry |= before


@pytest.mark.usefixtures("nobody_answers")
@pytest.mark.parametrize("address", ["/", "/tasks/", "/login/"])
def test_an_unreachable_database_gives_status_503_without_a_traceback(address: str) -> None:
    client = Client(raise_request_exception=False, SERVER_NAME="127.0.0.1")
    client.cookies["sessionid"] = "a" * 32

    answer = client.get(address)

    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    text = answer.content.decode()
    assert "The database does not answer" in text
    assert "Traceback" not in text
    assert "OperationalError" not in text


@pytest.mark.parametrize(
    ("sqlstate", "status", "title"),
    [
        ("08006", 503, "The database does not answer"),
        ("57P03", 503, "The database does not answer"),
        ("40001", 503, "Try again"),
        ("40P01", 503, "Try again"),
        ("57014", 503, "This took too long"),
        ("55P03", 503, "This took too long"),
        ("53100", 500, "Something broke"),
    ],
)
def test_each_database_error_code_has_its_status_and_page_title(
    sqlstate: str, status: int, title: str
) -> None:
    refusal = f"DO $$ BEGIN RAISE 'refused' USING ERRCODE = '{sqlstate}'; END $$"
    with connection.cursor() as cursor:
        answer = None
        try:
            cursor.execute(refusal)
        except OperationalError:
            answer = errors().handle_server_error(RequestFactory().get("/"))

    assert answer is not None
    assert answer.status_code == status
    assert f"<h1>{title}</h1>" in answer.content.decode()
    assert ("Retry-After" in answer) == (status == 503)


@pytest.fixture
def limited() -> Iterator[None]:
    """Limit the statements of Django's connection to 2 s, and their waits for locks to 0.1 s."""
    entry = connections["default"].settings_dict
    before = entry["OPTIONS"]
    connections["default"].close()
    entry["OPTIONS"] = {**before, "options": before["options"] + options(2_000, 100)}
    yield
    connections["default"].close()
    entry["OPTIONS"] = before


@pytest.mark.usefixtures("limited")
def test_a_page_that_waits_too_long_for_a_lock_gets_status_503(ledger: psycopg.Connection) -> None:
    client = Client(raise_request_exception=False, SERVER_NAME="127.0.0.1")
    client.cookies["sessionid"] = "a" * 32
    with ledger.transaction():
        ledger.execute("LOCK TABLE app.django_session IN ACCESS EXCLUSIVE MODE")

        page = client.get("/")
        program = client.get("/", headers={"Accept": "application/json"})

    assert (page.status_code, page["Retry-After"]) == (503, "5")
    assert "This took too long" in page.content.decode()
    assert program.status_code == 503
    assert program.json() == {"error": errors().SLOW.error}


@pytest.mark.usefixtures("limited")
def test_a_slow_statement_of_a_page_is_ended() -> None:
    with connection.cursor() as cursor, pytest.raises(OperationalError, match="statement timeout"):
        cursor.execute("SELECT pg_sleep(30)")


def test_the_web_server_sets_statement_and_lock_timeouts() -> None:
    program = (
        "import webui.config.asgi; from django.db import connections;"
        "print(connections.settings['default']['OPTIONS']['options'])"
    )
    done = subprocess.run(  # noqa: S603 -- our own module
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=PROJECT
    )

    assert done.stdout.strip().endswith(options())


@pytest.mark.usefixtures("nobody_answers")
def test_readyz_names_the_failed_part_without_the_database_error() -> None:
    answer = Client(SERVER_NAME="127.0.0.1").get("/readyz")

    assert answer.status_code == 503
    assert answer.json() == {"ready": False, "not_ready": ["database"]}


@pytest.mark.usefixtures("nobody_answers")
def test_the_pipeline_status_shows_no_text_of_the_database_error() -> None:
    from webui.desks.system.probes import chain  # noqa: PLC0415 -- needs Django set up

    found = {link.name: link.summary for link in chain()}

    assert found["Postgres"] == "the database does not answer"
    assert not [text for text in found.values() if "5432" in text or "127.0.0.1" in text]


def test_an_unexpected_error_gives_status_500_with_an_error_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("webui.desks.system.views.select_value", lambda _sql: fail())

    answer = Client(raise_request_exception=False, SERVER_NAME="127.0.0.1").get("/readyz")

    assert answer.status_code == 500
    assert b"Something broke" in answer.content


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "This form is older than your last login"), ("de", "Es wurde nichts geändert.")],
)
def test_a_form_from_before_the_last_login_names_the_next_step(language: str, text: str) -> None:
    browser = Client(SERVER_NAME="localhost", enforce_csrf_checks=True)
    browser.cookies = person("associate").cookies
    browser.cookies["django_language"] = language

    answer = browser.post("/counts/sheets/", {"location": "MINE-1"})

    page = answer.content.decode()
    assert answer.status_code == 403
    assert text in page
    assert '<nav id="desks"' in page
    assert "DEBUG" not in page
