"""The group `inventory backfill`. Its help shows the commands in panels, in the order of use."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import typer
from typer.core import TyperGroup
from typing_extensions import override

PANELS: Final[Mapping[str, tuple[str, ...]]] = {
    "History": ("status", "compact", "clean", "rearchive"),
    "Change": (
        *("plan", "run", "diff", "review", "approve", "reject", "withdraw", "reviews"),
        *("publish", "shadow", "cutover", "rollback", "discard"),
    ),
    "Proof": ("verify", "prove"),
    "Questions": ("simulate", "tables"),
}
RELEASED_S: Final = 20.0  # longest wait for an archiver to write its buffer and release its lock
_PANEL_OF: Final = {name: panel for panel, names in PANELS.items() for name in names}


class _InOrderOfWork(TyperGroup):
    """The group of the backfill commands. Its help lists them in the order of `PANELS`."""

    @override
    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, in the order of `PANELS`."""
        return [name for name in _PANEL_OF if name in self.commands]


backfill: Final = typer.Typer(
    cls=_InOrderOfWork,
    help="Recompute the state of all keys from the archived log.",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    """Add the group. Each module of a command adds its command to the group."""
    app.add_typer(backfill, name="backfill")


def add_command(function: Callable[..., Any]) -> None:
    """Add `function` to the group, as a command with the function's name."""
    backfill.command(rich_help_panel=_PANEL_OF[function.__name__])(function)
