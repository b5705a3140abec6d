"""The machine and the source tree of a measurement, so that a figure can be compared later."""

import os
import platform
import shutil
import subprocess
from pathlib import Path


def machine() -> str:
    """Return a line with processor, number of cores, Python version and commit."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{platform.machine()}, {os.cpu_count()} cores, {python}, commit {commit()}"


def commit() -> str:
    """Return the commit of this source tree, with `-dirty` after it if a file was changed.

    Outside a git work tree the result is "unknown".
    """
    git = shutil.which("git")
    if git is None:
        return "unknown"
    asked = [git, "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=8"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603 -- fixed
    return done.stdout.strip() or "unknown"
