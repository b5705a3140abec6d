"""Tools that check the sources find nothing. Their settings are in pyproject.toml."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from deploy.stack.home import PROJECT
from tests.house.sources import PACKAGES

PROSE = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs")
COMMANDS = {
    "lint-imports": ("--no-cache",),
    "deptry": (".", "--no-ansi"),
    "vulture": PACKAGES,
    "codespell": (*PROSE, *PACKAGES, "tests"),
    "djlint": ("--lint", "--quiet", "webui/templates"),
}


@pytest.mark.parametrize("tool", COMMANDS)
def test_a_source_checking_tool_reports_nothing(tool: str) -> None:
    path = str(Path(sys.executable).with_name(tool))
    result = subprocess.run(  # noqa: S603 -- a tool of the environment
        [path, *COMMANDS[tool]], cwd=PROJECT, capture_output=True, text=True, check=False
    )

    assert result.returncode == 0, (result.stdout + result.stderr)[-3000:]


# Code that ruff refuses, as docs/security/asvs.md claims.
PLANTED = """
import hashlib
import os
import pickle
import random
import subprocess


def planted(text, cursor):
    \"\"\"Do everything that is refused.\"\"\"
    exec(text)
    eval(text)
    hashlib.md5(text)
    hashlib.new("sha1", text)
    random.random()
    subprocess.run(text, shell=True)
    os.system(text)
    pickle.loads(text)
    cursor.execute(f"SELECT id FROM app.task WHERE kind = '{text}'")
"""
REFUSED = {"S102", "S301", "S307", "S311", "S324", "S602", "S605", "S608"}


@pytest.mark.parametrize("package", PACKAGES)
def test_ruff_refuses_shells_code_from_text_weak_hashes_and_sql_from_text(package: str) -> None:
    found = subprocess.run(  # noqa: S603 -- a tool of the environment
        [
            *(str(Path(sys.executable).with_name("ruff")), "check", "--no-cache"),
            *("--output-format", "concise", "--stdin-filename", f"{package}/planted.py", "-"),
        ],
        cwd=PROJECT,
        input=PLANTED,
        capture_output=True,
        text=True,
        check=False,
    )

    assert set(re.findall(r" (S\d{3}) ", found.stdout)) >= REFUSED


def test_the_makefile_check_runs_ruff_security_rules_and_strict_mypy() -> None:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    lint = settings["ruff"]["lint"]
    turned_off = {rule for rules in lint["per-file-ignores"].values() for rule in rules}
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")

    assert "S" in lint["select"]
    assert not REFUSED & {*lint["ignore"], *turned_off}
    assert settings["mypy"]["strict"] is True
    assert f"PACKAGES := {' '.join(PACKAGES)}\n" in makefile
    assert re.search(r"check-sources:.*\n(\t.*\n)*\t\$\(BIN\)/ruff check \.\n", makefile)
    assert re.search(
        r"check-sources:.*\n(\t.*\n)*\t\$\(BIN\)/mypy \$\(PACKAGES\) tests\n", makefile
    )
