"""Rows that open tasks, written as the projector writes them, and the tasks that they opened."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from cdc.contracts.state import encode_level
from inventory.model.ids import InvKey, Position
from inventory.model.policy import ItemLocation
from inventory.model.state import Count, Demand, KeyState, Stock
from ledger.automation import tasks
from ledger.automation.conditions import KINDS
from streams.sinks import rows
from streams.sinks.upsert import upsert

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
NOON_US = 1_772_452_800_000_000
FORGOTTEN = (
    *("app.task", "app.rejected_mark", "app.location_hour", "app.inbox_mark"),
    *("read_model.sales_window", "read_model.rejected", "read_model.heartbeat"),
)
BY_NAME = {kind.name: kind for kind in KINDS}
COUNTED = Count(NOON_US - 30 * 86_400_000_000, 1, 10, "cycle")


def policy(**changes: Any) -> ItemLocation:
    """Return an active policy with these columns."""
    return ItemLocation(id=1, inv_key=InvKey("L|S"), status="active", **changes)


def state(sku: str = "S", **changes: Any) -> KeyState:
    """Return the state of a key that was counted at noon with 10 units.

    `changes` are fields of the state. `stock` is a dict with fields of its stock.
    """
    stock = replace(
        Stock(on_hand_units=10, opening_units=10, opening_count=COUNTED), **changes.pop("stock", {})
    )
    return replace(
        KeyState(
            inv_key=InvKey(f"L|{sku}"),
            position=Position(1, 1),
            stream_time_us=NOON_US,
            stock=stock,
            policy=policy(),
        ),
        **changes,
    )


def level(connection: psycopg.Connection, found: KeyState) -> None:
    """Replace the key's state in the read model by `found`."""
    connection.execute("DELETE FROM read_model.stock WHERE inv_key = %s", (found.inv_key,))
    row = rows.stock_row(encode_level(found, ()), 0, NOON_US)
    upsert(connection, rows.STOCK, [row])


def unsold(quiet_windows: int, *, rate_micro: int = 2_000_000) -> Demand:
    """Return the demand of an item that had no sale for `quiet_windows` trading windows."""
    return Demand(
        begun=True,
        rate_micro=rate_micro,
        quiet_windows=quiet_windows,
        rate_at_last_sale_micro=rate_micro,
        observed_days=20,
    )


def put(connection: psycopg.Connection, table: str, **columns: object) -> None:
    """Insert one row into `table`, given as `schema.table`."""
    connection.execute(
        sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
            sql.Identifier(*table.split(".")),
            sql.SQL(", ").join(map(sql.Identifier, columns)),
            sql.SQL(", ").join(sql.Placeholder() * len(columns)),
        ),
        list(columns.values()),
    )


def rejected(connection: psycopg.Connection, **changes: object) -> str:
    """Insert a rejected record and return its id."""
    row: dict[str, object] = {
        "id": "1-0-7",
        "generation": 1,
        "partition": 0,
        "offset": 7,
        "key": b"L|S",
        "value": b'{"op":"c","source":{"table":"sale_line","lsn":1,"ts_us":1}}',
        "reason": "limit",
        "stage": "fold",
        "detail": "quantity_units: got 0",
        "logic_revision": 1,
        "commit_us": NOON_US,
        **changes,
    }
    put(connection, "read_model.rejected", **row)
    return str(row["id"])


def emptied(connection: psycopg.Connection) -> psycopg.Connection:
    """Delete all tasks and their causes. Turn triggers off, so that tests may set `recorded_at`."""
    connection.execute("".join(f"DELETE FROM {table};" for table in FORGOTTEN))  # noqa: S608 -- names from above
    connection.execute("SET session_replication_role = replica")
    return connection


def look(kind: str, at: datetime = NOON) -> int:
    """Open, update and clear the tasks of one kind. Return how many opened or ended."""
    return tasks.refresh(kinds=[BY_NAME[kind]], at=at)


def open_tasks(connection: psycopg.Connection) -> list[dict[str, Any]]:
    """Return the tasks that people see, in the order in which they opened."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(
            "SELECT * FROM app.task WHERE cleared_at IS NULL AND opened_at IS NOT NULL ORDER BY id"
        ).fetchall()


def is_open(connection: psycopg.Connection, kind: str, at: datetime = NOON) -> bool:
    """Run the check for `kind` once. Return True if one task is open, False if none is."""
    look(kind, at)
    found = open_tasks(connection)
    assert len(found) <= 1
    return bool(found)
