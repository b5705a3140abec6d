"""Fixtures: one Postgres server with one migrated database, which is emptied before each test."""

import os
from collections.abc import Iterator
from datetime import datetime
from unittest import mock

import django
import psycopg
import pytest
from django.conf import settings
from django.db import connections
from django.test import override_settings

from ledger.kernel.transactions import database_now
from tests.ledger.postgres import Server, running_server
from tests.ledger.remembered import rows_of, write_rows
from tests.ledger.rows import VALID
from tests.ledger.sessions import Sessions
from webui.config.environment import database_from_url

# Limit in seconds for probes of other services. No broker, Connect or worker runs here, so a longer
# limit would only delay the pages that probe them.
PROBE_S = 0.2
# This middleware is asynchronous only. For it, Django's synchronous test client would start a
# thread and an event loop at each request. Tests that request files use `with_static_files`.
STATIC_FILES = "servestatic.middleware.ServeStaticMiddleware"

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
            override_settings(MIDDLEWARE=[m for m in settings.MIDDLEWARE if m != STATIC_FILES]),
            mock.patch("webui.desks.system.probes.PROBE_S", PROBE_S),
            mock.patch("webui.desks.system.offsets.PROBE_S", PROBE_S),
        ):
            yield name
        connections["default"].close()
        del connections["default"]
        connections.databases["default"] = before


# For few rows DELETE is faster than TRUNCATE, but a whole retail file may have filled this table.
_LARGE = """
DO $$ BEGIN
    IF pg_relation_size('retail.sale_line') > 200000 THEN TRUNCATE retail.sale_line; END IF;
END $$;
"""
# Triggers are off, because they refuse to delete prices and old counts.
_EMPTY = (
    "SET session_replication_role = replica;",
    _LARGE,
    *(f"DELETE FROM {table};" for table in EMPTIED),  # noqa: S608 -- names from above
    # The first event of a test is the first of the ledger, as in a new installation.
    "SELECT setval(pg_get_serial_sequence('app.decision_event', 'id'), 1, false);",
    "UPDATE app.setting SET price_kill_switch = false WHERE price_kill_switch;",
    "SET session_replication_role = origin;",
)


def empty(connection: psycopg.Connection) -> None:
    """Delete every row that tests write."""
    connection.execute("".join(_EMPTY).encode())


@pytest.fixture(scope="session")
def sessions(server: Server, database: str) -> Iterator[Sessions]:
    """Open database sessions, which the tests use one after another."""
    opened = Sessions(server, database)
    yield opened
    opened.close()


@pytest.fixture
def ledger(sessions: Sessions) -> Iterator[psycopg.Connection]:
    """A superuser's connection to the emptied ledger, in autocommit mode."""
    connection = sessions.take("postgres")
    empty(connection)
    yield connection
    sessions.give_back()


@pytest.fixture
def till(sessions: Sessions, ledger: psycopg.Connection) -> psycopg.Connection:
    """A connection with the application's rights to the emptied ledger, in autocommit mode."""
    return sessions.take("app_rw")


@pytest.fixture
def sinks(sessions: Sessions, ledger: psycopg.Connection) -> psycopg.Connection:
    """A connection with the rights of projector and actuator, in autocommit mode."""
    return sessions.take("sink_rw")


@pytest.fixture(scope="session")
def midnight(database: str) -> datetime:
    """The last midnight, at which the history of the demo retailer ends."""
    return database_now().replace(hour=0, minute=0, second=0, microsecond=0)


@pytest.fixture(scope="session")
def retailer_rows(sessions: Sessions, midnight: datetime) -> dict[str, bytes]:
    """Seed the smallest demo retailer into the empty ledger. Return its rows by table."""
    from bench.retailer.demo import seed_demo  # noqa: PLC0415 -- few test modules need it

    owner = sessions.take("postgres")
    empty(owner)
    assert seed_demo(seed=3, size="tiny", midnight=midnight)
    return rows_of(owner, EMPTIED)


@pytest.fixture
def retailer(ledger: psycopg.Connection, retailer_rows: dict[str, bytes]) -> psycopg.Connection:
    """A superuser's connection to a ledger with the smallest demo retailer and nothing else."""
    write_rows(ledger, retailer_rows)
    return ledger


@pytest.fixture
def staff(ledger: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """Add two people without failed logins: Ann, an associate, and Olga, an operator."""
    from tests.ledger.staff import people_of  # noqa: PLC0415 -- needs Django set up

    yield from people_of(ledger)
