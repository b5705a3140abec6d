"""Free space on the disks of this machine, and the commands that give a full home more space.

Kafka keeps the source log without a limit, so it fills the disk one day. A new home on another
disk would have none of the data, so `inventory move` moves the home with its data.
"""

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from deploy.stack import prune
from deploy.stack.home import Home

GB: Final = 1024**3
LOW_GB: Final = 5.0
FULL_GB: Final = 0.2
_MOUNTS: Final = Path("/proc/self/mounts")
_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")  # a character in a path: `\040` is a space
# Types of file systems that store data on a disk.
_KEEP: Final = frozenset({"btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "xfs", "zfs", "nfs4"})
_USUAL: Final = ("/var/lib", "/srv", "/opt", "/var/tmp")  # noqa: S108 -- only looked at


def repair(home: Home, target: Path | None, free: int) -> str:
    """Return the command that gives the stack more disk space, or "" if there is none.

    The command moves the home to `target`, a directory on another disk. If `target` is None, the
    command deletes unused files of the home. But the result is "" if less than `FULL_GB` plus 1 MiB
    would be free after this deletion. `free` is the present free space in bytes.
    """
    again = "inventory down && {} && inventory up --detach"
    if target is None:
        is_enough = prune.prunable(home) + free >= FULL_GB * GB + prune.LEAST_BYTES
        return again.format(prune.PRUNE) if is_enough else ""
    return again.format(move_to(target))


def move_to(target: Path) -> str:
    """Return the command that moves the home to `target`."""
    return f"inventory move {shlex.quote(str(target))}"


def nowhere(home: Home) -> str:
    """Return the end of a message: no other disk has enough space for the home, so attach one."""
    least = used(home) / GB + LOW_GB
    return f"no other disk here has {least:.1f} GB free: attach one and run this command again"


def larger_disk(home: Home, *refused: Path) -> Path | None:
    """Return the path of a new directory for the home, on the disk with the most free space.

    This disk holds neither the home nor one of the `refused` directories. Return None if no disk
    has enough space.
    """
    taken = {_device(existing(path)) for path in (home.path, *refused)}
    disks: dict[int | None, Path] = {}
    for place in candidates():
        disks.setdefault(_device(place), place)
    rooms = {_free(place): place for device, place in disks.items() if device not in taken}
    most = max(rooms, default=0)
    if most < used(home) + int(LOW_GB * GB):
        return None
    return new_in(rooms[most], home)


def new_in(place: Path, home: Home) -> Path:
    """Return an unused path for the home in the directory `place`."""
    path = place / f"retail-inventory-{home.path.name.lstrip('.')}"
    names = (path, *(path.with_name(f"{path.name}-{number}") for number in range(2, 1000)))
    return next(name for name in names if not os.path.lexists(name))


def candidates() -> tuple[Path, ...]:
    """Return the writable directories among these: usual ones for data, `HOME`, mount points."""
    own = filter(None, [os.environ.get("HOME")])
    names = (*_USUAL, *own, *_mount_points())
    # Without the final slash, a file could count as a directory.
    asked = partial(os.access, mode=os.W_OK | os.X_OK, effective_ids=True)
    return tuple(Path(name) for name in names if asked(f"{name}/"))


def _mount_points() -> Iterator[str]:
    for line in _MOUNTS.read_bytes().splitlines():
        _, name, kind, *_ = line.split(b" ")
        if os.fsdecode(kind) in _KEEP:
            yield os.fsdecode(_ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), name))


def _device(place: Path) -> int | None:
    """Return the device number of a directory, None if it is missing or can't be reached."""
    try:
        return place.stat().st_dev
    except OSError:
        return None


def _free(place: Path) -> int:
    try:
        return shutil.disk_usage(place).free
    except OSError:
        return 0


def used(home: Home) -> int:
    """Return the number of bytes that the home occupies on the disk."""
    files = (Path(root, name) for root, _, names in os.walk(home.path) for name in names)
    return sum(_bytes(file) for file in files)


def _bytes(file: Path) -> int:
    try:
        return file.lstat().st_blocks * 512
    except OSError:  # a running stack may have deleted the file
        return 0


def existing(path: Path) -> Path:
    """Return `path`, or its nearest parent directory that exists and can be reached."""
    return next(place for place in (path, *path.parents) if _device(place) is not None)
