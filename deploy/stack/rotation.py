"""Keeps every log file of a home below a limit while its process runs.

Processes write to their file by themselves, in append mode, so none waits for the supervisor. The
old content is copied to `NAME.log.1` and the file is emptied in place. A line that is written
between the end of the copy and the emptying is lost: some microseconds in 20 MB.
"""

import shutil
import threading
from pathlib import Path
from typing import Final

import structlog
from typing_extensions import override

from deploy.stack.home import Home
from deploy.stack.processes import LOG_LIMIT

_EVERY_S: Final = 5.0

log = structlog.get_logger(__name__)


class Rotation(threading.Thread):
    """Looks at the files every few seconds, until `stopping`."""

    def __init__(self, home: Home, stopping: threading.Event) -> None:
        super().__init__(name="log rotation", daemon=True)
        self._home = home
        self._stopping = stopping

    @override
    def run(self) -> None:
        """Empty each file that has grown beyond the limit."""
        while not self._stopping.wait(_EVERY_S):
            for path in self._home.logs.glob("*.log"):
                try:
                    rotate(path)
                except OSError as error:
                    log.warning("log not rotated", file=str(path), error=str(error))


def rotate(path: Path, limit: int = LOG_LIMIT) -> bool:
    """Copy a file above `limit` bytes to `NAME.log.1` and empty it; return whether it was.

    On a disk that has no room for the copy, the file is emptied at twice the limit without one.

    Raises:
        OSError: no copy could be made, and the file is not above twice the limit.
    """
    size = path.stat().st_size
    if size <= limit:
        return False
    staged = path.with_suffix(".log.part")
    with path.open("r+b") as file:
        try:
            with staged.open("wb") as old:
                shutil.copyfileobj(file, old)
            staged.replace(path.with_suffix(".log.1"))
        except OSError:
            staged.unlink(missing_ok=True)
            if size <= 2 * limit:
                raise
        file.truncate(0)
    return True
