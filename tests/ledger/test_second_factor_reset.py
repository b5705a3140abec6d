"""Only operators reset the second factor of others, on the page of people."""

import time
from typing import Any

import psycopg
import pytest
from django.test import Client, override_settings

from tests.ledger.pages import logged_in, person
from tests.ledger.staff import audit, client, is_in, log_in, people_of
from tests.ledger.test_logins import enrolled

RESET = "reset-second-factor"


@pytest.fixture
def staff(ledger: psycopg.Connection):  # as the shared fixture, without sessions of earlier tests
    ledger.execute("DELETE FROM app.django_session")
    yield from people_of(ledger)


@pytest.fixture
def accounts(staff: psycopg.Connection) -> Any:
    from webui.accounts import people  # noqa: PLC0415 -- needs Django set up

    return people


def form_of(accounts: Any, name: str) -> dict[str, str]:
    """Return the fields of the page's form that resets a person's second factor."""
    shown = accounts.person_named(name)
    return {
        "person": name,
        "action": RESET,
        "shown_version": shown.version,
        "shown_factor": shown.second_factor_mark,
    }


def reset(browser: Client, form: dict[str, str]) -> int:
    return int(browser.post("/people/act", form).status_code)


def factors(ledger: psycopg.Connection) -> list[str]:
    found = ledger.execute(
        "SELECT username FROM app.second_factor JOIN app.auth_user ON id = user_id ORDER BY 1"
    ).fetchall()
    return [name for (name,) in found]


def test_a_person_whose_factor_was_reset_must_enrol_again_at_the_next_login(
    staff: psycopg.Connection, accounts: Any
) -> None:
    operator, browser = person("operator", "otto"), client()
    totp, codes = enrolled(browser, "olga")
    page = operator.get("/people/").content.decode()
    assert f'name="shown_factor" value="{form_of(accounts, "olga")["shown_factor"]}"' in page

    assert reset(operator, form_of(accounts, "olga")) == 302

    assert factors(staff) == []
    assert not is_in(browser)
    entry = staff.execute(
        "SELECT actor, subject, detail FROM app.action_log WHERE action = 'reset_second_factor'"
    ).fetchall()
    assert entry == [("otto", "olga", {"removed": True, "sessions": 1, "tokens": 0})]
    again = client()
    assert log_in(again, "olga").headers["Location"] != "/login/code/"
    assert again.get("/system/").headers["Location"] == "/account/second-factor/"
    former = {totp.at(int(time.time()) + 30), codes[0]}
    assert [again.post("/login/code/", {"code": code}).status_code for code in former] == [403] * 2
    assert again.get("/system/").headers["Location"] == "/account/second-factor/"
    assert enrolled(client(), "olga")[0].secret != totp.secret
    assert factors(staff) == ["olga"]


@pytest.mark.parametrize(
    ("role", "stores"),
    [
        ("manager", ()),
        ("manager", ("MINE-1",)),
        ("operator", ("MINE-1",)),
        ("lead", ()),
        ("associate", ("MINE-1",)),
    ],
)
def test_only_an_operator_of_all_stores_resets_a_factor(
    staff: psycopg.Connection, accounts: Any, role: str, stores: tuple[str, ...]
) -> None:
    person("associate", "ann", stores=("MINE-1",))
    enrolled(client(), "ann")
    keeper = person(role, "kim", stores=stores)

    assert reset(keeper, form_of(accounts, "ann")) == 403

    assert factors(staff) == ["ann"]
    assert ("reset_second_factor", "ann") not in audit(staff)
    assert "Reset second factor" not in keeper.get("/people/").content.decode()


def test_a_person_cannot_reset_their_own_factor_or_one_outside_their_stores(
    staff: psycopg.Connection, accounts: Any
) -> None:
    operator = person("operator", "olga")
    enrolled(client(), "olga")
    manager = person("manager", "mia", stores=("THEIRS-1",))
    person("associate", "ann", stores=("MINE-1",))
    enrolled(client(), "ann")

    assert reset(operator, form_of(accounts, "olga")) == 403
    assert reset(manager, form_of(accounts, "ann")) == 403

    assert factors(staff) == ["ann", "olga"]


def test_a_stale_page_resets_neither_a_newer_factor_nor_a_removed_one(
    staff: psycopg.Connection, accounts: Any
) -> None:
    operator = person("operator", "otto")
    enrolled(client(), "ann")
    old = form_of(accounts, "ann")
    assert reset(operator, old) == 302

    assert reset(operator, old) == 409
    enrolled(client(), "ann")
    assert reset(operator, old) == 409

    assert factors(staff) == ["ann"]
    assert reset(operator, old | {"shown_factor": ""}) == 409


def test_a_factor_that_cannot_be_decrypted_can_be_reset(
    staff: psycopg.Connection, accounts: Any
) -> None:
    enrolled(client(), "ann")
    person("operator", "otto")
    with override_settings(SECRET_KEY="another key of this server, set later"):  # noqa: S106 -- of this test
        operator = logged_in(accounts.User.objects.get(username="otto"))
        assert "reset it" in operator.get("/people/").content.decode()

        assert reset(operator, form_of(accounts, "ann")) == 302

    assert factors(staff) == []
