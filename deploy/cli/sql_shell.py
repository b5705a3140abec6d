"""The shell of `inventory sql --history`: statements that end with `;`, and commands like `.quit`.

The shell reads lines from a terminal or from a pipe. After an error it continues with the next
statement.
"""

import sys
from collections.abc import Iterator
from typing import Final

from analytics.history.catalogue import BY_NAME
from analytics.history.duck import DuckHistory, QueryRefused
from analytics.history.opened import History
from analytics.history.questions import UnknownQuestion, question, questions
from deploy import output
from deploy.cli.history_output import show
from deploy.cli.query_output import Form

_PROMPT: Final = "history> "
_CONTINUED: Final = "     ...> "
_HELP: Final = (
    ("SELECT …;", "run a statement; it may have several lines and ends with ;"),
    (".tables", "list the tables, each with its number of rows"),
    (".schema TABLE", "list the columns of a table"),
    (".questions", "list the questions"),
    (".ask NAME", "answer a question"),
    (".quit", "end the shell"),
)


class Shell:
    """One session of the shell, for a person at a terminal or for a script."""

    def __init__(self, duck: DuckHistory, history: History) -> None:
        self._duck = duck
        self._history = history
        self._failed = 0

    def run(self) -> int:
        """Execute the input until its end or `.quit`. Return the number of failed statements."""
        if sys.stdin.isatty():
            import readline  # noqa: F401, PLC0415 -- its import gives input() editing and recall

            run = "no run" if self._history.run is None else f"run {self._history.run}"
            output.errors.print(f"{run}; .help lists the commands, .quit ends")
        for text in self._statements():
            if text.split()[0] == ".quit":
                break
            try:
                self._command(text) if text.startswith(".") else self._answer(text)
            except (QueryRefused, UnknownQuestion) as error:
                self._failed += 1
                output.errors.print(f"error: {error.problem}\nrepair: {error.step}")
            except KeyboardInterrupt:
                output.errors.print("interrupted")
        return self._failed

    def _statements(self) -> Iterator[str]:
        """Yield each statement or command, without spaces around it."""
        waiting: list[str] = []
        for line in self._lines(waiting):
            if not waiting and line.lstrip().startswith("."):
                yield line.strip()
            elif waiting or line.strip():
                waiting.append(line)
            if waiting and waiting[-1].rstrip().endswith(";"):
                text = "\n".join(waiting).strip()
                waiting.clear()
                yield text
        if waiting:
            yield "\n".join(waiting).strip()

    def _lines(self, waiting: list[str]) -> Iterator[str]:
        """Yield the lines of input.

        `waiting` has the earlier lines of an incomplete statement. Ctrl-C empties it.
        """
        if not sys.stdin.isatty():
            yield from (line.rstrip("\n") for line in sys.stdin)
            return
        while True:
            try:
                yield input(_CONTINUED if waiting else _PROMPT)
            except KeyboardInterrupt:
                waiting.clear()
                output.errors.print()
            except EOFError:
                output.errors.print()
                return

    def _answer(self, statement: str) -> None:
        for answer in self._duck.run(statement):
            show(answer, Form())

    def _command(self, text: str) -> None:
        name, _, argument = text.partition(" ")
        argument = argument.strip().rstrip(";")
        if name == ".tables":
            self._tables()
        elif name == ".schema":
            _schema(argument)
        elif name == ".questions":
            output.table("", ("name", "question"), [(one.name, one.text) for one in questions()])
        elif name == ".ask":
            self._answer(question(argument).statement)
        elif name == ".help":
            output.table("", ("command", "effect"), _HELP)
        else:
            problem = f"{name}: unknown command"
            raise QueryRefused(problem, "nothing was changed", ".help lists the commands")

    def _tables(self) -> None:
        counted = {name: rows for group in self._history.groups
                   for name, rows in group.rows().items()}  # fmt: skip
        rows = [
            (name, counted.get(name), _plain(BY_NAME[name].grain)) for name in self._history.files
        ]
        output.table("", ("table", "rows", "one row per"), rows)


def _schema(name: str) -> None:
    table = BY_NAME.get(name)
    if table is None:
        problem = f".schema {name}: expected one of {', '.join(BY_NAME)}"
        raise QueryRefused(problem, "nothing was changed", ".tables lists the tables")
    rows = [(one.name, one.kind, one.unit, _plain(table.note_of(one))) for one in table.columns]
    output.table(
        f"{name}: one row per {_plain(table.grain)}", ("column", "type", "unit", "note"), rows
    )


def _plain(text: str) -> str:
    """Return `text` without Markdown's backticks, and without its backslashes before `|`."""
    return text.replace("`", "").replace("\\|", "|")
