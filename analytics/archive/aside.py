"""An archive put aside, so that it is made again from the first record of `stock.events`.

For an archive that contradicts the topic, or itself. All it holds stands in the topic; what was put
aside is kept, but nothing reads it again.
"""

import shutil
import time
from itertools import count
from pathlib import Path
from typing import Final

from analytics.archive.follow import only_archiver

_POLL_S: Final = 0.1


def put_aside(archive: Path, *, timeout_s: float) -> Path | None:
    """Move the archive to `former/archive-N` beside it; gives the place.

    None if an archiver held the lock for `timeout_s`. One that halts holds it for moments only.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        with only_archiver(archive) as mine:
            if mine:
                aside = _free(archive.parent / "former")
                shutil.move(archive, aside)
                return aside
        if time.monotonic() > deadline:
            return None
        time.sleep(_POLL_S)


def _free(former: Path) -> Path:
    former.mkdir(mode=0o700, exist_ok=True)
    names = (former / f"archive-{number}" for number in count(1))
    return next(path for path in names if not path.exists())
