"""An archive put aside, so that it is made again from the first record of `stock.events`.

For an archive that contradicts the topic, or itself. All it holds stands in the topic; what was put
aside is kept, but nothing reads it again.
"""

import shutil
import time
from itertools import count
from pathlib import Path
from typing import Final

from analytics.archive.follow import ASIDE, only_archiver

_POLL_S: Final = 0.1


def put_aside(archive: Path, *, timeout_s: float) -> Path | None:
    """Move the archive to `former/archive-N` beside it; gives the place.

    A running archiver is asked for its lock; it begins again in an empty directory. None if it
    held the lock for `timeout_s` nevertheless.
    """
    deadline = time.monotonic() + timeout_s
    request = archive / ASIDE
    while True:
        with only_archiver(archive) as mine:
            if mine:
                request.unlink(missing_ok=True)
                return move_aside(archive, archive.parent / "former")
        if time.monotonic() > deadline:
            request.unlink(missing_ok=True)
            return None
        request.touch()
        time.sleep(_POLL_S)


def move_aside(directory: Path, former: Path) -> Path:
    """Move a directory to `NAME-N` below `former`; gives the place."""
    former.mkdir(mode=0o700, parents=True, exist_ok=True)
    names = (former / f"{directory.name}-{number}" for number in count(1))
    aside = next(path for path in names if not path.exists())
    shutil.move(directory, aside)
    return aside
