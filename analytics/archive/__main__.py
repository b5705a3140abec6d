"""The archiver process: follows `stock.events` until it is told to stop."""

import signal
import sys
import time
from collections.abc import Mapping
from typing import Final

import structlog

from analytics.archive.follow import follow, only_archiver
from analytics.archive.manifest import BrokenArchive
from analytics.beacon import Beacon
from cdc.logs import configure_logging
from cdc.settings import Connections

_LOCK_TIMEOUT_S: Final = 60.0
_log = structlog.get_logger(__name__)


class _Stop:
    """Remembers that somebody asked this process to end."""

    def __init__(self) -> None:
        self._asked = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def goes_on(self) -> bool:
        """Return False once a signal came."""
        return not self._asked

    def _ask(self, _number: int, _frame: object) -> None:
        self._asked = True


def main() -> int:
    """Archive until SIGTERM; 1 if the archive is broken or another archiver keeps the lock."""
    configure_logging(service="archiver")
    try:
        return _archive()
    except BrokenArchive as error:
        _log.error("archive is broken", problem=str(error))
        return 1


def _archive() -> int:
    settings = Connections()
    stop = _Stop()
    beacon = Beacon("archiver", settings.database_url.get_secret_value())

    def progress(next_offsets: Mapping[int, int]) -> None:
        beacon.shine({"next_offsets": {str(number): at for number, at in next_offsets.items()}})

    deadline = time.monotonic() + _LOCK_TIMEOUT_S
    while time.monotonic() < deadline and stop.goes_on():
        with only_archiver(settings.archive_dir) as mine:
            if mine:
                follow(settings, goes_on=stop.goes_on, progress=progress)
                deadline = time.monotonic() + _LOCK_TIMEOUT_S
        time.sleep(1 if stop.goes_on() else 0)
    beacon.close()
    if not stop.goes_on():
        return 0
    _log.error("another process archives", directory=str(settings.archive_dir))
    return 1


if __name__ == "__main__":
    sys.exit(main())
