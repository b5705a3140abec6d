"""Rotation of a home's log files while their processes run, to limit their size.

Processes append to their files directly, so none waits for the supervisor. Rotation copies the
content to `NAME.log.1` and truncates the file in place. A line written between the end of the copy
and the truncation is lost; that gap is some microseconds per 20 MB.
"""

import shutil
import threading
from pathlib import Path
from typing import Final

import structlog
from typing_extensions import override

from deploy.stack.home import Home

LOG_LIMIT: Final = 20_000_000  # bytes
_EVERY_S: Final = 5.0

log = structlog.get_logger(__name__)


class Rotation(threading.Thread):
    """Thread that checks the log files every 5 s until `stopping` is set."""

    def __init__(self, home: Home, stopping: threading.Event) -> None:
        super().__init__(name="log rotation", daemon=True)
        self._home = home
        self._stopping = stopping

    @override
    def run(self) -> None:
        """Rotate each file that has grown beyond the limit."""
        while not self._stopping.wait(_EVERY_S):
            for path in self._home.logs.glob("*.log"):
                try:
                    rotate(path)
                except OSError as error:
                    log.warning("log not rotated", file=str(path), error=str(error))


def rotate(path: Path, limit: int = LOG_LIMIT) -> bool:
    """Copy a file above `limit` bytes to `NAME.log.1` and truncate it. Return True if it did.

    If the disk has no room for the copy, a file above twice the limit is truncated without a copy.

    Raises:
        OSError: the copy failed, and the file is not above twice the limit.
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
