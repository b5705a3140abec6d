"""Output of a query: the first rows as a table, or all rows as CSV, JSON or Parquet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from deploy import output
from inventory.explain.formatting import counted_text

SHOWN_ROWS: Final = 200


@dataclass(frozen=True, slots=True)
class Form:
    """The format of the output: CSV, JSON or a Parquet file; a table if no field is set."""

    as_csv: bool = False
    json: bool = False
    parquet: Path | None = None


def print_rows(columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    """Print the first rows as a table, and their number on standard error."""
    shown = list(islice(rows, SHOWN_ROWS))
    more = f", the first {SHOWN_ROWS}: --csv prints all" if next(rows, None) else ""
    output.table("", columns, shown)
    # On standard error, so that standard output holds only the rows.
    output.errors.print(f"{counted_text(len(shown), 'row')}{more}")
