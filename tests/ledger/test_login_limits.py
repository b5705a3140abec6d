"""Each limit of decision 0026 blocks after its number of attempts, and for its time only."""

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client, RequestFactory

from tests.ledger.staff import ELSEWHERE, HERE, WRONG, client, log_in


@pytest.fixture
def attempts(staff: psycopg.Connection) -> Any:
    return import_module("webui.accounts.attempts")  # here, because it needs Django set up


def known_browser() -> Client:
    """Return a client that has logged in to Ann's account, and has logged out again."""
    browser = client()
    log_in(browser)
    browser.post("/logout/")
    return browser


def test_account_attacked_from_many_sources_stays_open_for_known_browsers(attempts: Any) -> None:
    known = known_browser()
    for number in range(100):
        attempts.begin("ann", source=f"198.51.100.{number}", device=None)

    assert log_in(client("203.0.113.1")).status_code == 429
    assert log_in(known).status_code == 302
    assert log_in(client("203.0.113.1"), "olga").status_code == 302


def test_a_known_browser_is_blocked_after_five_failures_of_its_own(attempts: Any) -> None:
    known, other = known_browser(), client(ELSEWHERE)
    codes = [log_in(known, password=WRONG).status_code for _ in range(6)]

    assert codes == [200] * 5 + [429]
    assert log_in(known).status_code == 429
    assert log_in(other).status_code == 302


def test_parallel_attempts_exceed_no_limit(attempts: Any) -> None:
    def attempt(_number: int) -> bool:
        try:
            return bool(attempts.begin("ann", source=HERE, device=None).blocked_for_s == 0)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        allowed = list(pool.map(attempt, range(24)))

    assert allowed.count(True) == 5


@pytest.mark.parametrize(
    ("aged_s", "status"), [(280, 429), (301, 302)], ids=["within the span", "after the span"]
)
def test_a_block_ends_after_five_minutes(
    staff: psycopg.Connection, attempts: Any, aged_s: int, status: int
) -> None:
    for _ in range(6):
        log_in(client(), password=WRONG)

    staff.execute("UPDATE app.login_count SET since = since - make_interval(secs => %s)", (aged_s,))

    assert log_in(client()).status_code == status


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::9", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("a socket", "unknown"),
    ],
)
def test_login_source_is_an_ipv4_address_or_an_ipv6_network(
    database: str, address: str, source: str
) -> None:
    sources = import_module("webui.accounts.sources")

    assert sources.source_of(RequestFactory().get("/", REMOTE_ADDR=address)) == source
