"""Wrong rows of the database: a level, a window row, a proposal with another id.

A row version of Postgres has an address (`ctid`) and the transaction that wrote it (`xmin`). While
both are unchanged, no write has replaced the wrong row, so every database snapshot since then
contains it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, LiteralString

import psycopg
from psycopg import sql

from bench.verification.shop import PlantFailed

_IS_IT: Final = sql.SQL("ctid = %(ctid)s::tid AND xmin::text = %(xmin)s")
_NEED: Final = """
SELECT reorder_id, (SELECT count(*) FROM app.reorder_proposal WHERE inv_key = %(key)s)
FROM app.reorder_proposal WHERE inv_key = %(key)s AND status IN ('open', 'snoozed')
"""
_UNDECIDED: Final = """
SELECT inv_key FROM app.reorder_proposal
WHERE inv_key = ANY(%(keys)s) AND status = 'open' AND decided_at IS NULL
ORDER BY opened_at, inv_key LIMIT 1
"""
# This statement also sets `updated_at` to now, because simulated buyers decide only older
# proposals.
_RENAME: Final = """
UPDATE app.reorder_proposal SET reorder_id = %(other)s, updated_at = clock_timestamp()
WHERE reorder_id = %(is)s RETURNING ctid::text, xmin::text
"""


@dataclass(frozen=True, slots=True)
class Planted:
    """A wrong row of the key `what`; `is_there` returns True while no write replaced it."""

    what: str
    is_there: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Counter:
    """A numeric column of a table, in the newest row of a key."""

    table: tuple[LiteralString, LiteralString]
    column: LiteralString
    order: LiteralString

    def change(self) -> sql.Composed:
        """Return the statement that adds 1 to the column."""
        return sql.SQL(
            "UPDATE {table} SET {column} = {column} + 1 WHERE ctid = (SELECT ctid FROM {table}"
            " WHERE inv_key = %(key)s ORDER BY {order} DESC LIMIT 1 FOR UPDATE)"
            " RETURNING ctid::text, xmin::text"
        ).format(**self._names())

    def back(self) -> sql.Composed:
        """Return the statement that undoes the change, unless the row has been replaced."""
        text = sql.SQL("UPDATE {table} SET {column} = {column} - 1 WHERE ")
        return text.format(**self._names()) + _IS_IT

    def is_there(self) -> sql.Composed:
        """Return the query that finds the wrong row while no write has replaced it."""
        return sql.SQL("SELECT FROM {table} WHERE ").format(**self._names()) + _IS_IT

    def _names(self) -> dict[str, sql.Composable]:
        return {
            "table": sql.Identifier(*self.table),
            "column": sql.Identifier(self.column),
            "order": sql.Identifier(self.order),
        }


LEVEL_COUNTER: Final = Counter(("read_model", "stock"), "on_hand_units", "offset")
WINDOW_COUNTER: Final = Counter(("read_model", "sales_window"), "sold_units", "start_us")
_PROPOSALS: Final = Counter(("app", "reorder_proposal"), "revision", "revision")


@contextmanager
def counter(connection: psycopg.Connection, which: Counter, key: str) -> Iterator[Planted]:
    """Add 1 to the column within the block. Yield the wrong row.

    The row's offset doesn't change. So the projector's next upsert of the key replaces the row.
    """
    found = connection.execute(which.change(), {"key": key}).fetchone()
    if found is None:
        problem = f"{'.'.join(which.table)} has no row of {key}"
        raise PlantFailed(problem)
    row = {"ctid": found[0], "xmin": found[1]}
    try:
        yield Planted(key, lambda: _exists(connection, which, row))
    finally:
        connection.execute(which.back(), row)


def undecided_need(connection: psycopg.Connection, keys: Sequence[str]) -> str:
    """Return the key of `keys` with the oldest proposal that is open and has no decision.

    Raises:
        PlantFailed: no key of `keys` has such a proposal.
    """
    found = connection.execute(_UNDECIDED, {"keys": list(keys)}).fetchone()
    if found is None:
        problem = f"app.reorder_proposal has no undecided row of {keys[0]} to {keys[-1]}"
        raise PlantFailed(problem)
    return str(found[0])


@contextmanager
def proposal(connection: psycopg.Connection, key: str) -> Iterator[Planted]:
    """Within the block, give the proposal of an open need another id: the need lacks a proposal.

    The new id belongs to an earlier generation. When a worker sends the open need again, the
    actuator writes its proposal again, which supersedes the renamed row.
    """
    need = connection.execute(_NEED, {"key": key}).fetchone()
    if need is None:
        problem = f"app.reorder_proposal has no open row of {key}"
        raise PlantFailed(problem)
    name = {"is": need[0], "other": f"{need[0].rpartition(':')[0]}:0-{need[1]}"}
    found = connection.execute(_RENAME, name).fetchone()
    row = {} if found is None else {"ctid": found[0], "xmin": found[1]}
    try:
        yield Planted(key, lambda: _exists(connection, _PROPOSALS, row))
    finally:
        with suppress(psycopg.errors.UniqueViolation):  # a worker has just sent the need again
            connection.execute(
                sql.SQL("UPDATE app.reorder_proposal SET reorder_id = %(is)s WHERE ") + _IS_IT,
                name | row,
            )


def _exists(connection: psycopg.Connection, which: Counter, row: dict[str, str]) -> bool:
    return connection.execute(which.is_there(), row).fetchone() is not None
