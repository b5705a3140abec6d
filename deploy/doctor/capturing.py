"""Checks of change capture: publication, slot and connector."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg

from cdc.capture.client import SLOT, client_of
from cdc.capture.reconciler import config_of
from cdc.capture.source import (
    Connection,
    Damage,
    damage_of,
    identity_problem,
    paused_by,
    publication_problem,
    slot_of,
)
from deploy.doctor.failures import Failure, row_of
from deploy.doctor.row import Row, ok
from deploy.stack.capture import CAPTURE_AGAIN, RESUME
from deploy.stack.home import Home
from deploy.stack.runtime import environment_of

_RETAINED_BYTES: Final = 256 * 1024 * 1024
_KEPT: Final = ("reserved", "extended")


@contextmanager
def reading(home: Home) -> Iterator[Connection]:
    """Open a connection to Postgres with the read-only role, in autocommit mode."""
    url = environment_of(home)["INVENTORY_READ_DATABASE_URL"]
    with psycopg.connect(url, connect_timeout=3, autocommit=True) as connection:
        yield connection


def _damage(connection: Connection, part: str) -> Damage | None:
    found = damage_of(connection)
    return found if found and found.part == part else None


def resuming(home: Home) -> str:
    """Return the command that resumes a paused capture or repairs a damaged one, or ""."""
    with reading(home) as connection:
        if paused_by(connection):
            return RESUME
        return CAPTURE_AGAIN if damage_of(connection) else ""


def publication(home: Home) -> Row:
    """Check that the publication has all captured tables, and is unchanged since the capture."""
    with reading(home) as connection:
        found = publication_problem(connection)
        damage = _damage(connection, "publication")
    found = found or (damage.found if damage else "")
    return Failure.PUBLICATION_CHANGED.row(found) if found else ok("publication", "all tables")


def identity(home: Home) -> Row:
    """Check that the replica identity of each table is FULL.

    Then updates and deletes write the complete former row into the WAL.
    """
    with reading(home) as connection:
        found = identity_problem(connection)
    if found:
        return Failure.IDENTITY_NOT_FULL.row(found)
    return ok("replica identity", "FULL everywhere")


def slot(home: Home) -> Row:
    """Check that a process reads the slot, and that Postgres still has all WAL that the slot needs.

    The process must also be less than 256 MiB of WAL behind.
    """
    with reading(home) as connection:
        seen, by, damage = slot_of(connection), paused_by(connection), damage_of(connection)
    if seen is None:
        return Failure.LOST_SLOT.row(f"{SLOT} does not exist")
    reader = "read by Debezium" if seen.active else "not read"
    found = f"{reader}, WAL {seen.wal_status}, {seen.behind} bytes behind"
    if seen.wal_status == "lost":
        return Failure.LOST_SLOT.row(found)
    if seen.active and seen.wal_status in _KEPT and seen.behind < _RETAINED_BYTES:
        return ok("slot", found)
    if damage and not seen.active:  # here `capture resume` fails: only a new generation helps
        found = f"{found}; {damage.part} {damage.found}"
        return row_of(found, [(Failure.CAPTURE_DAMAGED, CAPTURE_AGAIN)], "slot")
    kind = Failure.IDLE_SLOT if by or not seen.active else Failure.SLOT_BEHIND
    return kind.row(found)


def connector(home: Home) -> Row:
    """Check that the connector and its task run, with the configuration that this code defines."""
    variables = environment_of(home)
    with reading(home) as connection:
        by, damage = paused_by(connection), damage_of(connection)
    client = client_of(variables, timeout_s=3.0)
    try:
        state, held = client.state(), client.current_config()
    finally:
        client.close()
    same = held == config_of(variables["INVENTORY_READ_DATABASE_URL"])
    definition = "as in this code" if same else "differs from this code"
    found = f"{state.connector}, task {state.task}, definition {definition}"
    if by:
        return Failure.CONNECTOR_PAUSED.row(f"{found}; paused by {by}")
    if damage:
        return Failure.CAPTURE_DAMAGED.row(f"{found}; {damage.part} {damage.found}")
    is_well = state.running and same
    return ok("connector", found) if is_well else Failure.CONNECTOR_DIFFERS.row(found)
