"""The probes that query Postgres: of Postgres itself, and of services with a heartbeat row."""

import os
import signal
from unittest import mock

import psycopg
import pytest

from deploy.stack import probes
from deploy.stack.probes import has_fresh_heartbeat, postgres_alive, postgres_ready
from deploy.stack.processes import wait_until
from tests.ledger.postgres import Server, running_server

WITHIN_S = 30.0
BEAT = """
INSERT INTO read_model.service_heartbeat (service, pid, at, detail)
VALUES (%s, %s, clock_timestamp() - %s * interval '1 second', '{}')
"""


@pytest.fixture(autouse=True)
def no_earlier_round() -> None:
    """Forget what earlier probes have read."""
    probes._heartbeats.cache_clear()


def test_probes_of_one_round_read_all_heartbeats_with_one_query(
    server: Server, database: str, ledger: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "_SHARED_S", WITHIN_S)
    url = server.url("app_ro", database)
    for service, pid, age_s in (("projector", 7, 1), ("actuator", 8, 60), ("automation", 9, 60)):
        ledger.execute(BEAT, (service, pid, age_s))

    asked = [("projector", 7), ("projector", 8), ("actuator", 8), ("automation", 9), ("web", 7)]
    with mock.patch.object(psycopg, "connect", wraps=psycopg.connect) as connect:
        found = {process: has_fresh_heartbeat(url, *process) for process in asked}

    fresh = [process for process, is_fresh in found.items() if is_fresh]
    assert fresh == [("projector", 7), ("automation", 9)]
    assert None not in found.values()
    assert connect.call_count == 1


def test_a_later_round_reads_the_heartbeats_again(
    server: Server, database: str, ledger: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "_SHARED_S", -1.0)
    url = server.url("app_ro", database)
    assert has_fresh_heartbeat(url, "prover", 7) is False

    ledger.execute(BEAT, ("prover", 7, 1))

    assert has_fresh_heartbeat(url, "prover", 7) is True


def test_postgres_waiting_for_its_clients_after_sigterm_is_not_alive() -> None:
    with running_server() as server:
        url = server.url("postgres", "postgres")
        assert (postgres_ready(url), postgres_alive(url)) == (True, True)
        with psycopg.connect(url, autocommit=True) as client:
            [(file,)] = client.execute("SELECT pg_read_file('postmaster.pid')").fetchall()

            os.kill(int(file.splitlines()[0]), signal.SIGTERM)

            assert wait_until(lambda: not postgres_alive(url), timeout_s=WITHIN_S)
            assert client.execute("SELECT 1").fetchall() == [(1,)]
            assert not postgres_ready(url)


def test_a_heartbeat_is_unknown_if_postgres_is_down_or_refuses_the_connection(
    server: Server,
) -> None:
    assert has_fresh_heartbeat(server.url("app_ro", "missing"), "prover", 7) is None
    assert has_fresh_heartbeat("", "prover", 7) is None
