"""One Postgres for all ledger tests, one migrated database, emptied before each test."""

import os
from collections.abc import Iterator
from unittest import mock

import django
import psycopg
import pytest
from django.db import connections

from tests.ledger.postgres import Server, running_server
from tests.ledger.rows import VALID
from webui.config.environment import database_from_url

# No broker, Connect or worker runs beside these tests: pages that probe them need not wait long.
PROBE_S = 0.2

EMPTIED = (
    *(f"retail.{table}" for table in VALID),
    *(
        "retail.gtin",
        "retail.supplier_code",
        "retail.product",
        "retail.location",
        "retail.supplier",
    ),
    *("app.reorder_proposal", "app.price_proposal", "app.command", "app.action_log"),
    *("app.action_chain", "app.decision_event", "app.api_token"),
    *("app.webhook_message", "app.webhook"),
    *("app.purchase_order", "app.revision_switch", "app.scorecard"),
    *("app.pending_item", "app.pending_send"),
    *("app.history_difference", "app.history_request", "app.history_snapshot"),
    *("app.diff_review", "app.diff_review_key", "app.diff_verdict", "app.proof"),
    *("app.count_entry", "app.count_sheet", "app.adjustment_request"),
    *("read_model.stock", "read_model.service_heartbeat", "read_model.sink_position"),
    *("read_model.sales_window", "read_model.service_error", "read_model.restore"),
)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


@pytest.fixture(scope="session")
def database(server: Server) -> Iterator[str]:
    """Yield the name of a migrated database to which this process's Django is connected."""
    name = server.create_database()
    server.manage(name, "migrate", "--verbosity", "0")
    with mock.patch.dict(os.environ, server.environment(name)):
        django.setup()
        # Another test may have set Django up before, with an address of its own.
        entry = database_from_url(server.url("app_rw", name))
        before = connections.databases["default"]
        connections["default"].close()
        del connections["default"]
        connections.databases["default"] = connections.configure_settings({"default": entry})[
            "default"
        ]
        with (
            mock.patch("webui.desks.system.probes.PROBE_S", PROBE_S),
            mock.patch("webui.desks.system.offsets.PROBE_S", PROBE_S),
        ):
            yield name
        connections["default"].close()
        del connections["default"]
        connections.databases["default"] = before


def empty(connection: psycopg.Connection) -> None:
    """Delete every row that tests write."""
    # Without triggers, so that prices and old counts go too; much faster than TRUNCATE.
    connection.execute("SET session_replication_role = replica")
    # But not for the one table that a whole retail file may have filled.
    connection.execute("TRUNCATE retail.sale_line")
    connection.execute("".join(f"DELETE FROM {table};" for table in EMPTIED))  # noqa: S608 -- names from above
    connection.execute("UPDATE app.setting SET price_kill_switch = false")
    connection.execute("SET session_replication_role = origin")


@pytest.fixture(scope="session")
def cleaner(server: Server, database: str) -> Iterator[psycopg.Connection]:
    """A superuser's connection that empties the ledger.

    It is kept for all tests: a new session of Postgres reads the catalogue of 50 tables first,
    which takes longer than the deletes.
    """
    with psycopg.connect(server.url("postgres", database), autocommit=True) as connection:
        yield connection


@pytest.fixture
def ledger(
    server: Server, database: str, cleaner: psycopg.Connection
) -> Iterator[psycopg.Connection]:
    """A superuser's connection to the emptied ledger, in autocommit mode."""
    empty(cleaner)
    with psycopg.connect(server.url("postgres", database), autocommit=True) as connection:
        yield connection


@pytest.fixture
def till(server: Server, database: str, ledger: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """A connection with the application's rights to the emptied ledger, in autocommit mode."""
    with psycopg.connect(server.url("app_rw", database), autocommit=True) as connection:
        yield connection


@pytest.fixture
def sinks(
    server: Server, database: str, ledger: psycopg.Connection
) -> Iterator[psycopg.Connection]:
    """A connection with the rights of projector and actuator, in autocommit mode."""
    with psycopg.connect(server.url("sink_rw", database), autocommit=True) as connection:
        yield connection


@pytest.fixture
def staff(ledger: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """Add two people without failed logins: Ann, an associate, and Olga, an operator."""
    from tests.ledger.staff import people_of  # noqa: PLC0415 -- needs Django set up

    yield from people_of(ledger)
