"""How people read the stack's Postgres in SQL: as `app_ro`, in a session that writes nothing.

The address names a file for the password instead of the password, so it can be printed, pasted and
seen in a list of processes. Everything that is built on libpq understands it.
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

# Facts first, then what the workers make of them, then what people decide.
_OPTIONS: Final = "-c default_transaction_read_only=on -c search_path=retail,read_model,app"
_CHUNK_ROWS: Final = 1000


def _parts(home: Home) -> dict[str, str]:
    found = conninfo_to_dict(environment_of(home)["INVENTORY_READ_DATABASE_URL"])
    return {name: str(value) for name, value in found.items()}


def reading_address(home: Home) -> str:
    """The address of the running stack's database for readers; writes the file with the password.

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
    # libpq ignores a file that others may read.
    staged = file.with_name(f".{file.name}.{os.getpid()}")
    with os.fdopen(os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
        opened.write(text)
    staged.replace(file)


@contextmanager
def answer(home: Home, statement: str) -> Iterator[tuple[list[str], Iterator[TupleRow]]]:
    """Column names and rows of one statement, fetched as they are read.

    Raises:
        StackError: no stack runs, or Postgres refuses the statement.
    """
    try:
        with psycopg.connect(reading_address(home)) as connection:
            cursor = connection.execute(_as_bytes(statement))
            columns = [column.name for column in cursor.description or ()]
            yield columns, _rows(cursor)
    except psycopg.Error as refusal:
        message = f"Postgres says: {str(refusal).strip()}"
        raise StackError(message) from refusal


def _as_bytes(statement: str) -> bytes:
    # The text of a person at his own terminal is no template: bytes take any statement.
    return statement.encode()


def _rows(cursor: psycopg.Cursor[Any]) -> Iterator[TupleRow]:
    while cursor.description and (rows := cursor.fetchmany(_CHUNK_ROWS)):
        yield from rows
