"""Output of a query over the history: times as text in UTC, decimals as floating-point numbers."""

import csv
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from analytics.history.duck import Answer
from deploy import output
from deploy.cli.query_output import Form, as_number, print_json, print_rows
from inventory.explain.formatting import counted_text


def show(answer: Answer, form: Form) -> None:
    """Write the rows of `answer` in the format `form`: to standard output, or to a Parquet file."""
    if form.parquet is not None:
        rows = answer.write_parquet(form.parquet)
        output.errors.print(f"wrote {counted_text(rows, 'row')} to {form.parquet}")
    elif form.as_csv:
        csv.writer(sys.stdout).writerow(answer.columns)
        csv.writer(sys.stdout).writerows(_texts(row) for row in answer.rows())
    elif form.json:
        print_json(answer.columns, ([_plain(cell) for cell in row] for row in answer.rows()))
    else:
        print_rows(answer.columns, (_texts(row) for row in answer.rows()))


def _texts(row: Sequence[Any]) -> list[Any]:
    return [", ".join(map(str, cell)) if isinstance(cell, list) else _plain(cell) for cell in row]


def _plain(cell: Any) -> Any:  # noqa: ANN401 -- of any SQL type
    """Return a time as ISO text in UTC, a decimal as a float, and any other value unchanged."""
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ").replace("+00:00", "Z")
    return as_number(cell)
