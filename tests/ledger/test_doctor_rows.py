"""The doctor's checks of Postgres, each on a server with the fault and after its repair."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from cdc.capture.client import PUBLICATION, SLOT
from cdc.capture.source import Damage, damage_of
from deploy.doctor import capturing, running
from deploy.revisions.shadow import home_of
from deploy.stack.capture import CAPTURE_AGAIN, publish_tables
from deploy.stack.home import Home
from deploy.stack.processes import identify
from deploy.stack.runtime import Runtime, write_environment, write_runtime
from inventory.revision import LOGIC_REVISION
from tests.ledger.postgres import Server

PROMOTE = f"inventory revision promote {LOGIC_REVISION} --without-comparison"


@pytest.fixture
def home(server: Server, database: str, ledger: psycopg.Connection, tmp_path: Path) -> Home:
    """Home whose files name this server as its stack's Postgres."""
    found = Home(tmp_path)
    me = identify(os.getpid())
    runtime = Runtime(phase="ready", supervisor_pid=me.pid, supervisor_ticks=me.started)
    url = server.url("app_ro", database)
    write_environment(found, {"INVENTORY_READ_DATABASE_URL": url})
    write_runtime(found, runtime)
    return found


@contextmanager
def inactive_slot(connection: psycopg.Connection) -> Iterator[None]:
    """Create a slot without a reader, as after Connect was stopped. Drop it afterwards."""
    connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (SLOT,))
    try:
        yield
    finally:
        connection.execute("SELECT pg_drop_replication_slot(%s)", (SLOT,))


def test_a_slot_that_is_missing_or_idle_is_a_failure(home, ledger) -> None:
    missing = capturing.slot(home)
    with inactive_slot(ledger):
        idle = capturing.slot(home)

    assert (missing.verdict, missing.found) == ("failure", f"{SLOT} does not exist")
    assert idle.verdict == "failure"
    assert idle.found.startswith("not read, WAL reserved, ")
    assert missing.repair == CAPTURE_AGAIN
    assert idle.repair == "inventory capture resume"
    assert running.wal_level(home).verdict == "ok"


def test_the_doctor_reports_a_table_missing_from_the_publication(home, ledger) -> None:
    whole = capturing.publication(home)
    ledger.execute(f"ALTER PUBLICATION {PUBLICATION} DROP TABLE retail.sale_line")
    try:
        lacking = capturing.publication(home)
    finally:
        ledger.execute(f"ALTER PUBLICATION {PUBLICATION} ADD TABLE retail.sale_line")

    assert whole.verdict == capturing.publication(home).verdict == "ok"
    assert lacking.verdict == "failure"
    assert (lacking.found, lacking.repair) == ("lacks sale_line", CAPTURE_AGAIN)


def test_the_doctor_reports_a_table_without_replica_identity_full(
    home, ledger, server, database
) -> None:
    ledger.execute("ALTER TABLE retail.stock_count REPLICA IDENTITY DEFAULT")

    wrong = capturing.identity(home)
    with psycopg.connect(server.url("app_ro", database), autocommit=True) as connection:
        damage = damage_of(connection)
    publish_tables(server.url("postgres", database))

    assert (wrong.verdict, wrong.found) == ("failure", "not FULL: stock_count")
    assert wrong.repair == CAPTURE_AGAIN
    assert damage == Damage("replica identity", "not FULL: stock_count")
    assert capturing.identity(home).found == "FULL everywhere"


def test_the_doctor_warns_if_another_logic_revision_decides(home, ledger) -> None:
    alone = running.rules(home)
    ledger.execute(
        "INSERT INTO app.revision_switch (revision, switched_by) VALUES (%s, 'test')",
        (LOGIC_REVISION + 1,),
    )

    other = running.rules(home)

    assert (alone.verdict, alone.found) == (
        "ok", f"logic revision {LOGIC_REVISION} decides, and the workers here have it",
    )  # fmt: skip
    assert (other.verdict, other.repair) == (
        "warning",
        f"{PROMOTE}  # or deploy the code of revision {LOGIC_REVISION + 1}",
    )
    assert other.found == (
        f"logic revision {LOGIC_REVISION + 1} decides, but the workers here have {LOGIC_REVISION};"
        f" desks keep the proposals of revision {LOGIC_REVISION + 1} and get no new ones"
    )

    beside, me = home_of(home, LOGIC_REVISION + 1), identify(os.getpid())
    beside.path.mkdir(parents=True)
    write_runtime(beside, Runtime("ready", me.pid, me.started))
    compared = running.rules(home)
    assert compared.repair.startswith(f"inventory revision promote {LOGIC_REVISION}  # or deploy")
    assert "get no new ones" not in compared.found

    # After a switch, the repair is a rollback: `promote` refuses differences without an approval.
    ledger.execute(
        "INSERT INTO app.revision_switch (revision, former, switched_by) VALUES (%s, %s, 'test')",
        (LOGIC_REVISION + 1, LOGIC_REVISION),
    )
    cut_over = running.rules(home)
    assert cut_over.repair.startswith("inventory backfill rollback  # or deploy the code of")
    assert cut_over.found == compared.found
