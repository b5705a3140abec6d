"""Move of a home with all its contents to another directory, for `inventory move`.

The program `cp` makes the copy, because it preserves owners and links. Postgres refuses a data
directory of another account. The old path becomes a symbolic link, so commands and settings still
work.

Some directories can't become a link: a mount point, and a directory whose parent directory this
account may not change. Then the old files stay, and a link inside the old directory leads to the
copy.
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from analytics.exchange import exchange
from deploy.artifacts.prerequisites import Program, require
from deploy.errors import StackError
from deploy.stack import room
from deploy.stack.home import MOVED_TO, Home
from deploy.stack.processes import alive
from deploy.stack.runtime import read_runtime

_COPY = Program("cp", "coreutils", "copies the home with its owners")


def move(home: Home, target: Path) -> bool:
    """Move the home of a stopped stack to `target`, a path at which nothing exists.

    Return True if the old path is now a link to `target`. Return False if it can't become a link.
    Then its old files stay.

    Raises:
        StackError: the stack runs, `target` can't be used, or the copy failed. The home is
        unchanged.
    """
    target = target.absolute()
    _refuse(home, target)
    with _stopped(home, target):
        _copy(home, target)
        if home.path.is_mount() or not _replace_by_link(home.path, target):
            _lead_to(home, target)
            return False
        return True


def _copy(home: Home, target: Path) -> None:
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # an interrupted move has left this directory
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _make_like(home.path, partial)
    except OSError as error:
        message = f"{target} can't be created: {error}; the home stays in {home.path}"
        raise _refused(home, message, room.larger_disk(home)) from error
    # The root of a file system may have a `lost+found` that only root can read.
    entries = [str(entry) for entry in home.path.iterdir() if entry.name != "lost+found"]
    command = [require(_COPY), "-a", "--target-directory", str(partial), *entries]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- our own paths
    if done.returncode:
        shutil.rmtree(partial, ignore_errors=True)
        output = done.stderr.strip()[-400:]
        message = f"copying {home.path} to {target} failed: {output}. The home stays where it was"
        raise _refused(home, message, room.larger_disk(home, target.parent))
    os.sync()  # without it, a power cut after the deletion of the old files could lose the copy
    partial.rename(target)
    os.sync()  # store the new name, too: the link at the old path leads to it


def _make_like(home: Path, new: Path) -> None:
    new.mkdir()
    if os.geteuid() == 0:
        shutil.chown(new, home.stat().st_uid, home.stat().st_gid)
    shutil.copystat(home, new)


def _refuse(home: Home, target: Path) -> None:
    if not (home.path / "supervisor.lock").exists():
        message = f"{home.path} was not created by `inventory up`; nothing was moved"
        raise StackError(message)
    if target.exists() or target.is_relative_to(home.path):
        message = f"{target} exists: expected a new directory; the home stays in {home.path}"
        inside = target.is_dir() and not target.is_relative_to(home.path)
        found = room.new_in(target, home) if inside else room.larger_disk(home)
        raise _refused(home, message, found)


def _refused(home: Home, message: str, found: Path | None) -> StackError:
    """Return an error with the text `message`, and with a move to `found` as its repair.

    If `found` is None, there is no repair, and the text also states that no other disk has enough
    space.
    """
    if found is None:
        return StackError(f"{message}; {room.nowhere(home)}")
    return StackError(message, repair=room.move_to(found))


@contextmanager
def _stopped(home: Home, target: Path) -> Iterator[None]:
    """Hold the supervisor's lock until the block ends, so that no stack starts in `home`.

    A copy of a running database would be inconsistent.

    Raises:
        StackError: a supervisor holds the lock, or its services still run.
    """
    with (home.path / "supervisor.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            runtime = read_runtime(home)
            is_running = runtime.running or any(map(alive, runtime.children()))
        except BlockingIOError:
            is_running = True
        if is_running:
            message = f"a stack runs in {home.path}; nothing was moved"
            raise StackError(message, repair=f"inventory down && {room.move_to(target)}")
        yield


def _lead_to(home: Home, target: Path) -> None:
    link = home.path / MOVED_TO
    try:
        link.symlink_to(target)
    except OSError:  # the disk is full: make room by deleting the old logs, which were copied
        shutil.rmtree(home.logs, ignore_errors=True)
        link.symlink_to(target)


def _replace_by_link(old: Path, target: Path) -> bool:
    """Replace the old directory by a link to `target`, and delete its files. Return True.

    Return False if the old directory can't be renamed, often because root owns its parent
    directory.
    """
    away = old.with_name(f"{old.name}.moved")
    if not _exchanged(old, away, target) and not _renamed(old, away, target):
        return False
    shutil.rmtree(away, ignore_errors=True)
    return True


def _exchanged(old: Path, away: Path, target: Path) -> bool:
    """Exchange the old directory for a link to `target` in one step. Return True.

    So the old path exists at any time, even if the move is killed. If the path were missing, the
    next start would create an empty home there. Return False if there is no room for the link, or
    if the file system can't exchange paths.
    """
    try:
        if away.is_symlink():  # a move that was killed has left its link
            away.unlink()
        away.symlink_to(target)
    except OSError:
        return False
    try:
        exchange(old, away)
    except OSError:
        away.unlink()
        return False
    return True


def _renamed(old: Path, away: Path, target: Path) -> bool:
    try:
        old.rename(away)
    except OSError:
        return False
    try:
        old.symlink_to(target)
    except OSError:  # a full disk may have no room for the link before the old files are deleted
        shutil.rmtree(away, ignore_errors=True)
        old.symlink_to(target)
    return True
