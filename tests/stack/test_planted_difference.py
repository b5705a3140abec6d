"""The prover finds a live state that was altered, and a rebuild repairs it.

Uses a separate stack, whose changelog is damaged on purpose.
"""

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from http.cookiejar import CookieJar
from typing import Any
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

import psycopg
import pytest

from analytics.verify import verify
from bench.verification.states import _changed, _newest, _write
from cdc.contracts.topics import ON_HAND_CHANGELOG
from deploy.stack.home import PROJECT
from tests.analytics.shop import Shop
from tests.stack.running import COMMAND_S, RunningStack, run_inventory, start

pytestmark = pytest.mark.soak
PARTS = (
    "postgres,kafka,connect,migrate,topics,connector,worker-1,projector,actuator,archiver,"
    "heartbeat,web"
)
PROOF = """
SELECT keys_differing, decisions_differing, base IS NULL, differences -> 0 ->> 'key'
FROM app.proof ORDER BY id DESC LIMIT 1
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    home = tmp_path_factory.mktemp("planted") / "home"
    try:
        yield start(home, "--workers", "1", "--only", PARTS)
    finally:
        run_inventory("down", home=home)


def in_project(own: RunningStack, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 -- our own modules
        [sys.executable, *arguments],
        cwd=PROJECT,
        env={**os.environ, **own.environment},
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )


def prove_as_the_service(own: RunningStack) -> subprocess.CompletedProcess[str]:
    """Return the result of the process that the prover starts every night."""
    return in_project(own, "-m", "deploy.proving.once")


def newest_proof(own: RunningStack) -> tuple[Any, ...] | None:
    url = own.settings.read_database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(PROOF).fetchone()


def proof_in_doctor(own: RunningStack) -> dict[str, Any]:
    rows = json.loads(own.cli("doctor", "--json").stdout)
    [row] = [row for row in rows if row["name"] == "proof"]
    return dict(row)


@pytest.fixture(scope="module")
def browser(own: RunningStack) -> OpenerDirector:
    """Return a session of an operator on the pages."""
    password = secrets.token_hex(12)
    seeded = in_project(
        own, "-m", "webui.manage", "seed_demo_users", f"--password={password}", "--everywhere"
    )
    assert seeded.returncode == 0, seeded.stderr
    opener = build_opener(HTTPCookieProcessor(CookieJar()))
    login = f"{own.runtime.services['web'].url}/login/"
    token = re.search(r'csrfmiddlewaretoken" value="([^"]+)"', page(opener, login))
    assert token is not None
    form = {"username": "operator", "password": password, "csrfmiddlewaretoken": token[1]}
    page(opener, login, urlencode(form).encode())
    return opener


def page(opener: OpenerDirector, url: str, form: bytes | None = None) -> str:
    request = Request(url, data=form, headers={"Referer": url})  # noqa: S310 -- of our own server
    with opener.open(request) as answer:
        return str(answer.read().decode())


def system_page(own: RunningStack, opener: OpenerDirector, part: str = "") -> str:
    return page(opener, f"{own.runtime.services['web'].url}/system/{part}")


def alter_a_level(own: RunningStack, key: str) -> None:
    """Copy the newest level of a key that has no trade, with one unit more on hand."""
    _name, right = _newest(own.settings, ON_HAND_CHANGELOG, key, key.encode())
    _write(own.settings, ON_HAND_CHANGELOG, key, (key.encode(), _changed(right, 1)))


def assert_shown_as_equal(own: RunningStack, browser: OpenerDirector) -> None:
    assert newest_proof(own) == (0, 0, True, None)
    assert proof_in_doctor(own)["verdict"] == "ok"
    assert "Equal" in system_page(own, browser)


def assert_shown_as_different(own: RunningStack, browser: OpenerDirector, key: str) -> None:
    assert newest_proof(own) == (1, 0, False, key)
    alarm = proof_in_doctor(own)
    assert (alarm["verdict"], alarm["repair"]) == ("failure", "inventory backfill prove --full")
    assert alarm["found"].endswith(f"1 key and 0 decisions differ: {key}")
    assert own.cli("doctor").returncode == 2
    assert "Different" in system_page(own, browser)
    assert f"<code>{key}</code>" in system_page(own, browser, "proofs/")


def proved_after_the_restore(own: RunningStack) -> subprocess.CompletedProcess[str]:
    """Repeat `backfill prove` while it exits with 2, because workers restore. Return the result."""
    done: list[subprocess.CompletedProcess[str]] = []

    def is_compared() -> bool:
        done.append(own.cli("backfill", "prove", "--full"))
        return done[-1].returncode != 2

    own.wait_until(is_compared, describe=lambda: done[-1].stderr)
    return done[-1]


def test_the_prover_finds_an_altered_live_state_and_a_rebuild_repairs_it(
    own: RunningStack, browser: OpenerDirector
) -> None:
    shop = Shop(own.settings.owner_database_url.get_secret_value())
    shop.trade()
    assert verify(shop.location, settings=own.settings).ok
    equal = prove_as_the_service(own)
    assert equal.returncode == 0, equal.stdout + equal.stderr
    assert_shown_as_equal(own, browser)
    key = f"{shop.location}|C"

    alter_a_level(own, key)
    differs = prove_as_the_service(own)

    assert differs.returncode == 1, differs.stdout + differs.stderr
    assert '"proof_differs"' in differs.stderr
    assert key in differs.stderr
    assert_shown_as_different(own, browser, key)
    full = own.cli("backfill", "prove", "--full", "--json")
    assert full.returncode == 1, full.stdout + full.stderr
    assert json.loads(full.stdout)["differences"][0]["key"] == key

    rebuilt = own.cli("workers", "rebuild", "--yes", "--json")
    # Exit code 1: a former state was wrong. The output names its key.
    assert rebuilt.returncode == 1, rebuilt.stdout + rebuilt.stderr
    assert json.loads(rebuilt.stdout)["keys"] == [key]
    repaired = proved_after_the_restore(own)

    assert repaired.returncode == 0, repaired.stdout + repaired.stderr
    assert_shown_as_equal(own, browser)
    assert verify(shop.location, settings=own.settings).ok
