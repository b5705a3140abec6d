"""Subcommands that pause, resume and repair change capture."""

import getpass

import typer

from deploy import output
from deploy.stack.home import Home, default_home

capture = typer.Typer(
    help="Change capture from Postgres: pause it, resume it, repair it.",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.add_typer(capture, name="capture")


@capture.command("pause")
def capture_pause() -> None:
    """Pause the connector until `capture resume`. Until then, Postgres keeps up to 4 GB of WAL."""
    from deploy.stack import capture as captures  # noqa: PLC0415 -- loads the driver

    captures.pause(Home(default_home()), getpass.getuser())
    output.console.print(
        "capture is paused; `inventory capture resume` continues at the same position"
    )


@capture.command("resume")
def capture_resume() -> None:
    """Register, resume or restart the connector, as its state requires. Return when it streams."""
    from deploy.stack import capture as captures  # noqa: PLC0415 -- loads the driver

    captures.resume(Home(default_home()))
    output.console.print("capture is streaming")
