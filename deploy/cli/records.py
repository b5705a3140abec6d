"""Reads rejected records for the command line."""

import base64
from collections.abc import Mapping
from typing import Any, Final

import psycopg
from psycopg.rows import dict_row

from deploy.errors import StackError

_COLUMNS: Final = (
    'id, generation, partition, "offset", reason, stage, detail, logic_revision, commit_us, seen_at'
)
_NEWEST: Final = f"SELECT {_COLUMNS} FROM read_model.rejected ORDER BY seen_at DESC, id LIMIT %s"  # noqa: S608 -- a constant
_ONE: Final = f"SELECT {_COLUMNS}, key, value FROM read_model.rejected WHERE id = %s"  # noqa: S608 -- a constant


def newest(environment: Mapping[str, str], limit: int) -> list[dict[str, Any]]:
    """The newest rejected records."""
    if limit < 1:
        message = f"--limit {limit}: expected 1 or more"
        raise StackError(message)
    return _rows(environment, _NEWEST, limit)


def one(environment: Mapping[str, str], identity: str) -> dict[str, Any]:
    """One record with key and value, as text where they are text and as base64 always."""
    rows = _rows(environment, _ONE, identity)
    if not rows:
        message = f"no rejected record {identity!r}: expected an id of `inventory rejected list`"
        raise StackError(message)
    row = rows[0]
    for name in ("key", "value"):
        content = row.pop(name)
        data = None if content is None else bytes(content)
        row[f"{name}_base64"] = None if data is None else base64.b64encode(data).decode()
        row[name] = None if data is None else data.decode("utf-8", errors="replace")
    return row


def _rows(environment: Mapping[str, str], statement: str, value: object) -> list[dict[str, Any]]:
    url = environment["INVENTORY_READ_DATABASE_URL"]
    with psycopg.connect(url, connect_timeout=5, row_factory=dict_row) as connection:
        return connection.execute(statement, (value,)).fetchall()
