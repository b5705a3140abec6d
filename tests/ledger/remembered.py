"""Rows that are computed once and then copied into the database for each test that needs them."""

from collections.abc import Iterable, Mapping

import psycopg
from psycopg import sql

_OUT = sql.SQL("COPY {} TO STDOUT (FORMAT binary)")
_IN = sql.SQL("COPY {} FROM STDIN (FORMAT binary)")
# Bytes of the binary format for a table without rows: header and trailer.
_EMPTY_BYTES = 21


def rows_of(connection: psycopg.Connection, tables: Iterable[str]) -> dict[str, bytes]:
    """Return the rows of each table that has any, in the binary format of COPY."""
    found = {}
    for table in tables:
        with connection.cursor() as cursor, cursor.copy(_OUT.format(_name(table))) as copy:
            found[table] = b"".join(copy)
    return {table: content for table, content in found.items() if len(content) > _EMPTY_BYTES}


def write_rows(connection: psycopg.Connection, rows: Mapping[str, bytes]) -> None:
    """Write these rows into empty tables as they were, without running triggers."""
    connection.execute("SET session_replication_role = replica")
    for table, content in rows.items():
        with connection.cursor() as cursor, cursor.copy(_IN.format(_name(table))) as copy:
            copy.write(content)
    connection.execute("SET session_replication_role = origin")


def _name(table: str) -> sql.Identifier:
    return sql.Identifier(*table.split("."))
