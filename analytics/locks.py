"""An exclusive lock on a file, which the kernel releases when its holder ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def exclusive(path: Path) -> Iterator[bool]:
    """Hold the lock of `path` and write the process id into it. Yield False if the lock is taken.

    Also yield False if another process moved the file between opening and locking.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        if not _is_still(path, stream):
            yield False
            return
        stream.truncate(0)
        stream.write(f"{os.getpid()}\n")
        stream.flush()
        yield True


@contextmanager
def in_turn(path: Path) -> Iterator[None]:
    """Wait for the lock of `path`, then hold it during the block.

    Only the owner of the file can open the file.
    """
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def holder(path: Path) -> str:
    """Return the process id that the last holder has written, or `unknown`."""
    try:
        return path.read_text(encoding="utf-8").strip() or "unknown"
    except OSError:
        return "unknown"


def _is_still(path: Path, stream: TextIO) -> bool:
    """Return False if the file was renamed after it was opened, for example with its directory."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False
