"""Inserts of many rows in one statement, whose parameters are one array per column.

`unnest` yields the elements in order, and Postgres assigns ids in that order. So the ids, and the
offsets of a key's records in Kafka, follow the order of the caller's rows.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from ledger.kernel.transactions import execute, fetch_column, fetch_value

# The element type of each column's array.
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


# Changed columns with their values: {column: [before, after]}.
Moved = dict[str, list[object]]


def insert_many(
    table: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, unless: str = ""
) -> int:
    """Insert rows into `retail.table`, in order; return the number inserted.

    Each row has the values of `columns`, which must include location and sku; `inv_key` is computed
    from them. `unless` names the columns of a unique constraint, for example "source, source_ref":
    a row that violates the constraint is skipped. Without `unless` such a row raises an error.
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


def insert_documents(
    table: str, documents: Sequence[Mapping[str, object]], *, unless: str
) -> list[str]:
    """Insert rows into `retail.table`, given as mappings with the same columns.

    `unless` is a unique column. A row is skipped if the table or an earlier row has the same value
    in this column. Return the column's values in the inserted rows. This is slower than
    `insert_many`, but it supports columns that are arrays.
    """
    if not documents:
        return []
    columns = list(documents[0])
    names = ", ".join(columns)
    statement = (
        f"INSERT INTO retail.{table} ({names}) SELECT {names}"  # noqa: S608 -- names are checked against the catalogue of columns by the callers
        f" FROM jsonb_populate_recordset(null::retail.{table}, %s::jsonb)"
        f" ON CONFLICT ({unless}) DO NOTHING RETURNING {unless}"
    )
    return fetch_column(statement, json.dumps([dict(row) for row in documents], default=str))


def columns_of(table: str) -> frozenset[str]:
    """Return the column names of `retail.table`, from the catalogue of the database."""
    names: list[str] = fetch_value(
        "SELECT array_agg(attname::text) FROM pg_attribute"
        " WHERE attrelid = ('retail.' || %s)::regclass AND attnum > 0 AND NOT attisdropped",
        table,
    )
    return frozenset(names)


def moved_columns(before: Mapping[str, object], changes: Mapping[str, object]) -> Moved:
    """Return {column: [before, after]} for the columns whose value differs from `before`."""
    return {name: [before[name], value] for name, value in changes.items() if before[name] != value}
