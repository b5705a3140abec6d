"""The commands of one change in docs/roles/analyst.md, on a demo whose retailer trades."""

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
SECTION = "## One change, from plan to rollback\n"
TREE = re.compile(r"\S+/trees/v3-[0-9a-f]{12}")
KEY = re.compile(r"(?<=--key )'[^']+'")
# Commands whose exit code reports differences: it may be other than 0.
MAY_DIFFER = ("backfill diff", "backfill shadow")


@pytest.fixture(name="home")
def a_demo(tmp_path: Path) -> Iterator[Path]:
    home = tmp_path / "home"
    started = run_inventory("demo", home=home)
    assert started.returncode == 0, started.stdout + started.stderr
    yield home
    run_inventory("down", home=home)


def commands() -> list[str]:
    """Return the commands of the section in their order, without comments."""
    section = PAGE.read_text("utf-8").partition(SECTION)[2].partition("\n## ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    lines = "\n".join(blocks).splitlines()
    parts = [part.strip() for line in lines for part in line.partition("  #")[0].split("&&")]
    return [part for part in parts if part]


def run(home: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Return the result of a command of the page, run with the password of the person it names."""
    person = re.search(r"--by (\w+) ?", command)
    is_login = person is not None and person[1] not in ("store", "reason")
    logins = json.loads((home / "logins.json").read_text("utf-8"))
    name, *arguments = shlex.split(command)
    assert name == "inventory"
    return subprocess.run(  # noqa: S603 -- commands of our own page
        [sys.executable, "-m", "deploy.cli.main", *arguments],
        input=f"{logins[person[1]]}\n" if person is not None and is_login else "",
        cwd=PROJECT,
        env=os.environ | {"INVENTORY_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def test_every_command_of_the_page_works_while_the_retailer_trades(home: Path) -> None:
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


def test_the_section_has_every_step() -> None:
    verbs = {" ".join(command.split()[1:3]) for command in commands()}

    steps = ("run", "plan", "diff", "review", "approve", "publish", "shadow", "cutover", "rollback")
    assert {f"backfill {step}" for step in (*steps, "verify")} <= verbs
    assert "inventory verify" in commands()


def a_differing_key(home: Path) -> str:
    done = run(home, "inventory backfill diff 2 3 --limit 1 --json")
    return str(json.loads(done.stdout)["rows"]["reorder"][0]["inv_key"])
