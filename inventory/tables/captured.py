"""The description of a captured table. Each table's module has one, in the constant `TABLE`."""

from collections.abc import Callable
from typing import Final

from inventory.model.fact import Fact
from inventory.model.value import value
from inventory.tables.columns import Row

BIGINT: Final = "bigint"
BIGINTS: Final = "bigint[]"
BOOLEAN: Final = "boolean"
DATE: Final = "date"
INTEGER: Final = "integer"
TEXT: Final = "text"
TIME: Final = "timestamp with time zone"

# Columns of every captured table (domain.md 2.6).
COMMON: Final = (
    ("id", BIGINT),
    ("inv_key", TEXT),
    ("location", TEXT),
    ("sku", TEXT),
    ("recorded_at", TIME),
    ("recorded_by", TEXT),
)

Columns = tuple[tuple[str, str], ...]
Parser = Callable[[str, Row], Fact]


@value
class CapturedTable:
    """A table of schema `retail` whose changes are records of `stock.events`.

    `columns` are the table's columns with their SQL types, in the order of domain.md 2.6. The
    columns that all tables have (`COMMON`) are not among them. `parse` takes the key and a row
    image, and returns the fact or raises `Rejected`. `has_movements` is True if the table's rows
    can change on-hand or unavailable. `has_inbound` is True if they can change on-order or
    in-transit.
    """

    name: str
    columns: Columns
    parse: Parser
    has_movements: bool = False
    has_inbound: bool = False

    @property
    def times(self) -> tuple[str, ...]:
        """Return the `timestamptz` columns. Decoding turns them into µs since 1970 UTC."""
        return tuple(name for name, kind in (*COMMON, *self.columns) if kind == TIME)
