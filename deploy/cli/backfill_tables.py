"""`inventory backfill tables`: write typed Parquet tables of a run and of the log that it read."""

from pathlib import Path
from typing import Annotated

import typer

from deploy import output
from deploy.cli.backfill_group import add_command
from deploy.cli.backfill_options import FINISHED_RUN, Archive, Json, WholeArchive, use_archive
from deploy.stack.home import default_home
from inventory.explain.formatting import counted_text


def register(_app: typer.Typer) -> None:
    """Add the command to `inventory backfill`."""
    add_command(tables)


def tables(
    run: Annotated[
        str,
        typer.Argument(
            metavar="[RUN]", help=f"{FINISHED_RUN} `none` writes only the tables of the log."
        ),
    ] = "last",
    *,
    archive: Archive = "",
    whole_archive: WholeArchive = False,
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="Directory for the tables. Default: RUN/tables, and backfill/tables for the log.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write the tables of a run and of the log that it has read, for SQL, Spark and notebooks.

    After an interruption, run the command again: it continues with the next partition, and doesn't
    write complete tables again. `inventory sql --history` writes missing tables by itself. Neither
    command needs a running stack.
    """
    from analytics.history.opened import open_history  # noqa: PLC0415 -- loads Parquet
    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment
    from deploy.cli.sql_history import Source, refusals, written  # noqa: PLC0415 -- loads DuckDB

    use_archive(archive)
    with refusals():
        request = Source(run, whole_archive, None, out).request
        found = open_history(Connections(home=default_home()), request, written).as_json()
    if json:
        output.as_json(found)
        return
    output.table("", ("table", "rows"), list(found["rows"].items()))
    for name, directory in found["directories"].items():
        output.console.print(f"tables of the {name}: {directory}")
    count = found["partitions_written"]
    done = (
        f"{counted_text(count, 'partition')} written"
        if count
        else "all partitions exist already, so nothing was written"
    )
    output.console.print(f"{found['bytes'] / 1_000_000:.1f} MB; {done}")
