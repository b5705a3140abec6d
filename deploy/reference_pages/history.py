"""The page about the history tables: their columns with types and units, and the questions."""

from collections.abc import Iterator
from typing import Final

from analytics.history.catalogue import TABLES
from analytics.history.columns import OF_DIFF, OF_LOG, OF_RUN, HistoryTable
from analytics.history.questions import questions

_SOURCES: Final = {
    OF_RUN: "one finished run",
    OF_LOG: "the archived log, up to the end of the run",
    OF_DIFF: "the directory that `inventory backfill diff A B --out DIR` writes",
}


def page() -> str:
    """Return the page docs/reference/history-tables.md without its heading."""
    lines = [
        "These tables have the history of all stores: the archived records of the topic",
        "`stock.events` (the log), and the results of a recomputation from these records (a run).",
        "To read the tables, use `inventory sql --history` or `analytics.spark()`.",
        "[Query history](../roles/analyst.md#query-history) has examples. `inventory backfill",
        "tables` writes the files: one Parquet file per table and partition, sorted by the columns",
        "that each table names.",
        "",
        "Times are UTC. Money is in minor units, for example cents. `store` is the column",
        "`location` of Postgres. A row is *in force* if its newest accepted record is not a",
        "deletion. The [glossary](glossary.md) explains further terms.",
        "",
        "| table | one row per |\n|---|---|",
        *(f"| [`{table.name}`](#{table.name}) | {table.grain} |" for table in TABLES),
        "",
        "## Questions",
        "`inventory sql --question` answers one of these questions by its name. The files are in",
        "`analytics/questions`.",
        "",
        "| name | question |\n|---|---|",
        *(f"| `{one.name}` | {one.text} |" for one in questions()),
    ]
    for source, text in _SOURCES.items():
        lines += ["", f"## Tables of {text}"]
        for table in TABLES:
            if table.source == source:
                lines += _table(table)
    return "\n".join(lines) + "\n"


def _table(table: HistoryTable) -> Iterator[str]:
    yield f"\n### {table.name}"
    ordered = ", ".join(f"`{name}`" for name in table.order)
    yield f"One row per {table.grain}." + (f" Sorted by {ordered}." if ordered else "")
    yield ""
    yield "| column | type | unit | note |\n|---|---|---|---|"
    for column in table.columns:
        cells = (f"`{column.name}`", column.kind, column.unit, table.note_of(column))
        yield f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")
