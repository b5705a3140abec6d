"""All tables of a history, in the order in which people read them."""

from typing import Final

from analytics.backfill.diff.tables import SCHEMAS
from analytics.history.columns import ARROW, OF_DIFF, Column, HistoryTable
from analytics.history.log_tables import LOG_TABLES
from analytics.history.notes import DIFF_NOTES
from analytics.history.run_tables import RUN_TABLES

_GRAINS: Final = {
    "reorders": "need that only one run has, or pair of needs that differ",
    "prices": "price proposal that only one run has, or pair of proposals that differ",
    "groups": "group of differences, such as supplier ACME in reorders, with counts and sums",
}
_SIDES: Final = {"a_": "run A", "b_": "run B", "delta_": "B minus A"}


def diff_name(file: str) -> str:
    """Return the name of the table with the rows of a file that `backfill diff --out` writes."""
    return f"diff_{file}"


def _diff_table(name: str) -> HistoryTable:
    kinds = {str(arrow): kind for kind, arrow in ARROW.items()}
    columns = tuple(
        Column(field.name, kinds[str(field.type)], _side(name, field.name))
        for field in SCHEMAS[name]
    )
    return HistoryTable(diff_name(name), OF_DIFF, _GRAINS[name], columns)


def _side(table: str, name: str) -> str:
    """Return the note of the column `name` in a table of differences.

    If `DIFF_NOTES` has a note for the table and the complete name, return this note. Otherwise the
    note begins with the run that the prefix names: `a_` is run A, `b_` is run B, `delta_` is B
    minus A. The note of the name without prefix follows.
    """
    if (whole := DIFF_NOTES.get(f"{table}.{name}")) is not None:
        return whole
    start = next((start for start in _SIDES if name.startswith(start)), "")
    plain = name.removeprefix(start)
    meaning = DIFF_NOTES.get(f"{table}.{plain}", DIFF_NOTES.get(plain, ""))
    return f"{_SIDES[start]}: {meaning}".removesuffix(": ") if start else meaning


DIFF_TABLES: Final = tuple(_diff_table(name) for name in SCHEMAS)
TABLES: Final = (*RUN_TABLES, *LOG_TABLES, *DIFF_TABLES)
BY_NAME: Final = {table.name: table for table in TABLES}
