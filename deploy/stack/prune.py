"""Deletion of files of a home that no part of the project reads, for `inventory prune`.

These are rotated logs, and everything that commands have moved to `former/`: archives, runs, topics
of a former generation, and files that no manifest lists.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from deploy.stack.home import Home

PRUNE: Final = "inventory prune --yes"
LEAST_BYTES: Final = 1 << 20  # required free bytes above `room.FULL_GB` after a deletion


def unread(home: Home) -> tuple[tuple[Path, int], ...]:
    """Return the unused files and directories, each with its bytes on disk, the largest first."""
    found = [(path, _used(path)) for path in _unread(home)]
    return tuple(sorted(found, key=lambda entry: (-entry[1], entry[0])))


def prunable(home: Home) -> int:
    """Return the number of bytes that `prune` would free."""
    return sum(size for _, size in unread(home))


def prune(home: Home) -> int:
    """Delete the unused files. Return the number of freed bytes."""
    found = unread(home)
    for path, _ in found:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
            if path.name.startswith("generation-"):
                path.mkdir(mode=0o700)  # the empty directory shows that its number is used
        else:
            path.unlink(missing_ok=True)
    return sum(size for _, size in found)


def _unread(home: Home) -> Iterator[Path]:
    former = home.path / "former"
    yield from former.iterdir() if former.is_dir() else ()
    yield from home.logs.glob("*.log.*")


def _used(path: Path) -> int:
    inside = (Path(root, name) for root, _, names in os.walk(path) for name in names)
    return sum(_blocks(file) for file in (path, *inside))


def _blocks(file: Path) -> int:
    try:
        return file.lstat().st_blocks * 512
    except OSError:  # a running stack may have deleted the file
        return 0
