"""Check of the home's disk: its free space, and another disk with more room.

The log is kept for ever, so the disk gets full at last. A stack that starts in another, empty home
has none of the data; `inventory move` moves the home with its data.
"""

import os
import shlex
import shutil
from pathlib import Path
from typing import Final

from deploy.doctor.failures import Failure
from deploy.doctor.row import Row, ok
from deploy.stack import observe, prune
from deploy.stack.home import Home
from deploy.stack.runtime import read_runtime

_LOW_GB: Final = 5.0
_FULL_GB: Final = 0.2
_GB: Final = 1024**3
_MOUNTS: Final = Path("/proc/self/mounts")
# File systems that persist data; memory and pseudo file systems don't.
_KEEP: Final = frozenset({"btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "xfs", "zfs", "nfs4"})
_USUAL: Final = ("/var/lib", "/srv", "/opt", "/var/tmp")  # noqa: S108 -- a place to look at


def disk(home: Home) -> Row:
    """Check that the stack can write to the home's disk, and that it has 5 GB free."""
    where = existing(home.path)
    free = shutil.disk_usage(where).free
    found = f"{free / _GB:.1f} GB free in {where}"
    refused = _refused(home)
    if not refused and free >= _LOW_GB * _GB:
        return ok("disk", found)
    is_full = bool(refused) or free < _FULL_GB * _GB
    found += f"; {refused}" if refused else ""
    way = repair(home, roomier(home), free)
    if not way:
        found += (
            f"; no other disk here takes the {used(home) / _GB:.1f} GB of the home, and nothing "
            "in it can be deleted: attach a disk and run this command again"
        )
    kind = Failure.FULL_DISK if is_full else Failure.LITTLE_DISK
    return kind.row(found, repair=way)


def _refused(home: Home) -> str:
    """Return why the supervisor can't write its file, empty if it can."""
    runtime = read_runtime(home)
    if not runtime.running:
        return ""
    seen = observe.Seen(runtime, observe.RUNNING, {})
    if runtime.write_error or seen.file_age_s <= observe.OLD_FILE_S:
        return runtime.write_error
    return f"runtime.json is {seen.file_age_s:.0f} s old"


def repair(home: Home, target: Path | None, free: int) -> str:
    """Return the command that gives the stack room, empty if there is none.

    Prefer a move to another disk. Without one, delete files of the home that nothing reads, if that
    frees enough to end the state of a full disk.
    """
    again = "inventory down && {} && inventory up --detach"
    if target is None:
        is_enough = prune.prunable(home) + free >= _FULL_GB * _GB + prune.LEAST_BYTES
        return again.format(prune.PRUNE) if is_enough else ""
    to = shlex.quote(str(target))
    if not home.path.is_mount():
        return again.format(f"inventory move {to}")
    # A mount point can't become a link.
    copy = f"cp -a {shlex.quote(str(home.path))} {to} && export INVENTORY_HOME={to}"
    return again.format(copy)


def roomier(home: Home) -> Path | None:
    """Return a new directory on the disk with the most room, None if none has enough."""
    here = existing(home.path).stat().st_dev
    disks: dict[int, Path] = {}
    for place in _places():
        if os.access(place, os.W_OK | os.X_OK):
            disks.setdefault(place.stat().st_dev, place)
    rooms = {shutil.disk_usage(place).free: place for at, place in disks.items() if at != here}
    most = max(rooms, default=0)
    if most < used(home) + int(_LOW_GB * _GB):
        return None
    return _unused(rooms[most] / f"retail-inventory-{home.path.name.lstrip('.')}")


def _unused(path: Path) -> Path:
    names = (path, *(path.with_name(f"{path.name}-{number}") for number in range(2, 1000)))
    return next(name for name in names if not name.exists())


def _places() -> list[Path]:
    """Return candidate directories, the usual ones before mount points."""
    mounts = [line.split() for line in _MOUNTS.read_text(encoding="utf-8").splitlines()]
    points = [line[1].encode().decode("unicode_escape") for line in mounts if line[2] in _KEEP]
    found = [Path(name) for name in (*_USUAL, str(Path.home()), *points)]
    return [place for place in found if place.is_dir()]


def used(home: Home) -> int:
    """Return the bytes that the home occupies on disk."""
    files = (Path(root, name) for root, _, names in os.walk(home.path) for name in names)
    return sum(_bytes(file) for file in files)


def _bytes(file: Path) -> int:
    try:
        return file.lstat().st_blocks * 512
    except OSError:  # a running stack deletes files
        return 0


def existing(path: Path) -> Path:
    """Return the path itself, or its nearest existing parent."""
    return next(place for place in (path, *path.parents) if place.exists())
