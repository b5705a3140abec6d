"""Check of the home's disk: it has free space, and the stack can write to it."""

import shutil

from deploy.doctor.failures import Failure
from deploy.doctor.row import Row, ok
from deploy.stack import observe, room
from deploy.stack.home import Home
from deploy.stack.runtime import read_runtime


def disk(home: Home) -> Row:
    """Check that the home's disk has 5 GB free, and that the stack can write to it."""
    where = room.existing(home.path)
    free = shutil.disk_usage(where).free
    found = f"{free / room.GB:.1f} GB free in {where}"
    refused = _refused(home)
    if not refused and free >= room.LOW_GB * room.GB:
        return ok("disk", found)
    is_full = bool(refused) or free < room.FULL_GB * room.GB
    found += f"; {refused}" if refused else ""
    way = room.repair(home, room.larger_disk(home), free)
    if not way:
        found += f"; `inventory prune` would free too little, and {room.nowhere(home)}"
    kind = Failure.FULL_DISK if is_full else Failure.LITTLE_DISK
    return kind.row(found, repair=way)


def _refused(home: Home) -> str:
    """Return the reason why the supervisor can't write `runtime.json`, or ""."""
    runtime = read_runtime(home)
    if not runtime.running:
        return ""
    seen = observe.StackState(runtime, observe.RUNNING, {})
    if runtime.write_error or seen.file_age_s <= observe.OLD_FILE_S:
        return runtime.write_error
    return f"runtime.json is {seen.file_age_s:.0f} s old"
