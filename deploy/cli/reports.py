"""Print reports: JSON for programs, rows of names and plain values for people."""

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, Protocol

import typer

from deploy import output


class Report(Protocol):
    """The result of a comparison."""

    @property
    def exit_code(self) -> int:
        """Return 0 if equal, 1 if different, 2 if not comparable yet."""

    def as_json(self) -> dict[str, Any]:
        """Return the report for scripts."""


def print_and_exit(title: str, found: Report, *, json: bool) -> NoReturn:
    """Print a report and end with its exit code."""
    print_report(title, found.as_json(), json=json)
    raise typer.Exit(found.exit_code)


def print_report(title: str, found: dict[str, Any], *, json: bool) -> None:
    """Print a report and return."""
    if json:
        output.as_json(found)
    else:
        output.table(title, ("what", "value"), list(rows(found)))


def rows(found: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield a report as rows of name and value.

    A nested report gives one row per inner value: {"a": {"b": 1}} gives ("a, b", 1). A list gives
    one row per entry.
    """
    for name, content in found.items():
        if isinstance(content, dict):
            yield from ((f"{name}, {inner}", value) for inner, value in rows(content))
        elif isinstance(content, list):
            yield from ((name, _in_one_line(entry)) for entry in content)
        else:
            yield name, content


def _in_one_line(entry: object) -> str:
    if isinstance(entry, dict):
        return ", ".join(f"{name} {value}" for name, value in rows(entry))
    return str(entry)
