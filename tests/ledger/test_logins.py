"""Logins: limits by account and source, second factor, sessions that end, and their audit."""

import json
import re
import time
from datetime import timedelta
from importlib import import_module

import pyotp
import pytest
from django.test import Client

from tests.ledger.pages import person
from tests.ledger.staff import ELSEWHERE, HERE, PASSWORD, WRONG, audit, client, is_in, log_in


def enrolled(browser: Client, name: str = "olga") -> tuple[pyotp.TOTP, list[str]]:
    """Log in and set up an authenticator. Return its code generator and recovery codes."""
    log_in(browser, name)
    totp = pyotp.TOTP(offered_secret(browser))
    done = browser.post("/account/second-factor/", {"action": "enrol", "code": totp.now()})
    return totp, re.findall(r"<code>([0-9a-f-]{19})</code>", done.content.decode())


def offered_secret(browser: Client) -> str:
    """Return the secret that the page shows for typing."""
    page = browser.get("/account/second-factor/").content.decode()
    [shown] = re.findall(r"<code>([A-Z2-7 ]+)</code>", page)
    return str(shown).replace(" ", "")


def test_five_wrong_passwords_block_their_source_and_not_the_owner_elsewhere(staff) -> None:
    guesser, owner = client(HERE), client(ELSEWHERE)
    codes = [log_in(guesser, password=WRONG).status_code for _ in range(5)]

    assert codes == [200] * 5
    assert log_in(guesser).status_code == 429
    assert int(log_in(guesser)["Retry-After"]) > 0
    assert log_in(owner).status_code == 302


def test_a_browser_that_logged_in_before_gets_in_while_its_own_network_is_blocked(staff) -> None:
    known, guesser = client(HERE), client(HERE)
    log_in(known)
    known.post("/logout/")
    for _ in range(6):
        log_in(guesser, password=WRONG)

    assert log_in(guesser).status_code == 429
    assert log_in(known).status_code == 302


def test_successful_login_resets_the_count_of_wrong_passwords(staff) -> None:
    browser = client()
    for _ in range(3):
        for _ in range(4):
            log_in(browser, password=WRONG)
        assert log_in(browser).status_code == 302
        browser.post("/logout/")


def test_a_source_that_guesses_many_names_is_blocked_for_all_of_them(staff) -> None:
    attempts = import_module("webui.accounts.attempts")
    for number in range(30):
        attempts.begin(f"name-{number}", source=HERE, device=None)

    assert log_in(client(HERE)).status_code == 429
    assert log_in(client(ELSEWHERE)).status_code == 302


def test_login_counters_and_logs_contain_no_typed_name(staff) -> None:
    log_in(client(), name="my secret password", password=WRONG)

    shown = staff.execute("SELECT key FROM app.login_count").fetchall()
    assert len(shown) == 3
    assert "secret" not in json.dumps(shown)
    assert audit(staff) == []
    found = staff.execute("SELECT account, reason, address FROM app.refusal").fetchall()
    assert found == [("unknown account", "wrong name or password", "login failed")]


def test_x_forwarded_for_header_does_not_change_the_login_source(staff) -> None:
    for number in range(6):
        client().post(
            "/login/",
            {"username": "ann", "password": "wrong"},
            headers={"X-Forwarded-For": f"198.51.100.{number}"},
        )

    assert log_in(client()).status_code == 429


def test_login_block_is_audited_once(staff) -> None:
    for _ in range(9):
        log_in(client(), password=WRONG)

    assert audit(staff) == [*[("login_failed", "ann")] * 5, ("login_blocked", "ann")]


def test_login_and_logout_are_audited_with_their_source(staff) -> None:
    browser = client()
    log_in(browser)
    browser.post("/logout/")

    assert audit(staff) == [("login", "ann"), ("logout", "ann")]
    detail = staff.execute("SELECT detail FROM app.action_log ORDER BY id LIMIT 1").fetchone()
    assert detail == ({"source": HERE, "second_factor": None},)


@pytest.mark.parametrize(
    ("target", "login"),
    [
        ("/tasks/?for=all", "/login/?next=%2Ftasks%2F%3Ffor%3Dall"),
        ("", "/login/"),
        ("https://example.org/", "/login/"),
        ("//example.org/", "/login/"),
        ("/" + "x" * 2_000, "/login/"),
    ],
)
def test_logout_keeps_only_a_local_page_as_the_target_of_the_next_login(
    staff, target: str, login: str
) -> None:
    browser = client()
    log_in(browser)

    assert browser.post("/logout/", {"next": target})["Location"] == login
    assert browser.get("/tasks/").status_code == 302


def test_a_powerful_role_sees_nothing_before_it_has_a_second_factor(staff) -> None:
    browser = client()
    log_in(browser, "olga")

    assert browser.get("/system/").headers["Location"] == "/account/second-factor/"
    refused = browser.post("/prices/stop", {"stop": "on"})
    assert refused.status_code == 403
    assert b"Nothing was changed" in refused.content


def test_after_enrolment_the_password_alone_opens_nothing(staff) -> None:
    totp, codes = enrolled(client())
    browser = client()

    step = log_in(browser, "olga")

    assert step.headers["Location"] == "/login/code/"
    assert not is_in(browser)
    assert browser.post("/login/code/", {"code": "000000"}).status_code == 422
    later = totp.at(int(time.time()) + 30)
    assert browser.post("/login/code/", {"code": later}).headers["Location"] == "/home/"
    assert is_in(browser)
    assert len(codes) == 10


def test_authenticator_code_works_once(staff) -> None:
    totp, _ = enrolled(client())
    code = totp.at(int(time.time()) + 30)
    first, second = client(), client()
    log_in(first, "olga")
    log_in(second, "olga")

    assert first.post("/login/code/", {"code": code}).status_code == 302
    assert second.post("/login/code/", {"code": code}).status_code == 422


def test_a_recovery_code_works_once(staff) -> None:
    _, codes = enrolled(client())
    first, second = client(), client()
    log_in(first, "olga")
    log_in(second, "olga")

    assert first.post("/login/code/", {"code": codes[0].upper()}).status_code == 302
    assert second.post("/login/code/", {"code": codes[0]}).status_code == 422


@pytest.mark.parametrize("code", ["²", "\N{FULLWIDTH DIGIT ONE}23456", "", " "])
def test_malformed_authenticator_code_is_refused(staff, code: str) -> None:
    browser = client()
    log_in(browser, "olga")
    offered_secret(browser)

    enrolment = browser.post("/account/second-factor/", {"action": "enrol", "code": code})
    enrolled(client())
    log_in(second := client(), "olga")

    assert enrolment.status_code == 422
    assert second.post("/login/code/", {"code": code}).status_code == 422


def test_five_wrong_authenticator_codes_block_a_correct_one(staff) -> None:
    totp, _ = enrolled(client())
    browser = client()
    log_in(browser, "olga")
    for _ in range(5):
        browser.post("/login/code/", {"code": "not it"})

    blocked = browser.post("/login/code/", {"code": totp.at(int(time.time()) + 30)})

    assert blocked.status_code == 429
    assert not is_in(browser)


def test_an_enrolled_authenticator_is_not_replaced_by_a_session_without_it(staff) -> None:
    browser = person("associate", "ann")
    totp = pyotp.TOTP(offered_secret(browser))
    enrolled(client(), "ann")
    before = staff.execute("SELECT secret FROM app.second_factor").fetchall()
    session = browser.session
    del session["second_factor_at"]
    session.save()

    browser.post("/account/second-factor/", {"action": "enrol", "code": totp.now()})

    assert staff.execute("SELECT secret FROM app.second_factor").fetchall() == before


def test_only_less_powerful_roles_can_remove_their_second_factor(staff) -> None:
    powerful, other = client(), client()
    enrolled(powerful, "olga")
    _, codes = enrolled(other, "ann")

    powerful.post("/account/second-factor/", {"action": "remove", "code": codes[0]})
    other.post("/account/second-factor/", {"action": "remove", "code": codes[0]})

    left = staff.execute(
        "SELECT username FROM app.second_factor JOIN app.auth_user ON id = user_id"
    ).fetchall()
    assert left == [("olga",)]


@pytest.mark.parametrize(
    ("mark", "age", "reason"),
    [
        ("active_at", timedelta(minutes=31), "idle"),
        ("began_at", timedelta(hours=13), "long"),
        ("active_at", timedelta(minutes=29), None),
        ("began_at", timedelta(hours=11), None),
    ],
)
def test_a_session_ends_after_idle_minutes_and_after_its_longest_time(
    staff, mark: str, age: timedelta, reason: str | None
) -> None:
    browser = client()
    log_in(browser)
    session = browser.session
    session[mark] = time.time() - age.total_seconds()
    session.save()

    answer = browser.get("/tasks/?drawer=mine")

    if reason is None:
        assert answer.status_code == 200
    else:
        assert answer.headers["Location"] == (
            f"/login/?next=%2Ftasks%2F%3Fdrawer%3Dmine&ended={reason}"
        )
        assert not is_in(browser)
        assert ("session_ended", "ann") in audit(staff)


def test_login_does_not_redirect_to_another_site(staff) -> None:
    browser = client()
    answer = browser.post(
        "/login/", {"username": "ann", "password": PASSWORD, "next": "https://evil.example/"}
    )

    assert answer.headers["Location"] == "/home/"


@pytest.mark.parametrize(
    ("asked", "opened"), [("/", "/home/"), ("/?q=mug", "/?q=mug"), ("/tasks/", "/tasks/")]
)
def test_login_redirects_the_root_url_to_home_and_other_urls_back(
    staff, asked: str, opened: str
) -> None:
    browser = client()
    login = browser.get(asked)["Location"]

    answer = browser.post(login, {"username": "ann", "password": PASSWORD, "next": asked})

    assert answer.headers["Location"] == opened


def test_each_login_gets_a_new_session_id(staff) -> None:
    browser = client()
    browser.get("/login/")
    tokens = set()
    for _ in range(3):
        log_in(browser)
        tokens.add(browser.cookies["sessionid"].value)
        browser.post("/logout/")

    assert len(tokens) == 3
    assert all(len(token) >= 32 for token in tokens)


def test_session_id_changes_at_each_step_of_a_login(staff) -> None:
    browser, tokens = client(), []

    def note() -> None:
        tokens.append(browser.cookies["sessionid"].value)

    log_in(browser, "olga")
    note()
    totp = pyotp.TOTP(offered_secret(browser))
    browser.post("/account/second-factor/", {"action": "enrol", "code": totp.now()})
    note()
    browser.post("/logout/")
    log_in(browser, "olga")
    note()
    thief = client()
    thief.cookies["sessionid"] = tokens[-1]
    browser.post("/login/code/", {"code": totp.at(int(time.time()) + 30)})
    note()

    assert len(set(tokens)) == 4
    assert is_in(browser)
    assert not is_in(thief)


def test_the_second_step_is_open_for_five_minutes(staff) -> None:
    totp, _ = enrolled(client())
    browser = client()
    log_in(browser, "olga")
    session = browser.session
    session["pending_login"] = session["pending_login"] | {"at": time.time() - 301}
    session.save()

    answer = browser.post("/login/code/", {"code": totp.at(int(time.time()) + 30)})

    assert answer.headers["Location"] == "/login/"
    assert not is_in(browser)


def test_second_factor_and_password_changes_are_audited(staff) -> None:
    browser = client()
    _, codes = enrolled(browser, "ann")
    browser.post("/account/second-factor/", {"action": "remove", "code": "0"})
    browser.post("/account/second-factor/", {"action": "remove", "code": codes[0]})
    new = {"new_password1": "four words none knows", "new_password2": "four words none knows"}
    browser.post("/account/password/", {"old_password": PASSWORD, **new})

    assert audit(staff) == [
        ("login", "ann"),
        ("second_factor_set", "ann"),
        ("second_factor_failed", "ann"),
        ("second_factor_removed", "ann"),
        ("password_changed", "ann"),
    ]


def test_session_id_is_invalid_after_logout(staff) -> None:
    browser, thief = client(), client()
    log_in(browser)
    thief.cookies["sessionid"] = browser.cookies["sessionid"].value
    assert is_in(thief)

    browser.post("/logout/")

    assert not is_in(thief)


def test_recovery_codes_are_kept_as_hashes(staff) -> None:
    _, codes = enrolled(client())

    kept = staff.execute("SELECT recovery::text FROM app.second_factor").fetchone()
    assert len(set(codes)) == 10
    assert all(re.fullmatch(r"[0-9a-f]{4}(-[0-9a-f]{4}){3}", code) for code in codes)  # 64 bits
    assert not any(code in kept[0] or code.replace("-", "") in kept[0] for code in codes)


@pytest.mark.parametrize("seconds", [-120, 120])
def test_a_code_of_another_time_is_refused(staff, seconds: int) -> None:
    totp, _ = enrolled(client())
    browser = client()
    log_in(browser, "olga")

    code = totp.at(int(time.time()) + seconds)

    assert browser.post("/login/code/", {"code": code}).status_code == 422
