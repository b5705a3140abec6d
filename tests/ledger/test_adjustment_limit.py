"""The value above which an adjustment needs two people, and the right to set it."""

import re
from typing import Any

import psycopg
import pytest

from ledger import services
from ledger.services import Conflict
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.pages import person


@pytest.fixture(autouse=True)
def limit(ledger: psycopg.Connection) -> None:
    ledger.execute("UPDATE app.setting SET adjustment_limit_minor = 10000, updated_by = NULL")


def in_force(ledger: psycopg.Connection) -> Any:
    return ledger.execute("SELECT adjustment_limit_minor, updated_by FROM app.setting").fetchone()


def test_a_manager_sets_the_limit_on_the_page(ledger: psycopg.Connection) -> None:
    client = person("manager", "max")
    assert "Limit for adjustments: €100.00" in client.get("/counts/waiting/").content.decode()

    answer = client.post("/counts/limit", {"limit": "25.00", "shown_minor": "10000"})

    assert (answer.status_code, answer["Location"]) == (302, "/counts/waiting/")
    assert in_force(ledger) == (2500, "max")
    page = client.get("/counts/waiting/").content.decode()
    assert "Adjustments above €25.00 wait for a second person." in page
    logged = ledger.execute("SELECT actor, detail FROM app.action_log").fetchone()
    assert logged == ("max", {"limit_minor": 2500, "before_minor": 10000})


def test_a_second_change_of_the_limit_gets_a_conflict_with_the_first_value(
    ledger: psycopg.Connection,
) -> None:
    services.set_adjustment_limit(limit_minor=500, actor="ann")

    answer = person("manager", "max").post(
        "/counts/limit", {"limit": "25.00", "shown_minor": "10000"}
    )

    page = answer.content.decode()
    assert answer.status_code == 409
    assert re.search(
        r"ann has set the limit to €5\.00 at 20.* UTC, after this page was loaded", page
    )
    assert re.search(r'name="limit" [^>]* value="25\.00"', page)
    assert 'name="shown_minor" value="500"' in page
    assert in_force(ledger) == (500, "ann")


def test_the_conflict_names_who_set_the_limit_and_not_who_used_the_kill_switch() -> None:
    services.set_adjustment_limit(limit_minor=500, actor="ann")
    services.set_price_kill_switch(is_on=False, actor="pat")

    with pytest.raises(Conflict, match=r"ann has set the limit to €5\.00 at 20"):
        services.set_adjustment_limit(limit_minor=2500, actor="max", shown_minor=10000)


def test_one_of_two_simultaneous_changes_of_the_limit_gets_a_conflict() -> None:
    outcomes = at_the_same_time(
        *(
            lambda to=to: services.set_adjustment_limit(
                limit_minor=to, actor="ann", shown_minor=10000
            )
            for to in (1, 2)
        )
    )

    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"limit": "-1", "shown_minor": "10000"},
        {"limit": "1000000000.01", "shown_minor": "10000"},
        {"limit": "5", "shown_minor": ""},
        {"limit": "", "shown_minor": "10000"},
    ],
)
def test_an_invalid_adjustment_limit_is_refused(
    ledger: psycopg.Connection, fields: dict[str, str]
) -> None:
    answer = person("manager").post("/counts/limit", fields)

    assert answer.status_code == 422
    assert in_force(ledger) == (10000, None)


def test_roles_other_than_manager_cannot_set_the_adjustment_limit(
    ledger: psycopg.Connection,
) -> None:
    for role in ("associate", "buyer", "lead", "pricing", "operator"):
        answer = person(role).post("/counts/limit", {"limit": "1", "shown_minor": "10000"})
        assert answer.status_code == 403, role
    assert in_force(ledger) == (10000, None)


def test_a_manager_of_some_stores_reads_the_limit_and_gets_no_form() -> None:
    page = person("manager", "mia", stores=("L",)).get("/counts/waiting/").content.decode()

    assert "/counts/limit" not in page
    assert "An adjustment of more than €100.00 waits here for a second person." in page
