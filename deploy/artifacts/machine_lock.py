"""Locks per machine: if several clones need the same slow work, only one does it at a time.

This module imports only Python's standard library, because it runs before anything is installed.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from deploy.artifacts.caches import cache_root
from deploy.errors import StackError

_WAIT_S: Final = 1800.0  # building PySpark takes minutes on a slow machine
_POLL_S: Final = 0.2


@contextmanager
def machine_lock(name: str) -> Iterator[None]:
    """Hold the lock `name` of this machine until the block ends. Wait for it up to half an hour.

    Raises:
        StackError: another process still holds the lock after half an hour.
    """
    cache_root().mkdir(parents=True, exist_ok=True)
    with (cache_root() / f".{name}.lock").open("a+") as turn:
        _wait_for(turn, name)
        turn.truncate(0)
        turn.write(f"{os.getpid()}")
        turn.flush()
        yield


def _wait_for(turn: TextIO, name: str) -> None:
    deadline = time.monotonic() + _WAIT_S
    while True:
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                turn.seek(0)
                pid = turn.read() or "unknown"
                message = (
                    f"process {pid} of another clone has held the lock {name} for more than "
                    f"{_WAIT_S / 60:.0f} min. The earlier installation was kept. If the process "
                    "hangs, end it first."
                )
                raise StackError(message, repair="make install") from None
            time.sleep(_POLL_S)
        else:
            return
