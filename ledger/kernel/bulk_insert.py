"""Inserts of many rows in one statement. Columns travel as arrays: one round trip, one plan.

Row order is preserved: `unnest` yields the arrays in order, and identity values follow that order.
So ids, WAL order and offsets of a key all follow the order of the caller's rows.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from ledger.kernel.transactions import execute, fetch_value

# Array types of the columns for bulk inserts.
TYPES: Final = {
    "location": "text",
    "sku": "text",
    "source": "text",
    "source_ref": "text",
    "quantity_units": "bigint",
    "amount_minor": "bigint",
    "condition": "text",
    "occurred_at": "timestamptz",
    "effective_from": "timestamptz",
    "price_minor": "bigint",
    "floor_minor": "bigint",
    "units": "bigint",
    "kind": "text",
    "status": "text",
    "reason": "text",
    "recorded_by": "text",
}


# Changed columns with their values: {column: [before, after]}. The columns are data.
Moved = dict[str, list[object]]


def insert_many(
    table: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, unless: str = ""
) -> int:
    """Insert `rows` of `columns` into `retail.table` in order; return the number inserted.

    `unless` names the columns of a unique constraint: rows that exist already are skipped. Columns
    must include location and sku; the key is made from them.
    """
    if not rows:
        return 0
    arrays = ", ".join(f"%s::{TYPES[column]}[]" for column in columns)
    names = ", ".join(columns)
    skip = f" ON CONFLICT ({unless}) DO NOTHING" if unless else ""
    statement = (
        f"INSERT INTO retail.{table} (inv_key, {names})"  # noqa: S608 -- names are literals of the services, values are parameters
        f" SELECT location || '|' || sku, {names}"
        f" FROM unnest({arrays}) AS given ({names}){skip}"
    )
    return execute(statement, *(list(column) for column in zip(*rows, strict=True)))


def insert_documents(table: str, documents: Sequence[Mapping[str, object]], *, unless: str) -> int:
    """Insert rows given as mappings with equal columns; skip existing ones.

    Slower than arrays, but it supports columns that are arrays themselves.
    """
    if not documents:
        return 0
    columns = list(documents[0])
    names = ", ".join(columns)
    statement = (
        f"INSERT INTO retail.{table} ({names}) SELECT {names}"  # noqa: S608 -- names are checked against the catalogue of columns by the callers
        f" FROM jsonb_populate_recordset(null::retail.{table}, %s::jsonb)"
        f" ON CONFLICT ({unless}) DO NOTHING"
    )
    return execute(statement, json.dumps([dict(row) for row in documents], default=str))


def columns_of(table: str) -> frozenset[str]:
    """Return the column names of `retail.table`, from the catalogue of the database."""
    names: list[str] = fetch_value(
        "SELECT array_agg(attname::text) FROM pg_attribute"
        " WHERE attrelid = ('retail.' || %s)::regclass AND attnum > 0 AND NOT attisdropped",
        table,
    )
    return frozenset(names)


def moved_columns(before: Mapping[str, object], changes: Mapping[str, object]) -> Moved:
    """Return the columns that `changes` would change, as [before, after]."""
    return {name: [before[name], value] for name, value in changes.items() if before[name] != value}
