"""What a person reads when a page could not be made."""

import socket
from collections.abc import Iterator

import pytest
from django.db import connections
from django.test import Client

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


def test_any_other_error_is_one_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("webui.system.views.select_value", lambda _sql: fail())

    answer = Client(raise_request_exception=False, SERVER_NAME="127.0.0.1").get("/readyz")

    assert answer.status_code == 500
    assert b"Something broke" in answer.content
