"""Checks of change capture: publication, slot and connector."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg

from cdc.capture.client import SLOT, client_of
from cdc.capture.keeper import config_of
from cdc.capture.source import (
    Connection,
    Damage,
    damage_of,
    paused_by,
    publication_problem,
    slot_of,
)
from deploy.doctor.row import Row, judge
from deploy.stack.capture import ANEW, RESTART, RESUME
from deploy.stack.home import Home
from deploy.stack.runtime import environment_of

_RETAINED_BYTES: Final = 256 * 1024 * 1024
_KEPT: Final = ("reserved", "extended")


@contextmanager
def _reading(home: Home) -> Iterator[Connection]:
    url = environment_of(home)["INVENTORY_READ_DATABASE_URL"]
    with psycopg.connect(url, connect_timeout=3, autocommit=True) as connection:
        yield connection


def _damage(connection: Connection, part: str) -> Damage | None:
    found = damage_of(connection)
    return found if found and found.part == part else None


def publication(home: Home) -> Row:
    """Check that the publication has all captured tables, and is that of the log."""
    with _reading(home) as connection:
        found = publication_problem(connection)
        damage = _damage(connection, "publication")
    found = found or (damage.found if damage else "")
    return judge("publication", well=not found, found=found or "all tables", repair=ANEW)


def slot(home: Home) -> Row:
    """Check that the slot streams, has its WAL and keeps little of it."""
    with _reading(home) as connection:
        seen, by = slot_of(connection), paused_by(connection)
    if seen is None:
        return Row("slot", "failure", f"{SLOT} does not exist", ANEW)
    found = f"active {seen.active}, {seen.wal_status}, {seen.behind} bytes behind"
    if seen.wal_status == "lost":
        return Row("slot", "failure", found, ANEW)
    well = seen.active and seen.wal_status in _KEPT and seen.behind < _RETAINED_BYTES
    return judge(
        "slot", well=well, found=found, repair=RESUME if by or not seen.active else RESTART
    )


def connector(home: Home) -> Row:
    """Check that connector and task run with the committed definition."""
    variables = environment_of(home)
    with _reading(home) as connection:
        by, damage = paused_by(connection), damage_of(connection)
    client = client_of(variables, timeout_s=5.0)
    try:
        state, held = client.state(), client.current_config()
    finally:
        client.close()
    same = held == config_of(variables["INVENTORY_READ_DATABASE_URL"])
    found = f"{state.connector}, task {state.task}, definition {'equal' if same else 'differs'}"
    if by:
        return Row("connector", "warning", f"{found}; paused by {by}", RESUME)
    if damage:
        return Row("connector", "failure", f"{found}; {damage.part} {damage.found}", ANEW)
    return judge("connector", well=state.running and same, found=found, repair=RESUME)
