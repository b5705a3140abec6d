"""Output of commands: tables for people, JSON for programs."""

import json
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from math import isfinite
from typing import Any, Final, Protocol

from rich.console import Console
from rich.table import Table

_WIDEST: Final = 100_000

# No markup, no emoji instead of a text like `:x:`, and no added line breaks, because messages
# contain texts of users and commands to paste.
console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def escape_unencodable() -> None:
    """Let standard output print a character that its encoding lacks as a Python escape.

    By default, such a character ends the command with a `UnicodeEncodeError`. In a locale without
    UTF-8, it may be a mark of a table. In one with UTF-8, it is a byte of a path that is not UTF-8.
    """
    stream = sys.stdout
    if not isinstance(stream, TextIOWrapper):  # None if the command was started with `>&-`
        return
    if (stream.encoding.lower(), stream.errors) != ("utf-8", "surrogateescape"):
        stream.reconfigure(errors="backslashreplace")


def as_json(value: Any) -> None:  # noqa: ANN401 -- a report of any type
    """Print `value` as indented JSON and nothing else.

    JSON has no infinity and no NaN. Such numbers, for example of a division by 0, become null.
    """
    try:
        text = json.dumps(value, indent=2, default=str, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), indent=2, default=str)
    sys.stdout.write(text + "\n")


def _finite(value: Any) -> Any:  # noqa: ANN401 -- a report of any type
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value


class Report(Protocol):
    """The result of a measurement, for programs and for people."""

    def as_json(self) -> Any:  # noqa: ANN401 -- a report of any type
        """Return the report for programs."""
        ...

    def as_text(self) -> str:
        """Return the report as a table."""
        ...


def plain(text: str) -> None:
    """Print text without formatting."""
    sys.stdout.write(text.rstrip("\n") + "\n")


def report(found: Report, *, in_json: bool) -> None:
    """Print a report as JSON or as text."""
    if in_json:
        as_json(found.as_json())
    else:
        plain(found.as_text())


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under a title. On a terminal, long cells are folded to its width."""
    drawn = Table(box=None, pad_edge=False)
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for row in rows:
        drawn.add_row(*("" if cell is None else str(cell) for cell in row))
    if title:
        # The table's own title would be folded to the width of its columns.
        console.print(title)
    if console.is_terminal:
        console.print(drawn, soft_wrap=False)
        return
    natural = console.measure(drawn, options=console.options.update(width=_WIDEST)).maximum
    # A console never prints wider than itself, and one without a terminal is 80 columns wide.
    wide = Console(file=console.file, highlight=False, markup=False, emoji=False, width=natural)
    wide.print(drawn)
