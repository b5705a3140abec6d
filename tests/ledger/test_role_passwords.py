"""Passwords of roles: Postgres gets their verifiers only, because a server may log statements."""

from typing import Any
from unittest import mock

import psycopg
from psycopg.rows import TupleRow

from deploy.stack import bootstrap
from tests.ledger.postgres import Server

LOGGING = "?options=-c%20log_statement%3Dddl%20-c%20client_min_messages%3Dlog"


def test_no_statement_contains_a_password(server: Server) -> None:
    passwords = {role: f"canary-of-{role}" for role in bootstrap.ROLES}
    target = bootstrap.Server(
        maintenance_url=server.url("postgres", "postgres") + LOGGING,
        database_url=server.url("postgres", "retail"),
        owner_url="",
        passwords=passwords,
    )
    logged: list[str] = []
    connect = psycopg.connect

    def recording(*arguments: Any, **options: Any) -> psycopg.Connection[TupleRow]:
        connection = connect(*arguments, **options)
        connection.add_notice_handler(lambda notice: logged.append(str(notice.message_primary)))
        return connection

    with mock.patch.object(psycopg, "connect", recording):
        bootstrap.create_database(target)

    text = "\n".join(logged)
    assert 'ROLE "app_rw"' in text
    assert "canary" not in text
    with psycopg.connect(server.url("postgres", "postgres")) as connection:
        stored = connection.execute(
            "SELECT rolpassword FROM pg_authid WHERE rolname = 'app_rw'"
        ).fetchone()
    with connect(server.url("postgres", "postgres"), autocommit=True) as connection:
        connection.execute("DROP DATABASE retail")
    assert stored is not None
    assert stored[0].startswith("SCRAM-SHA-256$")
