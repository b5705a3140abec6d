"""The commands of docs/roles/analyst.md, on a demo whose retailer trades."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.stack.home import PROJECT
from tests.stack.running import run_inventory

pytestmark = pytest.mark.soak
PAGE = PROJECT / "docs" / "roles" / "analyst.md"
CHANGE = "One change, from plan to rollback"
# Sections whose commands need nothing but the demo. Those of other sections name another cluster,
# another store of files, or a second source tree.
QUESTIONS = ("Facts in SQL", "Query history", "Which stores would have ordered less last month?")
SIMULATIONS = "Simulate other parameters"
TREE = re.compile(r"\S+/trees/v3-[0-9a-f]{12}")
KEY = re.compile(r"(?<=--key )'[^']+'")
# Commands whose exit code reports differences: it may be other than 0.
MAY_DIFFER = ("backfill diff", "backfill shadow")


@pytest.fixture(name="home", scope="module")
def a_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("demo") / "home"
    started = run_inventory("demo", home=home)
    assert started.returncode == 0, started.stdout + started.stderr
    yield home
    run_inventory("down", home=home)


def blocks(section: str, language: str) -> list[str]:
    """Return the code blocks of the section in this language, in their order."""
    _, heading, rest = PAGE.read_text("utf-8").partition(f"\n## {section}\n")
    assert heading, f"the page has no section {section!r}"
    text = rest.partition("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def commands(section: str = CHANGE) -> list[str]:
    """Return the shell commands of the section in their order, without comments."""
    lines = "\n".join(blocks(section, "sh")).splitlines()
    parts = [part.strip() for line in lines for part in line.partition("  #")[0].split("&&")]
    return [part for part in parts if part]


def run(home: Path, command: str, directory: Path = PROJECT) -> subprocess.CompletedProcess[str]:
    """Run a command of the page with the password of its `--by` person. Return the result.

    A command without a question opens a shell, which ends with its input.
    """
    logins = json.loads((home / "logins.json").read_text("utf-8"))
    passwords = [logins[name] for name in re.findall(r"--by (\w+)", command) if name in logins]
    name, *arguments = shlex.split(command)
    assert name == "inventory"
    return python(
        home,
        ["-m", "deploy.cli.main", *arguments],
        directory,
        "".join(f"{password}\n" for password in passwords),
    )


def python(
    home: Path, arguments: list[str], directory: Path, text: str = ""
) -> subprocess.CompletedProcess[str]:
    """Return the result of Python with these arguments, with `text` as standard input."""
    return subprocess.run(  # noqa: S603 -- commands and scripts of our own page
        [sys.executable, *arguments],
        input=text,
        cwd=directory,
        env=os.environ | {"INVENTORY_HOME": str(home), "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def test_every_command_of_the_analyst_page_works_during_trade(home: Path) -> None:
    digest = ""
    for line in commands():
        command = line.replace("DIGEST", digest)
        if trees := sorted((home / "backfill" / "trees").glob("v3-*")):
            command = TREE.sub(str(trees[0]), command)
        if "--key" in command:
            command = KEY.sub(lambda _: shlex.quote(a_differing_key(home)), command)

        done = run(home, command)

        allowed = {0, 1} if command.startswith(tuple(f"inventory {m}" for m in MAY_DIFFER)) else {0}
        assert done.returncode in allowed, f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        if "backfill review " in command:
            found = re.search(r"digest +([0-9a-f]{64})", done.stdout)
            assert found is not None, done.stdout
            digest = found[1]


@pytest.mark.parametrize("section", [*QUESTIONS, SIMULATIONS])
def test_every_command_and_script_of_an_analyst_page_section_works(
    home: Path, tmp_path: Path, section: str
) -> None:
    assert commands(section) or blocks(section, "python")
    for number, text in enumerate(blocks(section, "toml")):
        assert number == 0
        (tmp_path / "scenarios.toml").write_text(text, encoding="utf-8")
    for line in commands(section):
        # psql isn't installed everywhere. `inventory sql` prints the address that it gets.
        command = "inventory sql" if line.startswith("psql") else line.partition(" > ")[0]
        done = run(home, command, tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
    for text in blocks(section, "python"):
        done = python(home, ["-c", text], tmp_path)
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"


def test_the_analyst_page_has_every_backfill_step() -> None:
    verbs = {" ".join(command.split()[1:3]) for command in commands()}

    steps = ("run", "plan", "diff", "review", "approve", "publish", "shadow", "cutover", "rollback")
    assert {f"backfill {step}" for step in (*steps, "verify")} <= verbs
    assert "inventory verify" in commands()


def a_differing_key(home: Path) -> str:
    done = run(home, "inventory backfill diff 2 3 --limit 1 --json")
    return str(json.loads(done.stdout)["rows"]["reorder"][0]["inv_key"])
