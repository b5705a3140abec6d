"""The archiver process. It follows `stock.events` until SIGTERM."""

import sys
import time
from collections.abc import Mapping
from typing import Final

import structlog

from analytics.archive.entries import REARCHIVE
from analytics.archive.follow import follow, only_archiver
from analytics.archive.manifest import BrokenArchive
from analytics.heartbeat import Heartbeat
from cdc import cpu_share
from cdc.logs import configure_logging
from cdc.processes import stop_event
from cdc.settings import Connections

_LOCK_TIMEOUT_S: Final = 60.0
# The supervisor restarts a halted archiver within 30 s. `inventory restart` does so at once.
_AGAIN: Final = f"{REARCHIVE} && inventory restart archiver"
_log = structlog.get_logger(__name__)


def main() -> int:
    """Archive until SIGTERM, then return 0.

    Return 1 if the archive is broken, or another process holds its lock for 60 s.
    """
    configure_logging(service="archiver")
    cpu_share.lower_share(cpu_share.ARCHIVER)
    try:
        return _archive()
    except BrokenArchive as error:
        _log.error("archive is broken", problem=str(error), exit_code=1, repair=_AGAIN)
        return 1


def _archive() -> int:
    settings = Connections()
    stop = stop_event()
    heartbeat = Heartbeat("archiver", settings.database_url.get_secret_value())

    def progress(next_offsets: Mapping[int, int]) -> None:
        heartbeat.write_if_due(
            {"next_offsets": {str(number): at for number, at in next_offsets.items()}}
        )

    deadline = time.monotonic() + _LOCK_TIMEOUT_S
    while time.monotonic() < deadline and not stop.is_set():
        with only_archiver(settings.archive_dir) as is_held:
            if is_held:
                follow(settings, should_continue=lambda: not stop.is_set(), progress=progress)
                deadline = time.monotonic() + _LOCK_TIMEOUT_S
        stop.wait(1.0)
    heartbeat.close()
    if stop.is_set():
        return 0
    _log.error("another process archives", directory=str(settings.archive_dir))
    return 1


if __name__ == "__main__":
    sys.exit(main())
