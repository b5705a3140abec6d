"""`inventory sql`: run SQL on facts and results in Postgres, or on the history in DuckDB."""

import csv
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from deploy import output
from deploy.cli.backfill_options import FINISHED_RUN, Archive, WholeArchive, use_archive
from deploy.cli.query_output import Form, print_json, print_rows
from deploy.errors import StackError
from deploy.stack.home import Home, default_home

_LAST: Final = "last"
Statement = Annotated[
    str,
    typer.Argument(
        help="One SELECT. Without it, print the URL of Postgres; with --history, open a shell."
    ),
]
History = Annotated[
    bool, typer.Option("--history", help="Query archive and runs in DuckDB, without a stack.")
]
Run = Annotated[
    str | None,
    typer.Option(
        metavar="RUN",
        help=f"For --history: {FINISHED_RUN[0].lower()}{FINISHED_RUN[1:-1]}. `none` gives "
        "only the tables of the log. Default: `last`, the newest finished run.",
    ),
]
Diff = Annotated[
    Path | None,
    typer.Option(file_okay=False, help="Directory that `backfill diff --out` has written."),
]
Asked = Annotated[
    str, typer.Option(metavar="NAME", help="Run a prepared query; --questions lists their names.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Parquet = Annotated[
    Path | None,
    typer.Option(dir_okay=False, help="With --history: write all rows to this Parquet file."),
]


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command()(sql)


def sql(
    statement: Statement = "",
    *,
    history: History = False,
    run: Run = None,
    archive: Archive = "",
    whole_archive: WholeArchive = False,
    diff: Diff = None,
    question: Asked = "",
    questions: Annotated[
        bool, typer.Option("--questions", help="List the prepared queries.")
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print all rows as CSV.")] = False,
    json: Json = False,
    parquet: Parquet = None,
) -> None:
    """Run a read-only query on the stack's Postgres, or with --history on archive and runs.

    Without a statement, question or --history, the command prints the read-only URL of Postgres.
    The URL contains the path of a password file instead of the password. --history needs no running
    stack; docs/reference/history-tables.md lists its tables.
    """
    form = _form(as_csv=as_csv, json=json, parquet=parquet)
    if history or question or questions:
        from deploy.cli import sql_history  # noqa: PLC0415 -- loads DuckDB

        use_archive(archive)
        source = sql_history.Source(run or _LAST, whole_archive, diff)
        if questions:
            sql_history.list_questions(form)
        else:
            sql_history.query(source, statement, question, form)
        return
    options = {
        "--run": run,
        "--archive": archive,
        "--whole-archive": whole_archive,
        "--diff": diff,
        "--parquet": parquet,
    }
    _refuse_without_history(options)
    _query_postgres(statement, form)


def _refuse_without_history(options: Mapping[str, object]) -> None:
    for option, value in options.items():
        if value:
            message = f"{option} belongs to --history; nothing was queried"
            raise StackError(message, repair="inventory sql --history")


def _form(*, as_csv: bool, json: bool, parquet: Path | None) -> Form:
    given = {"--csv": as_csv, "--json": json, "--parquet": parquet is not None}
    chosen = [name for name, is_given in given.items() if is_given]
    if len(chosen) > 1:
        message = f"{' and '.join(chosen)} together: expected one of these options"
        raise StackError(message)
    return Form(as_csv, json, parquet)


def _query_postgres(statement: str, form: Form) -> None:
    from deploy.stack import sql_access  # noqa: PLC0415 -- only this verb needs the driver

    home = Home(default_home())
    if not statement:
        address = sql_access.read_only_url(home)
        output.as_json({"address": address}) if form.json else output.plain(address)
        return
    with sql_access.run_query(home, statement) as (columns, rows):
        if form.as_csv:
            csv.writer(sys.stdout).writerows([columns, *rows])
        elif form.json:
            print_json(columns, rows)
        else:
            print_rows(columns, rows)
