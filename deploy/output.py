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

# Messages contain texts of users, and commands to paste. So Rich must print them unchanged: no
# markup, no emoji in place of `:x:`, no added line breaks.
console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def escape_unencodable() -> None:
    """Make standard output print a Python escape for a character that its encoding lacks.

    By default, such a character ends the command with a `UnicodeEncodeError`. Examples are
    ✔ in a table if the locale has no UTF-8, and a byte in a path that is not valid UTF-8.
    """
    stream = sys.stdout
    if not isinstance(stream, TextIOWrapper):  # None if the command was started with `>&-`
        return
    if (stream.encoding.lower(), stream.errors) != ("utf-8", "surrogateescape"):
        stream.reconfigure(errors="backslashreplace")


def as_json(value: Any) -> None:  # noqa: ANN401 -- a report of any type
    """Print `value` as indented JSON and nothing else.

    JSON has no infinity and no NaN, so these numbers become null.
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
    """Print `text` with one line break at its end, and without Rich's formatting."""
    sys.stdout.write(text.rstrip("\n") + "\n")


def report(found: Report, *, in_json: bool) -> None:
    """Print a report as JSON or as text."""
    if in_json:
        as_json(found.as_json())
    else:
        plain(found.as_text())


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under a title. On a terminal, wrap long cells to fit the terminal's width."""
    drawn = Table(box=None, pad_edge=False)
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for row in rows:
        drawn.add_row(*("" if cell is None else str(cell) for cell in row))
    if title:
        # Rich would wrap a title of the table at the width of its columns.
        console.print(title)
    if console.is_terminal:
        console.print(drawn, soft_wrap=False)
        return
    natural = console.measure(drawn, options=console.options.update(width=_WIDEST)).maximum
    # Without a terminal, Rich's console is 80 columns wide and wraps cells. Use a wider console.
    wide = Console(file=console.file, highlight=False, markup=False, emoji=False, width=natural)
    wide.print(drawn)
