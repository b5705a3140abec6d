"""Imports point one way; the contracts of pyproject.toml are run, not only written."""

import subprocess
import sys
from pathlib import Path

from deploy.stack.home import PROJECT


def test_the_layers_hold() -> None:
    tool = str(Path(sys.executable).with_name("lint-imports"))
    result = subprocess.run(  # noqa: S603 -- a tool of the environment
        [tool, "--no-cache"], cwd=PROJECT, capture_output=True, text=True, check=False
    )

    assert result.returncode == 0, result.stdout[-3000:]
