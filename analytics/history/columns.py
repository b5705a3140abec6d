"""The description of a table: its name, its rows, and the name, type and unit of each column.

Types are those of SQL, as in `inventory.tables.captured`. docs/reference/history-tables.md is
generated from these values, and the Parquet schemas are made of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

import pyarrow as pa

from analytics.history.notes import NOTES
from inventory.tables.captured import BIGINT, BIGINTS, BOOLEAN, DATE, INTEGER, TEXT, TIME

TEXTS: Final = "text[]"
ARROW: Final[dict[str, Any]] = {
    BIGINT: pa.int64(),
    BIGINTS: pa.list_(pa.int64()),
    BOOLEAN: pa.bool_(),
    DATE: pa.date32(),
    INTEGER: pa.int32(),
    TEXT: pa.string(),
    TEXTS: pa.list_(pa.string()),
    TIME: pa.timestamp("us", tz="UTC"),
}
# Suffixes of column names and their units (docs/domain.md 0). The first match is used.
_UNITS: Final = (
    ("_units", "units"),
    ("_minor", "minor units"),
    ("_micro", "millionths"),
    ("_permille", "thousandths"),
    ("_bp", "hundredths of a percent"),
    ("_centidays", "hundredths of a day"),
    ("_minutes", "minutes"),
    ("_hours", "hours"),
    ("_days", "days"),
    ("_windows", "windows of ten minutes"),
    ("_packs", "packs"),
    ("_lines", "lines"),
)
# Sources of a table: the log up to an offset, one run, or the comparison of two runs.
OF_LOG: Final = "log"
OF_RUN: Final = "run"
OF_DIFF: Final = "diff"


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `note` is its meaning; if it is empty, `NOTES` may have the meaning."""

    name: str
    kind: str
    note: str = ""

    @property
    def unit(self) -> str:
        """Return the unit, or an empty text."""
        if self.kind == TIME:
            return "UTC"
        if self.kind not in (BIGINT, INTEGER, BIGINTS):
            return ""
        return next((unit for end, unit in _UNITS if self.name.endswith(end)), "")


@dataclass(frozen=True, slots=True)
class HistoryTable:
    """One table. `grain` describes a row; each file has its rows sorted by the columns `order`."""

    name: str
    source: str
    grain: str
    columns: tuple[Column, ...]
    order: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all columns."""
        return tuple(column.name for column in self.columns)

    def note_of(self, column: Column) -> str:
        """Return the column's note, or else that of `NOTES` for `table.column` or `column`."""
        return column.note or NOTES.get(f"{self.name}.{column.name}") or NOTES.get(column.name, "")

    @property
    def schema(self) -> Any:  # noqa: ANN401 -- pyarrow ships no types
        """Return the schema of the table's Parquet files."""
        return pa.schema([(column.name, ARROW[column.kind]) for column in self.columns])

    def arrow(self, rows: Iterable[tuple[Any, ...]]) -> Any:  # noqa: ANN401 -- pyarrow ships no types
        """Return `rows` as an Arrow table. A row's values are in the order of the columns."""
        columns = list(zip(*rows, strict=True)) or [()] * len(self.columns)
        arrays = [
            pa.array(values, ARROW[column.kind])
            for column, values in zip(self.columns, columns, strict=True)
        ]
        return pa.table(arrays, schema=self.schema)


KEY: Final = (
    Column("inv_key", TEXT, "`STORE\\|SKU`"),
    Column("store", TEXT, "location of the item"),
    Column("sku", TEXT),
)
KEYWORD: Final = "a keyword of SQL, so write `t.offset`"
POSITION: Final = (
    Column("partition", INTEGER),
    Column("offset", BIGINT, f"offset of the record; {KEYWORD}"),
)

_EPOCH: Final = date(1970, 1, 1)
_LONGEST: Final = 1 << 63
_LAST_DAY: Final = (date.max - _EPOCH).days
# Times that Python, DuckDB and Spark can all show: the years 1 to 9999.
_FIRST_US: Final = -62_135_596_800_000_000
_END_US: Final = 253_402_300_800_000_000


def value_as(kind: str, found: object) -> Any:  # noqa: ANN401 -- of the column's type
    """Return a column's value from a Debezium record as type `kind`; None if it is of another type.

    Postgres checks the types of its columns, so only values of a forged record become None.
    """
    return _READERS[kind](found)


def _bigint(found: object) -> int | None:
    return found if type(found) is int and -_LONGEST <= found < _LONGEST else None


def _integer(found: object) -> int | None:
    return found if type(found) is int and -(1 << 31) <= found < 1 << 31 else None


def _time(found: object) -> int | None:
    return found if type(found) is int and _FIRST_US <= found < _END_US else None


def _text(found: object) -> str | None:
    return found if type(found) is str else None


def _boolean(found: object) -> bool | None:
    return found if type(found) is bool else None


def _date(found: object) -> date | None:
    """Return a date that Debezium wrote as days since 1970, or as ISO text such as 2026-03-08Z."""
    if type(found) is int and 0 <= found <= _LAST_DAY:
        return _EPOCH + timedelta(days=found)
    try:
        return date.fromisoformat(found.removesuffix("Z")) if type(found) is str else None
    except ValueError:
        return None


def _bigints(found: object) -> list[int | None] | None:
    return [_bigint(one) for one in found] if type(found) is list else None


_READERS: Final = {
    BIGINT: _bigint,
    BIGINTS: _bigints,
    BOOLEAN: _boolean,
    DATE: _date,
    INTEGER: _integer,
    TEXT: _text,
    TIME: _time,
}
