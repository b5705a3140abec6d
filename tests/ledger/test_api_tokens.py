"""Tokens of the API: created with the password, shown once, stored as a hash, revoked at once."""

import hashlib
import re
from importlib import import_module
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ledger.kernel.errors import Conflict, ServiceError
from tests.ledger.programs import Program, account, problem, program_of
from tests.ledger.staff import PASSWORD, WRONG, client, log_in
from tests.ledger.test_people import accounts, command

PATH = "/account/tokens/"
FORM = {"name": "till robot", "scopes": ["stock:read", "needs:read"], "days": "30"}
__all__ = ["accounts", "command"]


@pytest.fixture
def browser(staff: psycopg.Connection) -> Any:
    """A client with a session of Ann, an associate."""
    found = client()
    log_in(found, "ann")
    return found


def test_a_person_creates_a_token_which_is_shown_once(
    browser: Any, ledger: psycopg.Connection
) -> None:
    page = browser.post(PATH, FORM | {"password": PASSWORD}).content.decode()
    [token] = re.findall(r'<code id="token">(inv_[\w-]{43})</code>', page)

    assert Program(token).get("/api/v1/stock").status_code == 200
    assert problem(Program(token).get("/api/v1/orders"))["scope"] == "orders:read"
    again = browser.get(PATH).content.decode()
    assert token not in again
    assert "till robot" in again
    [(stored, scopes)] = ledger.execute("SELECT token_sha256, scopes FROM app.api_token").fetchall()
    assert stored == hashlib.sha256(token.encode()).hexdigest()
    assert scopes == FORM["scopes"]


def test_creating_and_ending_a_token_are_logged_in_the_action_log(
    browser: Any, ledger: psycopg.Connection
) -> None:
    browser.post(PATH, FORM | {"password": PASSWORD})
    [(number,)] = ledger.execute("SELECT id FROM app.api_token").fetchall()
    assert browser.post(PATH, {"end": number, "password": PASSWORD})["Location"] == PATH

    found = ledger.execute(
        "SELECT actor, action, subject, detail ->> 'token' FROM app.action_log"
        " WHERE action LIKE '%api_token' ORDER BY id"
    ).fetchall()
    assert found == [
        ("ann", "create_api_token", "ann", str(number)),
        ("ann", "end_api_token", "ann", str(number)),
    ]
    assert b"has ended already" in browser.post(PATH, {"end": number, "password": PASSWORD}).content


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"password": WRONG}, "The password is wrong"),
        ({"name": " "}, "Name: must not be empty"),
        ({"name": "x" * 61}, "at most 60 characters"),
        ({"days": "366"}, "a whole number from 1 to 365"),
        ({"days": "many"}, "a whole number from 1 to 365"),
        ({"scopes": ["root"]}, "Scopes: at least one of"),
    ],
)
def test_a_refused_form_creates_no_token(
    browser: Any, ledger: psycopg.Connection, changed: dict[str, Any], message: str
) -> None:
    answer = browser.post(PATH, FORM | {"password": PASSWORD} | changed)

    assert answer.status_code == 422
    assert message in answer.content.decode()
    assert ledger.execute("SELECT count(*) FROM app.api_token").fetchone() == (0,)


def test_a_person_cannot_end_the_token_of_another_account(
    browser: Any, ledger: psycopg.Connection
) -> None:
    robot = program_of(account("buyer", "robot"))
    [(number,)] = ledger.execute("SELECT id FROM app.api_token").fetchall()

    answer = browser.post(PATH, {"end": number, "password": PASSWORD})

    assert answer.status_code == 422
    assert robot.get("/api/v1/stock").status_code == 200


def test_an_account_has_at_most_twenty_valid_tokens(ledger: psycopg.Connection) -> None:
    user = account("buyer", "robot")
    for _ in range(20):
        program_of(user)

    with pytest.raises(Conflict, match="end one first"):
        program_of(user)
    import_module("webui.accounts.api_tokens").end_tokens(user.pk, "test")
    assert program_of(user).get("/api/v1/stock").status_code == 200


def test_a_token_loses_the_rights_that_its_owner_loses(ledger: psycopg.Connection) -> None:
    people = import_module("webui.accounts.people")
    robot = program_of(account("buyer", "robot"))
    body = {"approvals": [{"need_id": "R:none", "revision": 1}]}
    assert robot.post("/api/v1/needs", body).status_code == 200

    people.set_roles(name="robot", roles=["associate"], actor="test")

    assert problem(robot.post("/api/v1/needs", body))["type"].endswith(":missing-right")


def test_commands_create_a_service_account_and_its_tokens(
    staff: psycopg.Connection, command: Any
) -> None:
    name = f"robot-{uuid4()}"
    added = command("add", name, "--service", "--role", "buyer", "--everywhere")
    assert added.exit_code == 0, added.stderr
    created = command("token", name, "--scope", "needs:read", "--days", "7")
    assert created.exit_code == 0, created.stderr
    [token] = created.stdout.splitlines()

    assert Program(token).get("/api/v1/needs").status_code == 200
    [(number, label)] = staff.execute("SELECT id, name FROM app.api_token").fetchall()
    assert label == "command line"
    listed = command("tokens", name, "--json").stdout
    assert "needs:read" in listed
    assert token not in listed
    assert command("end-token", name, str(number)).exit_code == 0
    assert Program(token).get("/api/v1/needs").status_code == 401
    again = command("end-token", name, str(number))
    assert again.exit_code != 0
    assert "nothing was changed" in again.stderr + str(again.exception)
    assert staff.execute(
        "SELECT count(*) FROM app.invitation i JOIN app.auth_user u ON u.id = i.person_id"
        " WHERE u.username = %s",
        (name,),
    ).fetchone() == (0,)


@pytest.mark.parametrize("scopes", [(), ("needs:read", "root")])
def test_unknown_scopes_are_refused(ledger: psycopg.Connection, scopes: tuple[str, ...]) -> None:
    tokens = import_module("webui.accounts.api_tokens")

    with pytest.raises(ServiceError, match="scopes"):
        tokens.create_token(
            person=account("buyer", "robot"), name="x", scopes=scopes, days=1, actor="test"
        )
