"""Move an archive away, so that the archiver writes a new one from offset 0 of `stock.events`.

This repairs an archive that contradicts the topic or itself. The topic keeps every record, so the
new archive is complete. The moved files are kept: `analytics.archive.rebuilt` compares them with
the new archive.
"""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final

from analytics.archive.checked import unlisted
from analytics.archive.follow import only_archiver
from analytics.archive.manifest import Manifest
from analytics.archive.names import RELEASE_REQUEST

_POLL_S: Final = 0.1


def move_archive_away(archive: Path, *, timeout_s: float) -> Path | None:
    """Move the archive to `former/archive-N` beside it. Return the new path.

    A running archiver continues in an empty directory. Return None if it still holds the lock
    after `timeout_s`.
    """
    with requested_archive(archive, timeout_s=timeout_s) as is_held:
        return move_directory_away(archive, archive.parent / "former") if is_held else None


@contextmanager
def requested_archive(archive: Path, *, timeout_s: float) -> Iterator[bool]:
    """Ask a running archiver to release the archive's lock, then take and hold the lock.

    Yield False if the archiver still holds the lock after `timeout_s`. With 0 s, try only once.
    """
    deadline = time.monotonic() + timeout_s
    request = archive / RELEASE_REQUEST
    while True:
        with only_archiver(archive) as is_held:
            if is_held:
                request.unlink(missing_ok=True)
                yield True
                return
        if time.monotonic() > deadline:
            break
        request.touch()
        time.sleep(_POLL_S)
    request.unlink(missing_ok=True)
    yield False


def move_unlisted_away(archive: Path) -> tuple[Path, ...]:
    """Move the unlisted files to `former/unlisted-N`; return their new paths.

    A file is unlisted if no line of the manifest names it. A file of the archiver stays if its
    records follow the last listed record of the partition.

    Raises:
        BrokenArchive: the manifest itself is damaged.
    """
    looked = list(unlisted(Manifest(archive)))
    # A compaction may have exchanged the archive after its manifest was read.
    listed = {archive / file.file for file in Manifest(archive).all_files()}
    found = [path for path in looked if path not in listed]
    if not found:
        return ()
    target = _free_name(archive.parent / "former", "unlisted")
    moved = []
    for path in found:
        if path.exists():  # a compaction may have moved the archive's directory meanwhile
            moved.append(target / path.relative_to(archive))
            moved[-1].parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.move(path, moved[-1])
    return tuple(moved)


def move_directory_away(directory: Path, former: Path, *, name: str = "") -> Path:
    """Move a directory to `NAME-N` below `former`. Return the new path.

    NAME is `name`, by default the directory's own name. N is the lowest free number from 1.
    """
    former.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = _free_name(former, name or directory.name)
    shutil.move(directory, target)
    return target


def _free_name(former: Path, name: str) -> Path:
    names = (former / f"{name}-{number}" for number in count(1))
    return next(path for path in names if not path.exists())
