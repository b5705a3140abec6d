"""Multi-row statements over `unnest`: one round trip per batch, typed, no temporary tables."""

from collections.abc import Mapping, Sequence
from typing import LiteralString

from psycopg import sql

from inventory.model.value import value
from streams.sinks.positions import Connection

Row = Mapping[str, object]


@value
class Table:
    """A table that a sink writes: its columns with their Postgres types, in order.

    `newer` is the condition for replacing a stored row (`kept`); None never replaces one. A null
    does not overwrite a column in `kept_if_null`.
    """

    name: str
    key: tuple[str, ...]
    columns: Mapping[str, LiteralString]
    newer: LiteralString | None
    kept_if_null: tuple[str, ...] = ()
    set_on_update: LiteralString = ""

    def statement(self) -> sql.Composed:
        """Return `INSERT … SELECT FROM unnest … ON CONFLICT …`, one array parameter per column."""
        names = sql.SQL(", ").join(map(sql.Identifier, self.columns))
        arrays = sql.SQL(", ").join(
            sql.SQL("{}::text[]" if kind in CAST_FROM_TEXT else f"{{}}::{kind}[]").format(
                sql.Placeholder()
            )
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


# Arrays of these would be flattened or need a wrapper per element, so they are sent as text.
CAST_FROM_TEXT = ("jsonb", "text[]")


def upsert(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Write all rows in one statement. The caller has made them unique by key."""
    if rows:
        arrays = [[row[name] for row in rows] for name in table.columns]
        connection.execute(table.statement(), arrays)


def plain_text(text: str) -> str:
    """Return text that Postgres can store: without NUL and lone surrogates."""
    return (
        text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\N{REPLACEMENT CHARACTER}")
    )
