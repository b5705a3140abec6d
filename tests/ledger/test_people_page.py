"""The page of people: a search, a limit, and the state of each account in words."""

import re
from typing import Any

import psycopg
import pytest
from django.test import Client

from tests.ledger.pages import person
from tests.ledger.test_people import accounts, add, put_place

__all__ = ["accounts"]


def named(browser: Client, query: str = "") -> list[str]:
    page = browser.get(f"/people/{query}").content.decode()
    return re.findall(r'<article class="card" id="person-\d+" aria-label="([^"]+)"', page)


@pytest.fixture
def staffed(accounts: Any, ledger: psycopg.Connection) -> Client:
    """An operator with three people of two stores."""
    person("associate", "nora", stores=("MINE-1",))
    person("manager", "mia", stores=("MINE-1",))
    person("buyer", "olaf", stores=("THEIRS-1",))
    return person("operator", "otto")


def test_people_are_found_by_name_role_and_store(staffed: Client) -> None:
    everybody = named(staffed)

    assert {"nora", "mia", "olaf"} <= {*everybody}
    assert "otto" not in everybody
    assert named(staffed, "?q=NORA") == ["nora"]
    assert "mia" in named(staffed, "?q=manager")
    assert {*named(staffed, "?q=MINE-1")} & {"nora", "mia", "olaf"} == {"nora", "mia"}
    assert "No account fits this search" in staffed.get("/people/?q=x9").content.decode()


def test_a_search_finds_nobody_of_another_store(staffed: Client) -> None:
    manager = person("manager", "mia", stores=("MINE-1",))

    assert named(manager, "?q=nora") == ["nora"]
    assert named(manager, "?q=olaf") == named(manager, "?q=THEIRS-1") == []


def test_people_page_shows_the_total_above_its_limited_list(
    staffed: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webui.desks.people.views.MOST_SHOWN", 2)

    page = staffed.get("/people/").content.decode()

    assert len(named(staffed)) == 2
    assert re.search(r"\d+ people, the first 2 are shown: search for a name", page)


def test_people_page_marks_an_account_without_a_password(
    staffed: Client, ledger: psycopg.Connection
) -> None:
    put_place(ledger, "MINE-2")
    add(staffed, "nils", stores=["MINE-2"])
    assert "invited until" in staffed.get("/people/?q=nils").content.decode()

    ledger.execute("DELETE FROM app.invitation")

    page = staffed.get("/people/?q=nils").content.decode()
    assert "no password</span>" in page
    assert "no second factor" in page
    assert "Reset second factor" not in page


@pytest.mark.parametrize(
    ("typed", "missing"),
    [({"stores": "MINE-1"}, "Roles"), ({"roles": "associate"}, "Stores")],
)
def test_a_manager_who_picks_no_role_or_store_keeps_the_input(
    staffed: Client, typed: dict[str, str], missing: str
) -> None:
    manager = person("manager", "mia", stores=("MINE-1",))

    answer = manager.post("/people/add", {"person": "newcomer", **typed})

    page = answer.content.decode()
    assert answer.status_code == 422
    assert f"{missing}: choose at least one." in page
    assert 'autocapitalize="none" value="newcomer"' in page
    [(name, value)] = typed.items()
    assert page.count(f'name="{name}" value="{value}" checked') >= 1
    assert "newcomer" not in named(manager)


@pytest.mark.parametrize(
    "name", ["<b>x</b>", "two words", "a|b", "a+b", "line\nbreak", "\ufb01ona", "\uff41nn", "m²"]
)
def test_a_name_has_letters_digits_and_four_signs_only(staffed: Client, name: str) -> None:
    manager = person("manager", "mia", stores=("MINE-1",))
    form = {"roles": "associate", "stores": "MINE-1"}

    refused = manager.post("/people/add", {"person": name, **form})

    assert refused.status_code == 422
    assert "Person: letters, digits and . - _ @ only" in refused.content.decode()
    assert manager.post("/people/add", {"person": "jörg.o-b_1@x", **form}).status_code == 200
    assert "jörg.o-b_1@x" in named(manager)


def test_a_refused_name_stays_in_the_open_form(staffed: Client) -> None:
    manager = person("manager", "mia", stores=("MINE-1",))

    page = manager.post(
        "/people/add", {"person": "olaf", "roles": "associate", "stores": "MINE-1"}
    ).content.decode()

    assert "olaf has an account already" in page
    assert '<details class="more" open><summary>Add a person' in page
    assert 'autocapitalize="none" value="olaf"' in page
