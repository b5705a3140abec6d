"""People with logins, for tests of logins and passwords."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import psycopg
from django.test import Client, override_settings

PASSWORD = "correct horse battery"  # noqa: S105 -- of these people
WRONG = PASSWORD[::-1]
HERE, ELSEWHERE = "192.0.2.1", "192.0.2.2"


def people_of(ledger: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """Add two people without failed logins: Ann, an associate, and Olga, an operator."""
    people = import_module("ledger.people")
    # Argon2 is slow on purpose. On a busy machine, logins would last longer than a limit's period.
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield from _staff(ledger, people)


def _staff(ledger: psycopg.Connection, people: Any) -> Iterator[psycopg.Connection]:
    groups = people.create_roles()
    ledger.execute("DELETE FROM app.login_count; DELETE FROM app.second_factor")
    ledger.execute("DELETE FROM app.refusal")
    for name, role in (("ann", "associate"), ("olga", "operator")):
        user, _ = people.User.objects.get_or_create(username=name)
        user.set_password(PASSWORD)
        user.is_active = True
        user.save()
        user.groups.set([groups[role]])
    yield ledger
    ledger.execute("DELETE FROM app.login_count; DELETE FROM app.second_factor")


def client(source: str = HERE) -> Client:
    return Client(SERVER_NAME="localhost", REMOTE_ADDR=source)


def log_in(browser: Client, name: str = "ann", password: str = PASSWORD) -> Any:
    return browser.post("/login/", {"username": name, "password": password})


def is_in(browser: Client) -> bool:
    return browser.get("/tasks/").status_code == 200


def audit(ledger: psycopg.Connection) -> list[tuple[str, str]]:
    return ledger.execute("SELECT action, subject FROM app.action_log ORDER BY id").fetchall()
