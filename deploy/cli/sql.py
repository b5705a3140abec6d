"""The command for SQL: it runs a query, or prints the address for another program."""

import csv
import sys
from itertools import islice
from typing import Annotated, Final

import typer

from deploy import output
from deploy.errors import StackError
from deploy.stack.home import Home, default_home

SHOWN_ROWS: Final = 200
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command()(sql)


def sql(
    statement: Annotated[
        str, typer.Argument(help="One SELECT. Without it, the command prints the address.")
    ] = "",
    *,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print all rows as CSV.")] = False,
    json: Json = False,
) -> None:
    """Run a read-only query, or print the database address for psql and notebooks.

    The address contains no password: it names a password file.
    """
    from deploy.stack import sql_access  # noqa: PLC0415 -- only this verb needs the driver

    if as_csv and json:
        message = "--csv and --json together: expected one of them"
        raise StackError(message)
    home = Home(default_home())
    if not statement:
        address = sql_access.read_only_url(home)
        output.as_json({"address": address}) if json else output.plain(address)
        return
    with sql_access.run_query(home, statement) as (columns, rows):
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
