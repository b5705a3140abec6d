"""The doctor's row about proofs, and the proof on the System page."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.test.utils import setup_test_environment, teardown_test_environment

from deploy.doctor.proof import proof
from deploy.stack.home import Home
from deploy.stack.processes import identify
from deploy.stack.runtime import Runtime, write_environment, write_runtime
from tests.ledger.inbox import emptied
from tests.ledger.pages import person
from tests.ledger.postgres import Server
from tests.ledger.test_proofs import record

PROVER = """
INSERT INTO read_model.service_heartbeat (service, pid, at, detail)
VALUES ('prover', 1, clock_timestamp(), %s::jsonb)
ON CONFLICT (service) DO UPDATE SET detail = excluded.detail
"""


@pytest.fixture
def home(server: Server, database: str, ledger: psycopg.Connection, tmp_path: Path) -> Home:
    found = Home(tmp_path)
    me = identify(os.getpid())
    url = server.url("app_ro", database)
    write_environment(found, {"INVENTORY_READ_DATABASE_URL": url})
    write_runtime(found, Runtime(phase="ready", supervisor_pid=me.pid, supervisor_ticks=me.started))
    return found


def prover(ledger: psycopg.Connection, hour: int | None, last_us: int | None = None) -> None:
    ledger.execute(PROVER, (json.dumps({"hour": hour, "last_us": last_us}),))


def age(ledger: psycopg.Connection, hours: float) -> None:
    ledger.execute(
        "UPDATE app.proof SET finished_at = clock_timestamp() - make_interval(secs => %s)",
        (hours * 3600,),
    )


def test_doctor_reports_a_differing_or_overdue_proof(
    home: Home, ledger: psycopg.Connection
) -> None:
    prover(ledger, 3)
    record("local-a")
    age(ledger, 35.9)
    assert (proof(home).verdict, proof(home).found) == ("ok", "local-a, 35 h ago: 5 keys equal")
    age(ledger, 36.1)
    old = proof(home)
    assert (old.verdict, old.repair) == ("warning", "inventory backfill prove")

    record("local-b", keys_differing=1)
    other = proof(home)

    assert (other.verdict, other.repair) == ("failure", "inventory backfill prove --full")
    assert other.found == "local-b, 0 h ago: 1 key and 0 decisions differ: L1|TEA"
    record("local-c")
    assert proof(home).verdict == "ok"


def test_doctor_warns_about_a_missing_proof_only_after_a_missed_night(
    home: Home, ledger: psycopg.Connection
) -> None:
    assert (proof(home).verdict, proof(home).found) == ("ok", "none; nightly proofs are off")

    prover(ledger, 3)
    assert (proof(home).verdict, proof(home).found) == ("ok", "none yet")
    prover(ledger, 3, last_us=1)
    assert proof(home).verdict == "warning"
    prover(ledger, None, last_us=1)
    assert proof(home).verdict == "ok"


def test_doctor_accepts_an_old_proof_while_nightly_proofs_are_off(
    home: Home, ledger: psycopg.Connection
) -> None:
    prover(ledger, None)
    record("local-a")
    age(ledger, 99)
    assert proof(home).verdict == "ok"

    record("local-b", decisions_differing=1)
    assert proof(home).verdict == "failure"


@pytest.fixture
def inbox(ledger: psycopg.Connection) -> Iterator[psycopg.Connection]:
    setup_test_environment()
    yield emptied(ledger)
    teardown_test_environment()


def test_the_system_page_shows_the_last_proof(inbox: psycopg.Connection) -> None:
    client = person("operator")
    assert b"None yet" in client.get("/system/").content

    record("local-a")
    page = client.get("/system/").content
    assert b"Equal" in page
    assert b"the first record" in client.get("/system/proofs/").content

    record("local-b", base="local-a", keys_differing=1)
    page = client.get("/system/").content
    assert b"Different" in page
    assert b"inventory backfill prove --full" in page
    history = client.get("/system/proofs/").content
    assert history.count(b'<th scope="row">') == 2
    assert b"the last proven states (local-a)" in history
    assert b"<code>L1|TEA</code>" in history
    assert client.get("/system/proofs/?different=1").content.count(b'<th scope="row">') == 1


def test_proofs_page_hides_item_keys_from_people_of_some_stores(inbox: psycopg.Connection) -> None:
    record("local-a", keys_differing=1)

    page = person("operator", "opal", stores=("L1",)).get("/system/proofs/").content

    assert b"Different" in page
    assert b"L1|TEA" not in page
