"""What a person reads when a page could not be made."""

import socket
from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection, connections
from django.test import Client, RequestFactory

from webui.config.errors import broken

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def nobody_answers() -> Iterator[None]:
    """Django's database is where nobody listens."""
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
def test_a_database_that_is_away_is_said_and_no_traceback_shown(address: str) -> None:
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
        ("57014", 500, "Something broke"),
        ("55P03", 500, "Something broke"),
        ("53100", 500, "Something broke"),
    ],
)
def test_a_database_that_answers_with_a_refusal_is_not_called_away(
    sqlstate: str, status: int, title: str
) -> None:
    refusal = f"DO $$ BEGIN RAISE 'refused' USING ERRCODE = '{sqlstate}'; END $$"
    with connection.cursor() as cursor:
        try:
            cursor.execute(refusal)
        except OperationalError:
            answer = broken(RequestFactory().get("/"))

    assert answer.status_code == status
    assert f"<h1>{title}</h1>" in answer.content.decode()
    assert ("Retry-After" in answer) == (status == 503)


def test_any_other_error_is_one_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("webui.system.views.select_value", lambda _sql: fail())

    answer = Client(raise_request_exception=False, SERVER_NAME="127.0.0.1").get("/readyz")

    assert answer.status_code == 500
    assert b"Something broke" in answer.content
