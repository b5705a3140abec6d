"""The verb for a history that can't be brought back: capture everything anew."""

from typing import Annotated

import typer

from deploy import output
from deploy.errors import StackError
from deploy.stack.home import Home, default_home


def register(app: typer.Typer) -> None:
    """Add this module's verb."""
    app.command()(generation)


def generation(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Really put them aside.")] = False,
) -> None:
    """Have the next start capture all rows of Postgres into empty topics: a new generation."""
    from deploy.stack import generation as generations  # noqa: PLC0415 -- loads the driver

    home = Home(default_home())
    if not yes:
        message = "topics, archive and snapshots would be put aside, and open proposals closed"
        raise StackError(message, repair=generations.PREPARE)
    coming, aside = generations.prepare(home)
    output.console.print(f"what there was is in {aside}")
    output.console.print(f"`inventory up` begins generation {coming.number}")
