"""`inventory generation`: prepare a new capture of all rows, if the history can't be restored."""

import getpass
from typing import Annotated

import typer

from deploy import output
from deploy.errors import StackError
from deploy.stack.home import Home, default_home


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command()(generation)


def generation(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm the move.")] = False,
    own_rules: Annotated[
        bool,
        typer.Option("--own-rules", help="Make the logic revision of this code the deciding one."),
    ] = False,
) -> None:
    """Prepare a new generation: the next start captures all rows of Postgres into empty topics.

    The command moves the former topics, archive and snapshots away, and closes open proposals.
    """
    from deploy.stack import generation as generations  # noqa: PLC0415 -- loads the driver
    from inventory.revision import LOGIC_REVISION  # noqa: PLC0415 -- loads the rules

    home = Home(default_home())
    if not yes:
        message = (
            "topics, archive and snapshots would be moved away, and open proposals closed; "
            "nothing was changed"
        )
        raise StackError(message, repair=generations.PREPARE)
    coming, former = generations.prepare(home, getpass.getuser() if own_rules else "")
    output.console.print(f"the former topics, archive and snapshots are in {former}")
    output.console.print(f"the next `inventory up` begins generation {coming.number}")
    if coming.own_rules:
        output.console.print(f"logic revision {LOGIC_REVISION}, of this code, decides from then on")
