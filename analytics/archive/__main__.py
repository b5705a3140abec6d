"""The archiver process: follows `stock.events` until it is told to stop."""

import signal
import sys
import time
from collections.abc import Mapping
from typing import Final

import structlog

from analytics.archive.follow import follow, only_archiver
from analytics.beacon import Beacon
from cdc.settings import Connections

_LOCK_TIMEOUT_S: Final = 60.0
_log = structlog.get_logger(__name__)


class _Stop:
    """Remembers that somebody asked this process to end."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def _ask(self, _number: int, _frame: object) -> None:
        self.asked = True


def main() -> int:
    """Archive until SIGTERM; 1 if another archiver keeps the lock."""
    settings = Connections()
    stop = _Stop()
    beacon = Beacon("archiver", settings.database_url.get_secret_value())

    def progress(next_offsets: Mapping[int, int]) -> None:
        beacon.shine({"next_offsets": {str(number): at for number, at in next_offsets.items()}})

    deadline = time.monotonic() + _LOCK_TIMEOUT_S
    while time.monotonic() < deadline and not stop.asked:
        with only_archiver(settings.archive_dir) as mine:
            if mine:
                follow(settings, goes_on=lambda: not stop.asked, progress=progress)
                beacon.close()
                return 0
        time.sleep(1)
    _log.error("another process archives", directory=str(settings.archive_dir))
    return 0 if stop.asked else 1


if __name__ == "__main__":
    sys.exit(main())
