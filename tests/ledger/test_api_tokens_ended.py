"""The recovery of an account ends its tokens, so that tokens of an intruder stop working."""

from importlib import import_module
from typing import Any

import psycopg
import pytest
from django.test import override_settings

from tests.ledger.programs import account, program_of
from tests.ledger.staff import PASSWORD, client, log_in
from tests.ledger.test_people import accounts, browser

__all__ = ["accounts"]
NEW = "many other words here"
STOCK = "/api/v1/stock"
WAYS = ("set_password", "accept_invitation", "reset_second_factor", "end_sessions")


def recover(accounts: Any, way: str, name: str) -> None:
    match way:
        case "set_password":
            accounts.set_password(name=name, password=NEW, actor="test")
        case "accept_invitation":
            link = accounts.invite_person(name=name, actor="test").token
            answer = browser().post(f"/invitation/{link}/", {"password": NEW, "again": NEW})
            assert answer.status_code == 302
        case "reset_second_factor":
            accounts.reset_second_factor(name=name, actor="test")
        case _:
            accounts.end_sessions_of(name=name, actor="test")


def ended(ledger: psycopg.Connection, action: str) -> list[int | None]:
    found = ledger.execute(
        "SELECT (detail ->> 'tokens')::int FROM app.action_log WHERE action = %s", (action,)
    ).fetchall()
    return [count for (count,) in found]


@pytest.mark.parametrize("way", WAYS)
def test_the_recovery_of_an_account_ends_its_tokens(
    staff: psycopg.Connection, accounts: Any, way: str
) -> None:
    user = import_module("ledger.people").User.objects.get(username="ann")
    programs = [program_of(user), program_of(user)]
    assert programs[0].get(STOCK).status_code == 200

    recover(accounts, way, "ann")

    assert [each.get(STOCK).status_code for each in programs] == [401, 401]
    assert ended(staff, way) == [2]


def test_a_changed_password_ends_the_tokens(staff: psycopg.Connection, accounts: Any) -> None:
    user = import_module("ledger.people").User.objects.get(username="ann")
    program, visitor = program_of(user), client()
    log_in(visitor, "ann")
    form = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}

    assert visitor.post("/account/password/", form).status_code == 302

    assert program.get(STOCK).status_code == 401
    assert ended(staff, "password_changed") == [1]


@pytest.mark.parametrize("way", WAYS)
def test_tokens_of_a_service_account_end_only_if_its_sessions_are_ended(
    ledger: psycopg.Connection, accounts: Any, way: str
) -> None:
    user = account("buyer", "robot")
    user.set_unusable_password()
    user.save()
    program = program_of(user)

    recover(accounts, way, "robot")

    assert program.get(STOCK).status_code == (401 if way == "end_sessions" else 200)
    user.set_unusable_password()
    user.save()


@pytest.mark.parametrize(
    ("roles", "status"),
    [(["buyer"], 200), (["buyer", "lead"], 401), (["associate", "analyst"], 200)],
)
def test_a_new_role_with_a_second_factor_ends_tokens_made_without_one(
    staff: psycopg.Connection, accounts: Any, roles: list[str], status: int
) -> None:
    user = import_module("ledger.people").User.objects.get(username="ann")
    program = program_of(user)

    with override_settings(SECOND_FACTOR_ROLES=("lead", "pricing", "operator")):
        accounts.set_roles(name="ann", roles=roles, actor="test")

    assert program.get(STOCK).status_code == status
    assert ended(staff, "set_roles") == [1 if status == 401 else None]


def test_adding_a_role_to_an_account_with_a_second_factor_role_ends_no_tokens(
    staff: psycopg.Connection, accounts: Any
) -> None:
    user = import_module("ledger.people").User.objects.get(username="olga")
    program = program_of(user)

    with override_settings(SECOND_FACTOR_ROLES=("operator",)):
        accounts.set_roles(name="olga", roles=["operator", "buyer"], actor="test")

    assert program.get(STOCK).status_code == 200
