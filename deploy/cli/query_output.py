"""Output of a query: the first rows as a table, or all rows as CSV, JSON or Parquet."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, Final

from deploy import output
from deploy.errors import StackError
from inventory.explain.formatting import counted_text

SHOWN_ROWS: Final = 200


@dataclass(frozen=True, slots=True)
class Form:
    """The format of the output: CSV, JSON or a Parquet file. If no field is set, it is a table."""

    as_csv: bool = False
    json: bool = False
    parquet: Path | None = None


def print_json(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print all rows as a JSON list of objects, with decimals as numbers.

    Raises:
        StackError: two columns have the same name, so an object would lose one of them.
    """
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        message = (
            f"several columns have the name {', '.join(twice)}: name each with AS, because a JSON "
            "object can't have a name twice"
        )
        raise StackError(message)
    output.as_json([dict(zip(columns, map(as_number, row), strict=True)) for row in rows])


def as_number(cell: Any) -> Any:  # noqa: ANN401 -- of any SQL type
    """Return a decimal as a float, also in a list, and any other value unchanged."""
    if isinstance(cell, list):
        return [as_number(each) for each in cell]
    return float(cell) if isinstance(cell, Decimal) else cell


def print_rows(columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    """Print the first 200 rows as a table, and their number on standard error."""
    shown = list(islice(rows, SHOWN_ROWS))
    more = f", the first {SHOWN_ROWS}: --csv prints all" if next(rows, None) else ""
    output.table("", columns, shown)
    # On standard error, so that standard output holds only the rows.
    output.errors.print(f"{counted_text(len(shown), 'row')}{more}")
