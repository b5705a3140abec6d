"""Builders of one valid row per captured table. Named arguments replace its columns."""

from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg import sql

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)

VALID: dict[str, dict[str, Any]] = {
    "sale_line": {
        "source": "till-1",
        "source_ref": "1",
        "quantity_units": 1,
        "amount_minor": 999,
        "occurred_at": NOON,
    },
    "purchase_order_line": {
        "order_ref": "PO-1",
        "supplier": "ACME",
        "status": "sent",
        "ordered_units": 10,
        "ordered_at": NOON,
    },
    "shipment_line": {
        "leg": "supplier_in",
        "status": "received",
        "received_units": 5,
        "order_units": 5,
        "received_at": NOON,
    },
    "stock_count": {"units": 5, "kind": "cycle", "status": "approved", "occurred_at": NOON},
    "stock_adjustment": {"reason": "theft", "quantity_units": 1, "occurred_at": NOON},
    "price_change": {
        "effective_from": NOON,
        "price_minor": 999,
        "kind": "manual",
        "floor_minor": 750,
    },
    "reorder_decision": {"reorder_id": "R:L|S:1-2", "action": "snooze"},
    "price_decision": {"proposal_id": "P:L|S:1-2", "action": "snooze"},
    "item_location": {"status": "active"},
    "pipeline_heartbeat": {
        "beat": 1,
        "occurred_at": NOON,
        "location": "~heartbeat",
        "sku": "1",
    },
}


def write(connection: psycopg.Connection, table: str, **changes: object) -> int:
    """Insert the valid row of `table` with `changes` and return its id."""
    row = {"location": "L", "sku": "S", **VALID[table], **changes}
    row.setdefault("inv_key", f"{row['location']}|{row['sku']}")
    statement = sql.SQL("INSERT INTO retail.{} ({}) VALUES ({}) RETURNING id").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, row)),
        sql.SQL(", ").join(sql.Placeholder() * len(row)),
    )
    found = connection.execute(statement, list(row.values())).fetchone()
    assert found is not None
    return int(found[0])


def reorder_proposal(connection: psycopg.Connection, **changes: object) -> str:
    """Insert an open reorder proposal as the actuator does, and return its id."""
    row = {
        "reorder_id": "R:L|S:1-2",
        "inv_key": "L|S",
        "location": "L",
        "sku": "S",
        "supplier": "ACME",
        "revision": 1,
        "status": "open",
        "quantity_units": 42,
        "base_position_units": 20,
        "logic_revision": 1,
        "position": "{}",
        "as_of_us": 1,
        **changes,
    }
    _insert(connection, "reorder_proposal", row)
    return str(row["reorder_id"])


def price_proposal(connection: psycopg.Connection, **changes: object) -> str:
    """Insert an open price proposal as the actuator does, and return its id."""
    row = {
        "proposal_id": "P:L|S:1-2",
        "inv_key": "L|S",
        "location": "L",
        "sku": "S",
        "revision": 1,
        "status": "open",
        "old_minor": 999,
        "new_minor": 899,
        "regular_minor": 999,
        "floor_minor": 750,
        "step": 1,
        "signal": "overstock",
        "effective_at_us": 1_772_452_800_000_000,
        "logic_revision": 1,
        "position": "{}",
        "as_of_us": 1,
        **changes,
    }
    _insert(connection, "price_proposal", row)
    return str(row["proposal_id"])


def _insert(connection: psycopg.Connection, table: str, row: dict[str, Any]) -> None:
    statement = sql.SQL("INSERT INTO app.{} ({}) VALUES ({})").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, row)),
        sql.SQL(", ").join(sql.Placeholder() * len(row)),
    )
    connection.execute(statement, list(row.values()))
