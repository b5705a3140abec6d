"""Functions that start and end child processes.

Each child leads its own process group. If the supervisor dies, the kernel sends the child a signal.
`setpriv --pdeathsig` requests this signal. A `preexec_fn` could request it, too, but could deadlock
in a process with threads. The kernel reuses pids, so a process is identified by its pid and its
start time.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.artifacts.prerequisites import SETPRIV, require

GRACE_S: Final = 10.0
# Less than half of `GRACE_S`: a process is killed `GRACE_S` after SIGTERM, and may have to end two
# children before that.
CHILD_GRACE_S: Final = 4.0
_POLL_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class ProcessId:
    """Identity of one process: pid and start time in clock ticks since boot."""

    pid: int
    started: int


def start_ticks(pid: int) -> int | None:
    """Return the start time of a living process in clock ticks since boot.

    Return None if there is no such process, or if it is a zombie.
    """
    fields = _stat(pid)
    return None if fields is None or fields[0] in "ZX" else int(fields[19])


def suspended(process: ProcessId) -> bool:
    """Return True if exactly this process is stopped by a signal, so that it executes nothing.

    A process that a debugger has stopped has another state letter, `t`, and doesn't count.
    """
    fields = _stat(process.pid)
    return fields is not None and fields[0] == "T" and int(fields[19]) == process.started


def _stat(pid: int) -> list[str] | None:
    """Return the fields of `/proc/<pid>/stat` from the state letter on."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command in parentheses may contain blanks and parentheses.
    return text.rpartition(")")[2].split()


def alive(process: ProcessId) -> bool:
    """Return True if exactly this process still runs."""
    return start_ticks(process.pid) == process.started


def identify(pid: int) -> ProcessId:
    """Return the identity of a child that was just started.

    The start time is 0 if the child has ended already.
    """
    return ProcessId(pid, start_ticks(pid) or 0)


def spawn(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    directory: Path,
    log: Path,
    death_signal: signal.Signals = signal.SIGTERM,
    privileges: Sequence[str] = (),
) -> subprocess.Popen[bytes]:
    """Start a child in its own process group, and return it. Append its output to `log`.

    If the supervisor dies, the child gets `death_signal`. `privileges` are further arguments of
    setpriv.
    """
    wrapper = [require(SETPRIV), "--pdeathsig", death_signal.name.removeprefix("SIG"), *privileges]
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 -- commands come from the service definitions
            [*wrapper, *command],
            env=dict(environment),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def end(processes: Iterable[ProcessId], first: signal.Signals, *, grace_s: float = GRACE_S) -> None:
    """Send the signal `first` to each process, and wait until all have ended.

    After `grace_s` seconds, kill the process groups of those that are still alive.
    """
    waiting = [process for process in processes if alive(process)]
    for process in waiting:
        send_signal(process, first)
    if not wait_until(lambda: not any(map(alive, waiting)), timeout_s=grace_s):
        for process in filter(alive, waiting):
            _kill_group(process.pid)
        wait_until(lambda: not any(map(alive, waiting)), timeout_s=grace_s)


def end_child(child: subprocess.Popen[bytes], *, grace_s: float = CHILD_GRACE_S) -> None:
    """Send SIGTERM to a child of this process. Kill it if it is alive `grace_s` seconds later."""
    child.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(grace_s)
    child.kill()
    child.wait()


def send_signal(process: ProcessId, number: signal.Signals) -> None:
    """Send the signal `number` to exactly this process if it is alive. Don't wait for an effect.

    If the process is suspended, also send SIGCONT: it handles the signal only after that.
    """
    if alive(process):
        _send(process.pid, number)
        if suspended(process):
            _send(process.pid, signal.SIGCONT)


def kill(process: ProcessId) -> None:
    """Kill the process group of this process if the process is alive. Don't wait for its end."""
    if alive(process):
        _kill_group(process.pid)


def wait_until(condition: Callable[[], bool], *, timeout_s: float, poll_s: float = _POLL_S) -> bool:
    """Call `condition` every `poll_s` seconds until it returns True. Then return True.

    Return False if `timeout_s` seconds have passed.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(poll_s)
    return True


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _kill_group(pid: int) -> None:
    # The child leads its group, so the signal reaches the child and its own children only.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
