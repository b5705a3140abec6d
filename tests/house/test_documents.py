"""Contents of the documentation pages: links resolve, code parses, commands and files exist."""

import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from deploy.cli.main import app
from deploy.stack.home import PROJECT
from deploy.variables import KNOWN
from tests.house.documents import (
    Block,
    anchors,
    blocks,
    commands,
    inline_code,
    links,
    name,
    pages,
    text_of,
)
from tests.house.sources import PACKAGES

PAGES = pages()
BLOCKS = [block for page in PAGES for block in blocks(page)]
FILE = re.compile(rf"^({'|'.join((*PACKAGES, 'tests', 'docs'))})/[\w./-]+\.\w+$")
NEW_FILE = re.compile(r"^New file `([^`]+)`:$", re.MULTILINE)  # a step of a how-to page


def parse_shell(text: str) -> None:
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)  # noqa: S607 -- any bash


def parse_diagram(text: str) -> None:
    first, *rest = [line.strip() for line in text.splitlines() if line.strip()]
    assert first == "sequenceDiagram"
    step = re.compile(
        r"participant \w+ as .+|\w+-?->>\w+: .+|Note over \w+(,\w+)?: .+"
        r"|(par|and|alt|else)\b.*|end"
    )
    wrong = [line for line in rest if not step.fullmatch(line)]
    assert wrong == []
    assert sum(re.match(r"(par|alt)\b", line) is not None for line in rest) == rest.count("end")


def parse_session(text: str) -> None:
    typed = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    assert typed, "a console block shows what to type behind `$ `"
    parse_shell("\n".join(typed))


PARSERS: dict[str, Callable[[str], object]] = {
    "console": parse_session,
    "html": str,
    "json": json.loads,
    "mermaid": parse_diagram,
    "python": lambda text: compile(text, "page", "exec"),
    "sh": parse_shell,
    "sql": str,
    "text": str,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
}


def broken_links(page: Path) -> Iterator[str]:
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link


@cache
def command_line() -> Any:
    """Return the whole command line; building its hundred commands takes 50 ms."""
    return typer.main.get_command(app)


def unknown_parts(line: str) -> list[str]:
    """Return the parts of an `inventory …` line that the command line does not have."""
    command: Any = command_line()
    words = iter(takewhile(lambda word: word not in {"<", ">", "|", "&&", ";", "…"}, split(line)))
    unknown: list[str] = []
    for word in words:
        if hasattr(command, "commands"):
            found = command.commands.get(word)
            if found is None:
                return [*unknown, word]
            command = found
        elif word.startswith("-"):
            options = {
                option
                for parameter in command.params
                for option in (*parameter.opts, *parameter.secondary_opts)
            }
            option = word.partition("=")[0]
            unknown += [] if option in {*options, "--help"} else [option]
    return unknown


def split(line: str) -> list[str]:
    return shlex.split(line.replace("[", " ").replace("]", " "))[1:]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert list(broken_links(page)) == []


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_every_code_block_has_a_language_and_parses(block: Block) -> None:
    assert block.language in PARSERS, f"expected one of {sorted(PARSERS)}, `text` for anything else"

    PARSERS[block.language](block.text)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_exists_with_its_options(page: Path) -> None:
    ours = [
        line
        for line in commands(page)
        if re.match(r"(docker compose .* |\S*/)?inventory [a-z]", line)
    ]
    lines = [line[line.index("inventory ") :] for line in ours]

    assert {line: unknown_parts(line) for line in lines if unknown_parts(line)} == {}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_make_target_and_module_exists(page: Path) -> None:
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    targets = [found for line in commands(page) for found in re.findall(r"^make ([a-z-]+)", line)]
    modules = [found for line in commands(page) for found in re.findall(r"-m ([a-z_.]+)", line)]

    assert [t for t in targets if f"\n{t}:" not in makefile] == []
    assert [m for m in modules if find_spec(m) is None] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_file_and_variable_in_the_documentation_exists(page: Path) -> None:
    created = set(NEW_FILE.findall(text_of(page)))
    files = [code for code in inline_code(page) if FILE.match(code) and code not in created]
    variables = set(re.findall(r"\bINVENTORY_[A-Z_]+\b", text_of(page)))

    assert [file for file in files if not (PROJECT / file).exists()] == []
    assert variables - KNOWN == set()


@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        ("inventory up --detach", []),
        ("inventory fold < history.jsonl", []),
        ("inventory start", ["start"]),
        ("inventory backfill run --engin spark", ["--engin"]),
        ("inventory reset [--yes]", []),
    ],
)
def test_a_wrong_command_would_be_found(line: str, unknown: list[str]) -> None:
    assert unknown_parts(line) == unknown
