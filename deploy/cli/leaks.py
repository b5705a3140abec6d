"""`inventory leaks`: search for secrets in places where they are not allowed."""

from dataclasses import asdict
from typing import Annotated

import typer

from deploy import output
from deploy.errors import StackError
from deploy.stack.home import Home, default_home
from inventory.explain.formatting import counted_text

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command()(leaks)


def leaks(
    *,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Skip pages that need a login, and files other than logs."),
    ] = False,
    json: Json = False,
) -> None:
    """Search logs, processes, HTTP answers and pages for secrets. Exit 1 if one is found."""
    from deploy.leaks.search import search  # noqa: PLC0415 -- other verbs start without it

    home = Home(default_home())
    found = search(home, quick=quick)
    if not found.secrets:
        message = f"{home.path} has no secrets; nothing was searched"
        raise StackError(message, repair="inventory up --detach")
    if json:
        output.as_json(asdict(found))
    elif found.leaks:
        output.table("", ("secret", "place"), [(each.secret, each.place) for each in found.leaks])
    else:
        searched = (
            f"{found.processes} processes, {found.answers} HTTP answers, files of {home.path}"
        )
        output.console.print(f"none of {found.secrets} secrets was found; searched {searched}")
    if found.leaks:
        places = counted_text(len(found.leaks), "place")
        message = f"secrets were found in {places}; nothing was changed"
        raise StackError(
            message, repair="inventory leaks --json > leaks.json  # report it as a bug"
        )
