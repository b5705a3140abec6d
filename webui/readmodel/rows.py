"""Run one SELECT and get typed rows.

The lists are hand-written SQL: keyset paging over a composite of captured tables and the read
model costs 5 ms per 50 rows, and a reader can paste each query into psql.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db import connection

T = TypeVar("T")

Parameters = Mapping[str, Any]


def select(sql: str, parameters: Parameters, row: type[T]) -> list[T]:
    """Every row of the answer as `row`, whose fields are named like the columns."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        names = [column.name for column in cursor.description or ()]
        return [row(**dict(zip(names, found, strict=True))) for found in cursor.fetchall()]


def select_one(sql: str, parameters: Parameters, row: type[T]) -> T | None:
    """The first row of the answer, or None."""
    found = select(sql, parameters, row)
    return found[0] if found else None


def select_value(sql: str, parameters: Parameters | None = None) -> Any:  # noqa: ANN401 -- the column's type is the query's
    """First column of the first row, None without a row."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters or {})
        found = cursor.fetchone()
        return None if found is None else found[0]
