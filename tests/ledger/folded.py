"""A key's state by the pure rules, from the rows in Postgres.

Every row is one insert, in the order in which the database wrote them. The workers would reach this
state if no row had ever been changed or deleted.
"""

from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import dict_row

from cdc.contracts.times import us_of
from inventory.fold.record import Applied, fold
from inventory.log.dedupe import Admission
from inventory.model.ids import InvKey
from inventory.model.record import Record
from inventory.model.state import KeyState
from tests.ledger.rows import VALID

Image = dict[str, Any]
Change = tuple[str, str, Image | None, Image]

TABLES = [table for table in VALID if table != "pipeline_heartbeat"]


def images(connection: psycopg.Connection, key: str) -> list[tuple[str, dict[str, Any]]]:
    """Return (table, row) of every fact of `key` with integer times, oldest write first."""
    found = []
    with connection.cursor(row_factory=dict_row) as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT * FROM retail.{table} WHERE inv_key = %s", [key])  # noqa: S608 -- table is a name of this list
            found += [(table, _integer_times(row)) for row in cursor.fetchall()]
    return sorted(found, key=lambda entry: entry[1]["recorded_at"])


def state_of(connection: psycopg.Connection, key: str) -> KeyState:
    """Return the key's state after all its rows. Offsets count from 10."""
    return _folded(key, [(table, "c", None, image) for table, image in images(connection, key)])


def state_after_updates(
    connection: psycopg.Connection, key: str, before: list[tuple[str, Image]]
) -> KeyState:
    """Return the key's state after inserts of the rows of `before` and updates to today's rows."""
    now = {(table, image["id"]): image for table, image in images(connection, key)}
    changes: list[Change] = [(table, "c", None, image) for table, image in before]
    for table, image in before:
        if now[table, image["id"]] != image:
            changes.append((table, "u", image, now[table, image["id"]]))
    return _folded(key, changes)


def state_of_history(connection: psycopg.Connection, key: str) -> KeyState:
    """Return the state of a key that is replayed for all facts, then gets its present policy."""
    rows = images(connection, key)
    policy = next(image for table, image in rows if table == "item_location")
    past: Image = {**policy, "clock_mode": "replayed", "reviewed_at": None}
    changes: list[Change] = [("item_location", "c", None, past)]
    changes += [(table, "c", None, image) for table, image in rows if image is not policy]
    return _folded(key, [*changes, ("item_location", "u", past, policy)])


def _folded(key: str, changes: list[Change]) -> KeyState:
    state: KeyState | None = None
    for offset, (table, op, before, after) in enumerate(changes, start=10):
        commit_us = after["recorded_at"]
        record = Record(offset, InvKey(key), table, op, before, after, offset, commit_us)
        folded = fold(state, record, Admission.NEW, 1)
        assert isinstance(folded, Applied), (table, after, folded)
        state = folded.state
    assert state is not None
    return state


def _integer_times(row: dict[str, Any]) -> dict[str, Any]:
    return {name: us_of(cell) if isinstance(cell, datetime) else cell for name, cell in row.items()}
