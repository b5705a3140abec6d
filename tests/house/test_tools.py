"""Tools that check the sources find nothing. Their settings are in pyproject.toml."""

import subprocess
import sys
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
def test_a_tool_finds_nothing(tool: str) -> None:
    path = str(Path(sys.executable).with_name(tool))
    result = subprocess.run(  # noqa: S603 -- a tool of the environment
        [path, *COMMANDS[tool]], cwd=PROJECT, capture_output=True, text=True, check=False
    )

    assert result.returncode == 0, (result.stdout + result.stderr)[-3000:]
