"""Temporary directory for a benchmark that starts its own stack and damages it on purpose.

If root runs the benchmark and the machine allows it, the directory is a small file system in memory
(tmpfs).

The directory is deleted after success, an error, Ctrl-C, SIGTERM and SIGHUP. After SIGKILL it
remains. The benchmark prints its path at the beginning, so that a person can delete it.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_DISK: Final = "size=6g,mode=0711"
_PROC: Final = Path("/proc")
_ENDED_S: Final = 10.0
_POLL_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class ScratchDirectory:
    """A new directory. `not_mounted` is the reason why no tmpfs is mounted at it, or ""."""

    base: Path
    not_mounted: str


@contextmanager
def directory(progress: Callable[[str], None]) -> Iterator[ScratchDirectory]:
    """Create and yield the directory. At the end, kill the processes that use it, and delete it."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in SIGNALS}
    base = Path(tempfile.mkdtemp(prefix="inventory-faults-"))
    base.chmod(0o711)
    scratch = ScratchDirectory(base, "")
    try:
        scratch = ScratchDirectory(base, _mount(base))
        progress(f"everything is written to {base}, and deleted at the end")
        yield scratch
    finally:
        ignore_signals()
        _clean(scratch)
        for number, handler in before.items():
            signal.signal(number, handler)


def ignore_signals() -> None:
    """Ignore signals, so that nothing interrupts the clean-up."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _mount(base: Path) -> str:
    """Mount a tmpfs of up to 6 GB at `base`. Return "", or the reason if that is impossible."""
    if os.geteuid() != 0:
        return "only root may mount the small disk that this fault needs"
    problem = _command("mount", "-t", "tmpfs", "-o", _DISK, "none", str(base))
    return f"the small disk for this fault can't be mounted: {problem}" if problem else ""


def _command(*parts: str) -> str:
    """Run a command. Return its error, or "" if it succeeded."""
    found = shutil.which(parts[0])
    if found is None:
        return f"there is no {parts[0]}"
    done = subprocess.run([found, *parts[1:]], capture_output=True, text=True, check=False)  # noqa: S603 -- mount and umount of a directory that we made
    return done.stderr.strip() or f"exit code {done.returncode}" if done.returncode else ""


def _clean(scratch: ScratchDirectory) -> None:
    home = scratch.base / "home"
    moved = home.resolve() if home.is_symlink() else None
    end_processes((scratch.base, *([moved] if moved else [])))
    for path in filter(None, (moved, moved and moved.with_name(f"{moved.name}.partial"))):
        shutil.rmtree(path, ignore_errors=True)
    if not scratch.not_mounted and _command("umount", str(scratch.base)):
        _command("umount", "--lazy", str(scratch.base))
    shutil.rmtree(scratch.base, ignore_errors=True)


def end_processes(directories: tuple[Path, ...]) -> None:
    """Kill each process that uses one of `directories`. Stop trying after 10 s.

    A process uses a directory if its command or environment contains the path, or if its working
    directory is inside.
    """
    deadline = time.monotonic() + _ENDED_S
    while (found := list(_processes_in(directories))) and time.monotonic() < deadline:
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_POLL_S)


def _processes_in(directories: tuple[Path, ...]) -> Iterator[int]:
    for process in _PROC.glob("[0-9]*"):
        pid = int(process.name)
        if pid != os.getpid() and _works_in(process, directories):
            yield pid


def _works_in(process: Path, directories: tuple[Path, ...]) -> bool:
    try:
        words = (process / "cmdline").read_bytes() + b"\0" + (process / "environ").read_bytes()
        where = (process / "cwd").readlink()
    except OSError:  # it has ended, or belongs to another account
        return False
    return any(
        str(directory).encode() in words or where.is_relative_to(directory)
        for directory in directories
    )
