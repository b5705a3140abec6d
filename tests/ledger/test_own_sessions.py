"""People see and end their own sessions. Operators end other people's, by page and command."""

import re
from typing import Any

import psycopg
import pytest
from django.test import Client

from tests.ledger.pages import person
from tests.ledger.staff import (
    ELSEWHERE,
    HERE,
    PASSWORD,
    WRONG,
    audit,
    client,
    is_in,
    log_in,
    people_of,
)
from tests.ledger.test_people import act, command

PHONE = "Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 Chrome/148.0 Mobile Safari/537.36"
__all__ = ["command"]


@pytest.fixture
def staff(ledger: psycopg.Connection):  # as the shared fixture, without sessions of earlier tests
    ledger.execute("DELETE FROM app.django_session")
    yield from people_of(ledger)


@pytest.fixture
def accounts(staff: psycopg.Connection) -> Any:
    from webui.accounts import people  # noqa: PLC0415 -- needs Django set up

    return people


def shown(browser: Client) -> str:
    return str(browser.get("/account/sessions/").content.decode())


def numbers(browser: Client) -> list[str]:
    """Return the numbers of the sessions that the page can end."""
    return re.findall(r'name="end" value="([0-9a-f]{16})"', shown(browser))


def end(browser: Client, which: str, password: str = PASSWORD) -> Any:
    return browser.post("/account/sessions/", {"end": which, "password": password})


def colleague() -> Any:
    """Add Bob, a buyer with the same password. Return the user."""
    from django.contrib.auth.models import User  # noqa: PLC0415 -- needs Django set up

    person("buyer", "bob")
    bob = User.objects.get(username="bob")
    bob.set_password(PASSWORD)
    bob.save()
    return bob


def test_the_page_lists_browser_source_and_last_use(staff: psycopg.Connection) -> None:
    browser, phone = client(HERE), client(ELSEWHERE)
    log_in(browser)
    phone.post("/login/", {"username": "ann", "password": PASSWORD}, headers={"User-Agent": PHONE})
    log_in(client(), "olga")

    page = shown(browser)

    assert page.count("<article") == 2
    assert f"Chrome on Android</h2>\n      <p>From {ELSEWHERE}. Last used 20" in page
    assert page.count("This session</strong>") == 1
    assert str(phone.session.session_key) not in page
    found = staff.execute(
        "SELECT browser, source, used_at > clock_timestamp() - interval '1 minute'"
        " FROM app.django_session WHERE source = %s",
        (ELSEWHERE,),
    ).fetchall()
    assert found == [("Chrome on Android", ELSEWHERE, True)]


def test_a_person_ends_one_session_of_theirs(staff: psycopg.Connection) -> None:
    browser, other, third = client(), client(), client()
    for each in (browser, other, third):
        log_in(each)
    ended = numbers(browser)[-1]

    assert end(browser, ended).status_code == 302

    assert [is_in(each) for each in (browser, other, third)].count(True) == 2
    assert is_in(browser)
    assert ("sessions_ended", "ann") in audit(staff)
    assert end(browser, ended).status_code == 422


def test_a_person_ends_all_other_sessions(staff: psycopg.Connection) -> None:
    browser, other, olga = client(), client(), client()
    log_in(browser)
    log_in(other)
    log_in(olga, "olga")

    assert end(browser, "others").status_code == 302

    assert is_in(browser)
    assert not is_in(other)
    assert olga.get("/account/sessions/").status_code == 302  # logged in, without second factor
    assert "second-factor" in olga.get("/account/sessions/").headers["Location"]


def test_session_is_not_ended_without_the_password_or_by_another_person(
    staff: psycopg.Connection,
) -> None:
    browser, thief, other = client(), client(), client()
    log_in(browser)
    log_in(thief)
    [number] = numbers(thief)

    assert end(thief, number, WRONG).status_code == 422
    assert end(thief, "others", WRONG).status_code == 422
    other.force_login(colleague())
    assert end(other, number).status_code == 422

    assert is_in(browser)
    for _ in range(4):
        end(thief, "others", WRONG)
    assert end(thief, "others").status_code == 429
    assert is_in(browser)


def test_an_operator_ends_the_sessions_of_a_person(
    staff: psycopg.Connection, accounts: Any
) -> None:
    operator = person("operator", "otto")
    browser, other = client(), client()
    log_in(browser)
    log_in(other)
    assert "2 sessions" in operator.get("/people/").content.decode()

    assert act(operator, accounts, "ann", "end-sessions").status_code == 302

    assert not is_in(browser)
    assert not is_in(other)
    assert ("end_sessions", "ann") in audit(staff)
    assert log_in(client()).status_code == 302


def test_the_number_of_sessions_leaves_out_idle_ones_as_the_list_does(
    staff: psycopg.Connection, accounts: Any
) -> None:
    log_in(client(HERE))
    log_in(client(ELSEWHERE))
    staff.execute(
        "UPDATE app.django_session SET used_at = used_at - interval '1 day' WHERE source = %s",
        [ELSEWHERE],
    )

    assert [session.source for session in accounts.sessions_of("ann")] == [HERE]
    assert accounts.person_named("ann").sessions == 1
    page = re.sub(r"\s+", " ", person("operator", "otto").get("/people/").content.decode())
    assert " 1 session " in page
    assert "2 sessions" not in page


def test_a_command_lists_and_ends_sessions(command: Any, staff: psycopg.Connection) -> None:
    browser = client(ELSEWHERE)
    log_in(browser)

    listed = command("sessions", "ann")
    ended = command("end-sessions", "ann")

    assert ELSEWHERE in listed.stdout
    assert "1 session of ann has ended" in ended.stdout
    assert not is_in(browser)
    assert command("sessions", "nobody").exit_code == 1


def test_expired_sessions_are_deleted_at_a_login(staff: psycopg.Connection) -> None:
    log_in(client(ELSEWHERE))
    staff.execute("UPDATE app.django_session SET expire_date = clock_timestamp() - interval '1 s'")

    log_in(client(HERE))

    assert staff.execute("SELECT source FROM app.django_session").fetchall() == [(HERE,)]


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (PHONE, "Chrome on Android"),
        (
            "Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Firefox on Windows",
        ),
        ("Mozilla/5.0 (X11; Linux x86_64) Chrome/148.0 Safari/537.36 Edg/148.0", "Edge on Linux"),
        ("curl/8.20", "curl"),
        ("<script>", "Unknown browser"),
    ],
)
def test_a_browser_has_a_short_name(staff: psycopg.Connection, agent: str, name: str) -> None:
    from webui.accounts.open_sessions import browser_name  # noqa: PLC0415 -- needs Django set up

    assert browser_name(agent) == name
