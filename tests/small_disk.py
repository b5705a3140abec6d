"""A small separate disk, which can be filled without harm to the machine."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(where: Path, megabytes: int) -> Iterator[Path]:
    """Mount a disk of this size at `where`. Skip the test if this account may not mount."""
    where.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(where)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:  # noqa: S603 -- fixed command
        pytest.skip("mounting a small disk takes root and its capability")
    try:
        yield where
    finally:
        subprocess.run(["umount", str(where)], check=True)  # noqa: S603, S607 -- fixed command
