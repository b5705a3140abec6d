"""`inventory backfill prove`: compare the live state with history, and record the result."""

from typing import Annotated

import typer

from deploy.cli import option_checks
from deploy.cli.backfill import cluster_of, unit_progress
from deploy.cli.backfill_group import add_command
from deploy.cli.backfill_options import ENGINES, Conf, Engine, Json, Master
from deploy.cli.reports import print_and_exit
from deploy.stack.django import connect_django


def register(_app: typer.Typer) -> None:
    """Add the command to `inventory backfill`."""
    add_command(prove)


def prove(
    *,
    full: Annotated[bool, typer.Option("--full", help="Start from the first record.")] = False,
    engine: Engine = "local",
    master: Master = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Compare the live state with a recomputation of history, and record the result as a proof.

    The recomputation starts from the states of the last run that was equal to the live state. Once
    a week, it starts from the first record.

    Exit code 1: a key or a proposal differs. Exit code 2: the two sides can't be compared now, for
    example because workers restore their state. Then the command records nothing.
    """
    option_checks.check_choice("--engine", engine, ENGINES)
    connect_django()
    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment
    from deploy.proving.proof import prove_and_record  # noqa: PLC0415 -- needs Django set up

    found = prove_and_record(
        Connections(),
        engine=engine,
        cluster=cluster_of(master, conf),
        is_full=full,
        progress=unit_progress(),
    )
    print_and_exit("backfill prove", found, json=json)
