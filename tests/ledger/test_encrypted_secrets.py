"""Authenticator secrets are encrypted. After a change of the key, a command removes a secret."""

import time
from importlib import import_module
from typing import Any

import psycopg
import pyotp
import pytest
from django.test import override_settings

from tests.ledger.staff import audit, client, is_in, log_in
from tests.ledger.test_logins import enrolled, offered_secret

OTHER_KEY = override_settings(SECRET_KEY="another key of this server, set later")  # noqa: S106 -- of this test


def stored(ledger: psycopg.Connection) -> dict[str, str]:
    found = ledger.execute(
        "SELECT username, secret FROM app.second_factor JOIN app.auth_user ON id = user_id"
    ).fetchall()
    return dict(found)


def id_of(ledger: psycopg.Connection, name: str) -> int:
    found = ledger.execute("SELECT id FROM app.auth_user WHERE username = %s", (name,)).fetchone()
    assert found is not None
    return int(found[0])


def put_plain(ledger: psycopg.Connection, user_id: int, secret: str) -> None:
    """Write a secret without encryption, as old releases stored it."""
    rule = ledger.execute(
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'second_factor_sealed'"
    ).fetchone()
    assert rule is not None
    ledger.execute("ALTER TABLE app.second_factor DROP CONSTRAINT second_factor_sealed")
    ledger.execute(
        "INSERT INTO app.second_factor (user_id, secret) VALUES (%s, %s)", (user_id, secret)
    )
    ledger.execute(f"ALTER TABLE app.second_factor ADD CONSTRAINT second_factor_sealed {rule[0]}")


def later_code(secret: str) -> str:
    return str(pyotp.TOTP(secret).at(int(time.time()) + 30))


def test_no_table_contains_an_authenticator_secret_in_clear_text(staff: psycopg.Connection) -> None:
    browser = client()
    totp, _ = enrolled(browser)
    offered = offered_secret(browser)

    sessions = staff.execute("SELECT session_data FROM app.django_session").fetchall()
    decoded = [type(browser.session)().decode(text) for (text,) in sessions]
    assert totp.secret not in str(stored(staff))
    assert totp.secret not in str(decoded)
    assert offered not in str(decoded)


def test_an_encrypted_secret_copied_to_another_account_does_not_work(
    staff: psycopg.Connection,
) -> None:
    totp, _ = enrolled(client(), "ann")
    enrolled(client(), "olga")
    staff.execute(
        "UPDATE app.second_factor SET last_step = 0, secret ="
        " (SELECT secret FROM app.second_factor WHERE user_id = %s) WHERE user_id = %s",
        (id_of(staff, "ann"), id_of(staff, "olga")),
    )
    browser = client()
    log_in(browser, "olga")

    assert browser.post("/login/code/", {"code": totp.now()}).status_code == 409
    assert not is_in(browser)


def test_a_login_after_a_key_change_shows_the_reset_second_factor_command(
    staff: psycopg.Connection,
) -> None:
    accounts = import_module("webui.accounts.people")
    totp, _ = enrolled(client(), "ann")
    with OTHER_KEY:
        browser = client()
        log_in(browser)

        answer = browser.post("/login/code/", {"code": later_code(totp.secret)})

        assert answer.status_code == 409
        assert "inventory people reset-second-factor ann" in answer.content.decode()
        assert not is_in(browser)
        assert ("second_factor_unreadable", "ann") in audit(staff)
        assert accounts.person_named("ann").second_factor == "unreadable"
        assert accounts.reset_second_factor(name="ann", actor="test")
        assert log_in(client()).headers["Location"] == "/home/"
    assert accounts.person_named("ann").second_factor == "none"


def test_clear_text_secrets_of_earlier_releases_are_encrypted_and_still_work(
    staff: psycopg.Connection,
) -> None:
    factors = import_module("webui.accounts.second_factor")
    secrets = {name: pyotp.random_base32() for name in ("ann", "olga")}
    put_plain(staff, id_of(staff, "ann"), secrets["ann"])
    at_login = client()
    log_in(at_login)
    assert at_login.post("/login/code/", {"code": later_code(secrets["ann"])}).status_code == 302
    put_plain(staff, id_of(staff, "olga"), secrets["olga"])

    assert (factors.encrypt_stored(), factors.encrypt_stored()) == (1, 0)

    assert not {*stored(staff).values()} & {*secrets.values()}
    browser = client()
    log_in(browser, "olga")
    assert browser.post("/login/code/", {"code": later_code(secrets["olga"])}).status_code == 302


def test_postgres_refuses_a_secret_in_clear_text(staff: psycopg.Connection) -> None:
    enrolled(client(), "ann")

    with pytest.raises(psycopg.errors.CheckViolation):
        staff.execute("UPDATE app.second_factor SET secret = %s", (pyotp.random_base32(),))


def test_the_server_encrypts_secrets_at_start_only_if_a_secret_key_is_set(
    staff: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: Any = import_module("django.conf").settings
    server = import_module("webui.__main__")
    put_plain(staff, id_of(staff, "ann"), "JBSWY3DPEHPK3PXP")

    monkeypatch.setattr(settings, "ENVIRONMENT", settings.ENVIRONMENT.model_construct())
    server.encrypt_stored_secrets()
    assert stored(staff) == {"ann": "JBSWY3DPEHPK3PXP"}

    lasting = settings.ENVIRONMENT.model_construct(secret_key="x")  # noqa: S106 -- of this test
    monkeypatch.setattr(settings, "ENVIRONMENT", lasting)
    server.encrypt_stored_secrets()
    assert stored(staff)["ann"].startswith("gAAAA")
