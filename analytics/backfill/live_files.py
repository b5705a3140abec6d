"""The directory for live states during a comparison, and those that killed processes left.

Each directory holds a lock file. The kernel releases the lock when its process ends, also after
`kill -9`. So a free lock proves that nobody uses the directory.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from analytics.backfill.lock import LOCK
from analytics.locks import exclusive

_PREFIX: Final = "live-"


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
        try:
            # Another process may take it for an abandoned one before its lock is held.
            with exclusive(directory / LOCK) as is_held:
                if is_held:
                    yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)


def abandoned(parent: Path) -> Iterator[Path]:
    """Yield the directories below `parent` that no process uses any more."""
    for path in sorted(parent.glob(f"{_PREFIX}*")):
        with exclusive(path / LOCK) as is_free:
            pass
        if is_free:
            yield path


def delete(directory: Path) -> None:
    """Delete an abandoned directory, unless a process has taken it meanwhile."""
    with exclusive(directory / LOCK) as is_free:
        if is_free:
            shutil.rmtree(directory)
