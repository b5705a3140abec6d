"""Changes of one's own password, and refusals of weak ones."""

import re
from importlib import import_module
from typing import Any

import psycopg
import pytest
from django.test import Client

from tests.ledger.staff import PASSWORD, WRONG, audit, client, is_in, log_in


def test_a_changed_password_ends_the_other_sessions_of_this_person(staff) -> None:
    browser, other = client(), client()
    log_in(browser)
    log_in(other)

    changed = change(browser, PASSWORD, "four words none knows")

    assert changed.headers["Location"] == "/account/password/changed/"
    assert is_in(browser)
    assert not is_in(other)
    assert ("password_changed", "ann") in audit(staff)
    assert log_in(client()).status_code == 200
    assert log_in(client(), password="four words none knows").status_code == 302  # noqa: S106 -- of this test


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (WRONG, "four words none knows"),
        (PASSWORD, "short-one"),
        (PASSWORD, "k7Qx2Lp9VwZ"),
        (PASSWORD, "password1234"),
        (PASSWORD, "Sunshine2026!!"),
        (PASSWORD, "dragondragon12"),
        (PASSWORD, "princess-sunshine"),
        (PASSWORD, "k7Qk7Qk7Qk7Q"),
        (PASSWORD, "ExampleRetailInventory"),
        (PASSWORD, "ann-associate-ann"),
    ],
    ids=[
        *(
            "wrong present one",
            "short",
            "11 characters",
            "common",
            "decorated",
            "repeated",
            "two common ones",
        ),
        *("a pattern", "of the company", "of the person"),
    ],
)
def test_a_password_is_kept_when_the_old_one_is_wrong_or_the_new_one_is_weak(
    staff, old: str, new: str
) -> None:
    browser = client()
    log_in(browser)

    refused = change(browser, old, new)

    assert refused.status_code == 422
    assert b"Nothing was changed" in refused.content
    assert log_in(client()).status_code == 302


def test_no_password_expires(staff) -> None:
    staff.execute(
        "UPDATE app.auth_user SET date_joined = '2001-01-01', last_login = '2001-01-01'"
        " WHERE username = 'ann'"
    )

    assert log_in(client()).status_code == 302


def test_long_unicode_password_is_stored_without_stripping_spaces(staff) -> None:
    browser = client()
    log_in(browser)
    long = "  ÄÖ 中文 \U0001f511 " + "x" * 80 + " "

    assert change(browser, PASSWORD, long).status_code == 302
    assert log_in(client(), password=long).status_code == 302
    assert log_in(client(), password=long.strip()).status_code == 200


def test_the_present_password_cannot_be_guessed_in_an_open_session(staff) -> None:
    browser = client()
    log_in(browser)
    for _ in range(5):
        change(browser, WRONG, "four words none knows")

    assert change(browser, PASSWORD, "four words none knows").status_code == 429


def test_refused_new_password_does_not_count_as_a_wrong_old_one(staff) -> None:
    browser = client()
    log_in(browser)
    for _ in range(6):
        assert change(browser, PASSWORD, "short").status_code == 422

    assert change(browser, PASSWORD, "four words none knows").status_code == 302


def change(browser: Client, old: str, new: str) -> Any:
    fields = {"old_password": old, "new_password1": new, "new_password2": new}
    return browser.post("/account/password/", fields)


def test_password_fields_are_masked_and_allow_autocomplete(staff) -> None:
    browser = client()
    login = browser.get("/login/").content.decode()
    log_in(browser)
    fields = re.findall(r"<input[^>]*password[^>]*>", login)
    fields += re.findall(
        r"<input[^>]*password\d?\"[^>]*>", browser.get("/account/password/").content.decode()
    )

    assert len(fields) == 4
    for field in fields:
        assert 'type="password"' in field
        assert re.search(r'autocomplete="(current|new)-password"', field)
        assert "onpaste" not in field


def test_passwords_are_kept_with_argon2(ledger: psycopg.Connection) -> None:
    people = import_module("ledger.people")
    user = people.User(username="kept")
    user.set_password(PASSWORD)

    assert user.password.startswith("argon2$argon2id$")
