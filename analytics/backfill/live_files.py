"""Temporary directories in which a comparison keeps the live states, one for each process.

The next comparison deletes the directories that killed processes left. `abandoned` and `delete`
also find and delete the temporary directories of simulations.

Each directory holds a lock file. The kernel releases the lock when the process that holds it ends,
also after `kill -9`. So a free lock proves that no process uses the directory. A directory without
a lock file was just made, or a process of an earlier release uses it. Only the age of such a
directory shows whether it is abandoned.
"""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from analytics.backfill.lock import LOCK
from analytics.locks import exclusive

_PREFIX: Final = "live-"
_UNLOCKED_S: Final = 3_600.0  # a comparison of an earlier release ends sooner


@contextmanager
def live_directory(parent: Path) -> Iterator[Path]:
    """Yield an empty directory below `parent`, and delete it afterwards.

    First delete the directories that killed processes left.
    """
    parent.mkdir(parents=True, exist_ok=True)
    for path in abandoned(parent):
        delete(path)
    is_held = False
    while not is_held:
        directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        # A process that looks for abandoned directories may take the new lock first. Then this
        # process makes another directory.
        with exclusive(directory / LOCK) as is_held:
            if is_held:
                try:
                    yield directory
                finally:  # still with the lock, so that no other process deletes the directory
                    shutil.rmtree(directory, ignore_errors=True)


def abandoned(parent: Path, pattern: str = f"{_PREFIX}*") -> Iterator[Path]:
    """Yield the directories below `parent` that no process uses any more."""
    for path in sorted(parent.glob(pattern)):
        with suppress(FileNotFoundError):  # its owner deletes it meanwhile
            if _is_abandoned(path):
                yield path


def delete(directory: Path) -> None:
    """Delete an abandoned directory, unless a process has taken it meanwhile."""
    with suppress(FileNotFoundError), exclusive(directory / LOCK) as is_free:
        if is_free:
            shutil.rmtree(directory, ignore_errors=True)


def _is_abandoned(directory: Path) -> bool:
    """Return True if the lock is free, or if a directory without a lock file is old.

    Raises:
        FileNotFoundError: the directory is gone.
    """
    if not (directory / LOCK).exists():
        return time.time() - directory.stat().st_mtime > _UNLOCKED_S
    with exclusive(directory / LOCK) as is_free:
        return is_free
