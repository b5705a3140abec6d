"""The command for questions in SQL: an answer, or the address for another program."""

import csv
import sys
from itertools import islice
from typing import Annotated, Final

import typer

from deploy import output
from deploy.errors import StackError
from deploy.stack.home import Home, default_home

SHOWN_ROWS: Final = 200
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command()(sql)


def sql(
    statement: Annotated[str, typer.Argument(help="One SELECT; without it, the address.")] = "",
    *,
    as_csv: Annotated[bool, typer.Option("--csv", help="Every row as CSV.")] = False,
    json: Json = False,
) -> None:
    """Ask Postgres as a reader, or print the address for psql and notebooks, without password."""
    from deploy.stack import reading  # noqa: PLC0415 -- only this verb needs the driver

    if as_csv and json:
        message = "--csv and --json together: expected one of them"
        raise StackError(message)
    home = Home(default_home())
    if not statement:
        address = reading.reading_address(home)
        output.as_json({"address": address}) if json else output.plain(address)
        return
    with reading.answer(home, statement) as (columns, rows):
        if as_csv:
            csv.writer(sys.stdout).writerows([columns, *rows])
        elif json:
            output.as_json([dict(zip(columns, row, strict=True)) for row in rows])
        else:
            shown = list(islice(rows, SHOWN_ROWS))
            more = f", the first {SHOWN_ROWS}: --csv prints all" if next(rows, None) else ""
            output.table("", columns, shown)
            # On standard error, so that standard output holds only the rows.
            output.errors.print(f"{len(shown)} rows{more}")
