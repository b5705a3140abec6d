"""Rotation of the log files of a home while their processes run, to limit the size of the files.

Processes append to their files directly, so no process waits for the supervisor. Rotation copies
the content to `NAME.log.1`, and truncates the file in place. If a process writes a line between the
end of the copy and the truncation, this line is lost. The gap is some microseconds for a file of 20
MB.
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
        """Rotate each file that is larger than the limit."""
        while not self._stopping.wait(_EVERY_S):
            for path in self._home.logs.glob("*.log"):
                try:
                    rotate(path)
                except OSError as error:
                    log.warning("log not rotated", file=str(path), error=str(error))


def rotate(path: Path, limit: int = LOG_LIMIT) -> bool:
    """Copy a file of more than `limit` bytes to `NAME.log.1`, and truncate it. Return True then.

    Return False for a smaller file. If the disk has no room for the copy, a file of more than twice
    the limit is truncated without a copy.

    Raises:
        OSError: the copy failed, and the file is not larger than twice the limit.
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
