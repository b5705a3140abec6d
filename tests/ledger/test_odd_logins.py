"""Logins with odd input: other spellings of a name, cookies without a session, stale steps."""

import time
from importlib import import_module

import pytest

from tests.ledger.staff import WRONG, audit, client, is_in, log_in
from tests.ledger.test_logins import enrolled


@pytest.mark.parametrize("spelling", [" " * 6 + "ann", "ann ", "\uff41nn", "\tann\n"])
def test_every_spelling_of_a_name_has_the_counters_of_its_account(staff, spelling: str) -> None:
    guesser = client()
    for _ in range(5):
        log_in(guesser, name=spelling, password=WRONG)

    assert log_in(guesser).status_code == 429
    assert log_in(guesser, name=spelling).status_code == 429
    assert ("login_failed", "ann") in audit(staff)


@pytest.mark.parametrize("cookie", ['"aaaaaaaaaaaa\\000"', "a" * 31 + "\u00e9", "a-a-a-a-a"])
def test_malformed_session_cookie_counts_as_logged_out(staff, cookie: str) -> None:
    # A backslash and three digits in quotes stand for a character, here for a zero.
    browser, header = client(), f"sessionid={cookie}"

    assert browser.get("/tasks/", HTTP_COOKIE=header).status_code == 302
    assert browser.get("/login/", HTTP_COOKIE=header).status_code == 200
    assert browser.get("/live/stream", HTTP_COOKIE=header).status_code == 401


def test_the_page_that_sets_up_a_second_factor_changes_its_language(staff) -> None:
    browser, page = client(), "/account/second-factor/"
    log_in(browser, "olga")
    assert 'action="/language/"' in browser.get(page).content.decode()

    answer = browser.post("/language/", {"language": "de", "next": page})

    assert (answer.status_code, answer.headers["Location"]) == (302, page)
    assert '<html lang="de"' in browser.get(page).content.decode()


def test_login_page_redirects_a_logged_in_person_to_home(staff) -> None:
    browser = client()
    log_in(browser)

    assert browser.get("/login/?next=/login/").headers["Location"] == "/home/"


def test_a_new_password_ends_a_login_between_its_two_steps(staff) -> None:
    _, codes = enrolled(client())
    thief = client()
    log_in(thief, "olga")
    accounts = import_module("webui.accounts.people")
    accounts.set_password(name="olga", password=WRONG, actor="max")

    answer = thief.post("/login/code/", {"code": codes[0]})

    assert answer.headers["Location"] == "/login/"
    assert not is_in(thief)


@pytest.mark.parametrize(("headers", "is_use"), [({}, True), ({"X-Poll": "1"}, False)])
def test_a_poll_of_an_open_page_does_not_extend_its_session(
    staff, headers: dict[str, str], *, is_use: bool
) -> None:
    browser = client()
    log_in(browser)
    session = browser.session
    before = session["active_at"] = time.time() - 29 * 60
    session.save()

    assert browser.get("/tasks/version", headers=headers).status_code == 200
    assert browser.get("/home/", headers=headers).status_code == 200

    assert (browser.session["active_at"] > before) is is_use


def test_scripts_send_the_header_of_polls() -> None:
    folder = import_module("webui.config.settings").BASE_DIR / "static/js"
    scripts = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.js")}

    assert '"X-Poll"' in scripts["swap"]
    # A poll fetches the address of the page itself, or the version of its list.
    for name in ("desk", "history", "needs"):
        polls = [line for line in scripts[name].splitlines() if "swap(location.href" in line]
        assert polls
        assert all(", POLL)" in line for line in polls)
    assert "headers: POLL" in scripts["desk"]
