"""Edits and commands of a how-to page, performed on a copy of the project.

A line that ends in a colon describes the code block below it:

    New file `PATH`:
    At the end of `PATH`:
    In `PATH`, after `LINE`:
    In `PATH`, before `LINE`:
    In `PATH`, instead of `LINE`:
    In `PATH`, below `PLACE`, after `LINE`:

Exactly one line of the file contains `LINE`. In the last form, several lines may contain it, and
the first one below `PLACE` counts; exactly one line contains `PLACE`. The block is written without
indentation and gets that of the line. Blocks with the language `sh` hold commands.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent, indent

from deploy.stack.home import PROJECT

PAGES = PROJECT / "docs" / "how-to"
MIGRATIONS = PROJECT / "ledger" / "migrations"
COPIED = (
    *("inventory", "cdc", "ledger", "streams", "analytics", "webui", "bench", "deploy"),
    *("tests", "docs", "requirements", "pyproject.toml", "Makefile", "docker-compose.yml"),
    *(".env.example", ".ci", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"),
)
# A command of a page, and the arguments for Python that perform it in a copy.
PERFORMED_AS = {
    "make docs": (("-m", "deploy.compose"), ("-m", "deploy.reference")),
}
_COMMAND_LINE = "from deploy.cli.main import main; main()"
NOT_PERFORMED = ("make check", "make test", "make soak")  # a page's tests run a part of them
_EDIT = re.compile(
    r"^(?:\d+\. |- )?(?:New file `(?P<new>[^`]+)`|At the end of `(?P<end>[^`]+)`"
    r"|In `(?P<path>[^`]+)`(?:, below `(?P<place>[^`]+)`)?"
    r", (?P<where>after|before|instead of) `(?P<line>[^`]+)`):\n\n?"
    r"```\w*\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class StepFailed(AssertionError):
    """A page's step can't be performed, because the sources have changed since it was written."""


@dataclass(frozen=True)
class Edit:
    """One edit of a page; `where` is new, end, after, before or instead of."""

    path: str
    where: str
    text: str
    line: str = ""
    place: str = ""


def edits(page: str) -> list[Edit]:
    """Return the edits of a page of docs/how-to in their order."""
    return list(_edits((PAGES / page).read_text(encoding="utf-8")))


def _edits(text: str) -> Iterator[Edit]:
    for found in _EDIT.finditer(text):
        if found["new"]:
            yield Edit(found["new"], "new", found["text"])
        elif found["end"]:
            yield Edit(found["end"], "end", found["text"])
        else:
            place = found["place"] or ""
            yield Edit(found["path"], found["where"], found["text"], found["line"], place)


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page in this language, without those of its edits."""
    text = _EDIT.sub("", (PAGES / page).read_text(encoding="utf-8"))
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[str]:
    """Return the commands of a page in their order, continued lines joined, without comments."""
    lines = "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    return [line for found in lines if (line := re.sub(r"(^|\s+)#.*", "", found).strip())]


def copy_project(target: Path) -> Path:
    """Copy the sources to `target`, without environment and data. Return `target`.

    The copy includes bytecode. Without it, each command would compile all imported modules again.
    """
    unwanted = shutil.ignore_patterns("images")
    for name in COPIED:
        source = PROJECT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=unwanted)
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target / name)
    return target


def copy_edited(page: str, target: Path) -> Path:
    """Copy the files that a page edits, and all migrations. Return `target`."""
    paths = {PROJECT / edit.path for edit in edits(page)}
    for source in {*paths, *MIGRATIONS.glob("[0-9]*.py")}:
        if source.is_file():
            copied = target / source.relative_to(PROJECT)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copied)
    return target


def apply(copy: Path, edit: Edit) -> None:
    """Perform one edit in `copy`.

    Raises:
        StepFailed: a new file exists already, or the line is missing or not unique.
    """
    path = copy / edit.path
    if edit.where == "new":
        if path.exists():
            message = f"{edit.path} exists already"
            raise StepFailed(message)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(edit.text, encoding="utf-8")
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if edit.where == "end":
        lines.append(edit.text)
    else:
        number = _number_of(edit, lines)
        margin = lines[number][: len(lines[number]) - len(lines[number].lstrip())]
        block = indent(dedent(edit.text), margin)
        first, last = {"after": (1, 1), "before": (0, 0), "instead of": (0, 1)}[edit.where]
        lines[number + first : number + last] = [block]
    path.write_text("".join(lines), encoding="utf-8")


def _number_of(edit: Edit, lines: list[str]) -> int:
    """Return the index of the line that the edit names."""
    if edit.place:
        start = _only(edit.path, edit.place, lines)
        found = [n for n, line in enumerate(lines) if n > start and edit.line in line][:1]
        if found:
            return found[0]
        message = f"{edit.path} has no {edit.line!r} below {edit.place!r}"
        raise StepFailed(message)
    return _only(edit.path, edit.line, lines)


def _only(path: str, text: str, lines: list[str]) -> int:
    found = [number for number, line in enumerate(lines) if text in line]
    if len(found) != 1:
        message = f"{path} has {len(found)} lines with {text!r}; 1 was expected"
        raise StepFailed(message)
    return found[0]


def perform_edits(page: str, copy: Path) -> None:
    """Perform all edits of a page in `copy`.

    Pages don't contain the number of a migration. `NEWEST` is the name of the newest migration, for
    example 0042_codes, and `NEXT` is the next number, here 0043.
    """
    newest = max(path.stem for path in (copy / "ledger" / "migrations").glob("[0-9]*.py"))
    number = f"{int(newest[:4]) + 1:04d}"
    for edit in edits(page):
        path, text = (
            part.replace("NEXT", number).replace("NEWEST", newest)
            for part in (edit.path, edit.text)
        )
        apply(copy, replace(edit, path=path, text=text))


def run(copy: Path, *arguments: str, **variables: str) -> str:
    """Run Python with `arguments` in `copy` and return its output; see `_called`."""
    return _called(copy, [sys.executable, *arguments], variables)


def run_command(copy: Path, command: str, **variables: str) -> None:
    """Run one command of a page in `copy`, with this process's Python.

    `.venv/bin/python`, `.venv/bin/inventory`, `.venv/bin/ruff` and `make docs` run on the copy's
    code. `make check`, `make test` and `make soak` are left out. Other commands run in bash.
    """
    if command in NOT_PERFORMED:
        return
    if command in PERFORMED_AS:
        for arguments in PERFORMED_AS[command]:
            run(copy, *arguments, **variables)
        return
    script = command.replace(".venv/bin/python", f"'{sys.executable}'")
    script = script.replace(".venv/bin/ruff", f"'{sys.executable}' -m ruff")
    script = script.replace(".venv/bin/inventory", f"'{sys.executable}' -c '{_COMMAND_LINE}'")
    _called(copy, ["bash", "-ec", script], variables)


def _called(copy: Path, command: list[str], variables: dict[str, str]) -> str:
    """Return the output of a command.

    Raises:
        StepFailed: it ended with another exit code than 0; the message has its output.
    """
    ours = {name: found for name, found in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(  # noqa: S603 -- commands of our own pages
        command,
        cwd=copy,
        env=ours | {"PYTHONDONTWRITEBYTECODE": "1"} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        shown = " ".join(command)
        message = f"{shown} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        raise StepFailed(message)
    return done.stdout


def perform(page: str, copy: Path, **variables: str) -> None:
    """Perform all edits of a page in `copy`, then all of its commands."""
    perform_edits(page, copy)
    for command in commands(page):
        run_command(copy, command, **variables)
