"""SELECT statements of pages and jobs, limited to the stores of the person, with typed rows.

Queries are hand-written SQL, so that a reader can paste them into psql.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from django.db import connection

from ledger.access.narrowing import scoped

T = TypeVar("T")
# Postgres' type number of jsonb. Django returns jsonb as text; only its model fields parse it.
_JSONB: Final = 3802

Parameters = Mapping[str, Any]


def select(sql: str, parameters: Parameters, row: type[T]) -> list[T]:
    """Return every row of the result as `row`, a class with one field per column.

    During the request of a person, return only rows of that person's stores
    (`ledger.access.narrowing`).
    """
    with connection.cursor() as cursor:
        cursor.execute(*scoped(sql, parameters))
        columns = cursor.description or ()
        readers = [json.loads if column.type_code == _JSONB else _as_is for column in columns]
        return [
            row(
                **{
                    column.name: None if cell is None else read(cell)
                    for column, read, cell in zip(columns, readers, found, strict=True)
                }
            )
            for found in cursor.fetchall()
        ]


def _as_is(cell: Any) -> Any:  # noqa: ANN401 -- any SQL value
    return cell


def select_one(sql: str, parameters: Parameters, row: type[T]) -> T | None:
    """Return the first row of the result, or None."""
    found = select(sql, parameters, row)
    return found[0] if found else None


def select_value(sql: str, parameters: Parameters | None = None) -> Any:  # noqa: ANN401 -- the column's type is the query's
    """Return the first column of the first row, or None without a row."""
    with connection.cursor() as cursor:
        cursor.execute(*scoped(sql, parameters or {}))
        found = cursor.fetchone()
        return None if found is None else found[0]
