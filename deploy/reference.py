"""Generator of the pages in docs/reference: `python -m deploy.reference` writes all of them.

A house test compares the pages with the code.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, cast

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from deploy.cli.main import app
from deploy.reference_pages import history, http, metrics, topics
from deploy.stack.home import PROJECT
from streams.exit_codes import MEANINGS, REPAIRS, ExitCode

Words = tuple[str, ...]
Named = tuple[Words, TyperCommand]

FOLDER: Final = PROJECT / "docs" / "reference"
SETTINGS: Final = PROJECT / ".env.example"
_MADE: Final = "`make docs` generates this page from the code. To change a text, change the code.\n"
_ABOUT_COMMANDS: Final = (
    "Commands work on the stack of `INVENTORY_HOME`, unless they state something else. Terms such\n"
    "as run, deciding revision, difference and key are in the [glossary](glossary.md). For a run,\n"
    "`last` is the newest one. If a command states no exit codes, those of [exit\n"
    "codes](exit-codes.md#commands) apply.\n"
)
# Exit codes of a command whose help states no exit codes.
_COMMON_CODES: Final = (
    (0, "done"),
    (1, "the check found a difference, or the command failed; the message states the reason"),
    (2, "wrong arguments, or nothing could be compared"),
    (130, "stopped with Ctrl-C"),
)


def page_of(name: str) -> str:
    """Return the text of the generated page `name`, for example `cli.md`."""
    return _PAGES[name]()


def _cli() -> str:
    commands = list(_commands(cast(TyperGroup, get_command(app)), ("inventory",)))
    parts = ["# Commands\n", _MADE, _ABOUT_COMMANDS, *_overview(commands)]
    for path, command in commands:
        parts += _command(path, command)
    return "\n".join(parts)


def _overview(commands: list[Named]) -> Iterator[str]:
    yield "| command | purpose |\n|---|---|"
    for path, command in commands:
        purpose = _paragraphs(command.help).partition(". ")[0].partition("\n")[0].rstrip(".")
        yield f"| [`{' '.join(path)}`](#{'-'.join(path)}) | {_cell(purpose)} |"
    yield ""


def _commands(group: TyperGroup, path: Words) -> Iterator[Named]:
    """Yield each visible command with its path, for example ("inventory", "bench", "hot").

    The commands of each group are in alphabetical order.
    """
    for name, command in sorted(group.commands.items()):
        if isinstance(command, TyperGroup):
            yield from _commands(command, (*path, name))
        elif isinstance(command, TyperCommand) and not command.hidden:
            yield (*path, name), command


def _command(path: Words, command: TyperCommand) -> list[str]:
    # Typer declares these parameters as `Parameter`; only its own subclasses have the help text.
    parameters = cast(list[TyperOption | TyperArgument], command.params)
    rows = [_parameter(parameter) for parameter in parameters]
    table = ["| argument or option | meaning | default |\n|---|---|---|", *rows, ""] if rows else []
    return [f"## {' '.join(path)}\n", f"{_paragraphs(command.help)}\n", *table]


def _parameter(parameter: TyperOption | TyperArgument) -> str:
    names = f"`{str(parameter.name).upper()}`"
    if isinstance(parameter, TyperOption):
        names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    default = parameter.default
    is_stated = isinstance(default, int | float | str) and not isinstance(default, bool)
    shown = f"`{default}`" if is_stated and str(default) else ""
    return f"| {names} | {_cell(parameter.help or '')} | {_cell(shown)} |"


def _paragraphs(text: str | None) -> str:
    """Return `text` with each paragraph on one line, and a blank line between paragraphs."""
    parts = (" ".join(part.split()) for part in (text or "").replace("\b", "").split("\n\n"))
    return "\n\n".join(parts)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _exit_codes() -> str:
    rows = [f"| {code} | {meaning} |" for code, meaning in _COMMON_CODES]
    own = [
        f"| {code.value} | {MEANINGS[code]} | {_shown(REPAIRS.get(code, ''))} |"
        for code in ExitCode
    ]
    return "\n".join(
        [
            "# Exit codes\n",
            _MADE,
            "## Commands\n\n| code | meaning |\n|---|---|",
            *rows,
            "\nA backfill command ends with 75 if another process works on the same run.\n",
            "## Workers and sinks\n",
            "*Sinks* are projector and actuator, which write records from Kafka to Postgres.",
            "If a worker or sink ends, the supervisor restarts it, each time after a longer delay.",
            "`inventory doctor` names a process that keeps ending, and prints a repair command.",
            "Usually this is the command in the column *repair*, but some causes need another one.",
            "For example, if `stock.events` itself is lost (code 66), the doctor prints the",
            "commands for a new generation. Before you repair code 70, read",
            "[delivery](../delivery.md#what-stops-a-worker).\n",
            "| code | meaning | repair |\n|---|---|---|",
            *own,
            "\nA negative code is the number of a signal: -9 means that SIGKILL ended a process.\n",
        ]
    )


def _shown(command: str) -> str:
    alone = "no command: remove the cause, and then wait until the supervisor restarts the process"
    return f"`{command.strip()}`" if command else alone


def _settings() -> str:
    """Return the page about the variables in `.env.example`.

    A test compares the names in this file with the classes of settings.
    """
    rows: list[str] = []
    comment: list[str] = []
    for line in SETTINGS.read_text(encoding="utf-8").splitlines():
        if line.removeprefix("#").startswith("INVENTORY_"):  # optional ones begin with `#`
            name, _, default = line.removeprefix("#").partition("=")
            rows.append(f"| `{name}` | {_shown_default(default)} | {_cell(' '.join(comment))} |")
            comment = []
        elif line.startswith("# "):
            comment.append(line[2:])
        else:
            comment = []
    return "\n".join(
        [
            "# Settings\n",
            _MADE,
            "Set these environment variables for `inventory up`, or in `.env` for",
            "`docker-compose.yml`. Commands refuse a misspelt name. `inventory up` itself sets the",
            "names of the workers, and the secrets and addresses for its processes. Terms such as",
            "home and generation are in the [glossary](glossary.md).\n",
            "| variable | default | note |\n|---|---|---|",
            *rows,
            "",
        ]
    )


def _shown_default(text: str) -> str:
    return f"`{text}`" if text else "empty"


def _titled(title: str, text: str) -> str:
    return f"# {title}\n\n{_MADE}\n{text}"


_PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "cli.md": _cli,
    "exit-codes.md": _exit_codes,
    "history-tables.md": lambda: _titled("History tables", history.page()),
    "http.md": lambda: _titled("HTTP", http.page()),
    "metrics.md": lambda: _titled("Metrics", metrics.page()),
    "settings.md": _settings,
    "topics.md": lambda: _titled("Topics and schemas", topics.page()),
}
NAMES: Final = tuple(_PAGES)


def main() -> None:
    """Write all pages."""
    FOLDER.mkdir(exist_ok=True)
    for name in NAMES:
        (FOLDER / name).write_text(page_of(name), encoding="utf-8")


if __name__ == "__main__":
    main()
