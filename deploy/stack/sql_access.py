"""Read-only SQL access to the stack's Postgres for people: role `app_ro`, read-only session.

The URL has the path of a password file instead of the password. So people can print and paste the
URL, and a process list may show it. Every client that uses libpq accepts such a URL.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow

from deploy.errors import StackError
from deploy.stack.home import Home
from deploy.stack.runtime import environment_of

# Options of the session. A name without a schema is looked up in this order: facts, the workers'
# results, people's decisions.
_OPTIONS: Final = "-c default_transaction_read_only=on -c search_path=retail,read_model,app"
_CHUNK_ROWS: Final = 1000


def _parts(home: Home) -> dict[str, str]:
    found = conninfo_to_dict(environment_of(home)["INVENTORY_READ_DATABASE_URL"])
    return {name: str(value) for name, value in found.items()}


def read_only_url(home: Home) -> str:
    """Write the password file, and return the read-only URL of the running stack's database.

    Raises:
        StackError: no stack runs in this home.
    """
    parts = _parts(home)
    place = f"{parts['host']}:{parts['port']}"
    file = home.path / "pgpass"
    secret = parts.get("password", "").replace("\\", "\\\\").replace(":", "\\:")
    _write_private(file, f"{place}:{parts['dbname']}:{parts['user']}:{secret}\n")
    options = f"passfile={quote(str(file), safe='/')}&options={quote(_OPTIONS)}"
    return f"postgresql://{parts['user']}@{place}/{parts['dbname']}?{options}"


def _write_private(file: Path, text: str) -> None:
    # libpq ignores a password file that other accounts may read.
    staged = file.with_name(f".{file.name}.{os.getpid()}")
    with os.fdopen(os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
        opened.write(text)
    staged.replace(file)


@contextmanager
def run_query(home: Home, statement: str) -> Iterator[tuple[list[str], Iterator[TupleRow]]]:
    """Yield the column names and an iterator over the rows of one statement.

    The rows are fetched in chunks of 1000 while the caller iterates.

    Raises:
        StackError: no stack runs, Postgres can't be reached, or it refuses the statement.
    """
    opened = _connected(read_only_url(home))
    try:
        with opened as connection:
            cursor = connection.execute(_as_bytes(statement))
            columns = [column.name for column in cursor.description or ()]
            yield columns, _rows(cursor)
    except psycopg.Error as refusal:
        message = f"Postgres refused the statement: {str(refusal).strip()}"
        raise StackError(message) from refusal


def _connected(url: str) -> psycopg.Connection[TupleRow]:
    try:
        return psycopg.connect(url)
    except psycopg.OperationalError as failure:
        message = f"no connection to Postgres, nothing was read: {str(failure).strip()}"
        raise StackError(message, repair="inventory restart postgres") from failure


def _as_bytes(statement: str) -> bytes:
    # The type checker accepts only literal strings as statements, but any bytes.
    return statement.encode()


def _rows(cursor: psycopg.Cursor[Any]) -> Iterator[TupleRow]:
    while cursor.description and (rows := cursor.fetchmany(_CHUNK_ROWS)):
        yield from rows
