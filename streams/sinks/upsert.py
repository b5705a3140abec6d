"""Upserts of many rows in one SQL statement, with one array parameter per column (`unnest`)."""

from collections.abc import Mapping, Sequence
from typing import Final, LiteralString

from psycopg import sql
from psycopg.adapt import PyFormat

from inventory.model.value import value
from streams.sinks.positions import Connection

Row = Mapping[str, object]


@value
class Table:
    """A table that a sink writes. `columns` are its columns with their Postgres types, in order.

    `newer` is the SQL condition on which a new row replaces the stored one. It names the new row
    `excluded` and the stored row `kept`. If it is None, no stored row is replaced. In the columns
    `kept_if_null`, null doesn't replace a stored value. `set_on_update` is added to the SET clause.
    """

    name: str
    key: tuple[str, ...]
    columns: Mapping[str, LiteralString]
    newer: LiteralString | None
    kept_if_null: tuple[str, ...] = ()
    set_on_update: LiteralString = ""

    def statement(self) -> sql.Composed:
        """Return the statement `INSERT … SELECT … FROM unnest(…) ON CONFLICT …`.

        It has one array parameter per column.
        """
        names = sql.SQL(", ").join(map(sql.Identifier, self.columns))
        arrays = sql.SQL(", ").join(
            sql.SQL("{}::text[]" if kind in CAST_FROM_TEXT else f"{{}}::{kind}[]").format(_BINARY)
            for kind in self.columns.values()
        )
        picked = sql.SQL(", ").join(
            sql.SQL("fresh.{}" + (f"::{kind}" if kind in CAST_FROM_TEXT else "")).format(
                sql.Identifier(name)
            )
            for name, kind in self.columns.items()
        )
        return sql.SQL(
            "INSERT INTO {table} AS kept ({names}) SELECT {picked} FROM unnest({arrays})"
            " AS fresh ({names}) ON CONFLICT ({key}) DO {action}"
        ).format(
            table=sql.Identifier(*self.name.split(".")),
            names=names,
            picked=picked,
            arrays=arrays,
            key=sql.SQL(", ").join(map(sql.Identifier, self.key)),
            action=self._action(),
        )

    def _action(self) -> sql.Composable:
        if self.newer is None:
            return sql.SQL("NOTHING")
        sets = sql.SQL(", ").join(
            sql.SQL(
                "{0} = coalesce(excluded.{0}, kept.{0})"
                if name in self.kept_if_null
                else "{0} = excluded.{0}"
            ).format(sql.Identifier(name))
            for name in self.columns
            if name not in self.key
        )
        return sql.SQL("UPDATE SET ") + sets + sql.SQL(self.set_on_update + " WHERE " + self.newer)


# In an array in text form, the client would escape each quote of a state, and Postgres would remove
# the escapes. For a level, that takes fifty times as long as the binary form (decision 0058).
_BINARY: Final = sql.Placeholder(format=PyFormat.BINARY)
# Values of these types are sent as text and cast. An array of arrays would be flattened by unnest,
# and psycopg needs a wrapper object for each jsonb value.
CAST_FROM_TEXT = ("jsonb", "text[]")


def upsert(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert or update all `rows` in one statement. No two rows may have the same key."""
    if rows:
        arrays = [[row[name] for row in rows] for name in table.columns]
        connection.execute(table.statement(), arrays)


def plain_text(text: str) -> str:
    """Return `text` with NUL and lone surrogates replaced, because Postgres can't store them."""
    return (
        text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\N{REPLACEMENT CHARACTER}")
    )
