"""The probe of Postgres distinguishes a stopping server from a starting one."""

import os
import signal

import psycopg

from deploy.stack.probes import postgres_alive, postgres_ready
from deploy.stack.processes import wait_until
from tests.ledger.postgres import running_server

WITHIN_S = 30.0


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
