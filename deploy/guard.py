"""Guard of the service in a container: `python -m deploy.guard NAME -- COMMAND …`.

A container has no supervisor, and Docker restarts only processes that end. The guard applies the
local supervisor's repair rule (`deploy/stack/repair_rule.py`) with the same probes. It sends
SIGCONT to a suspended process. If a process doesn't answer, the guard ends the process and itself,
and Docker's restart policy starts both again. Nothing repairs a suspended guard or a paused
container.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Final

import structlog

from cdc.logs import configure_logging
from deploy.stack.processes import GRACE_S, ProcessId, end, identify, suspended
from deploy.stack.repair_rule import SUSPENDED_S, Repair, RepairRule, silent_limit_s
from deploy.stack.service import ServiceProbe

SILENT: Final = 75  # EX_TEMPFAIL of sysexits.h: the service didn't answer, and a restart may help
USAGE: Final = 64
_EVERY_S: Final = 5.0
_START_S: Final = 180.0  # limit for the first answer, in seconds after the start

log = structlog.get_logger(__name__)


class Guard:
    """One child process with its probe and its repair rule."""

    def __init__(self, command: Sequence[str], alive: ServiceProbe, watch: RepairRule) -> None:
        self._alive = alive
        self._watch = watch
        self._answered = False
        self._started = time.monotonic()
        self._child = subprocess.Popen(  # noqa: S603 -- the container's own command
            command, start_new_session=True, env=_environment()
        )
        self._process: ProcessId = identify(self._child.pid)

    def run(self, every_s: float, start_s: float) -> int:
        """Wait for the end of the child, and return its exit code.

        Probe the child every `every_s` seconds. If it doesn't answer for too long, end it and
        return `SILENT`. A child that has never answered is still starting, and is not ended in its
        first `start_s` seconds.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._forward)
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return _exit_code(self._child.wait(timeout=every_s))
            if self._is_lost(time.monotonic(), start_s):
                log.error("service ended", reason=self._watch.reason)
                end([self._process], signal.SIGTERM, grace_s=GRACE_S)
                self._child.wait()
                return SILENT

    def _is_lost(self, now: float, start_s: float) -> bool:
        """Probe the child, and continue it if it is suspended. Return True if it must be ended."""
        is_suspended = suspended(self._process)
        answer = None if is_suspended else self._alive(self._process.pid)
        self._answered = self._answered or answer is True
        is_starting = not self._answered and now - self._started < start_s
        seen = None if is_starting else answer
        due = self._watch.due_repair(now, suspended=is_suspended, answer=seen)
        if due is Repair.CONTINUE:
            log.warning("service continued", reason=self._watch.reason)
            os.kill(self._process.pid, signal.SIGCONT)
        return due is Repair.RESTART

    def _forward(self, number: int, _frame: FrameType | None) -> None:
        self._child.send_signal(number)
        if suspended(self._process):
            self._child.send_signal(signal.SIGCONT)


def _environment() -> dict[str, str]:
    """Return the variables for the child: those of the container, and the log's generation.

    A generation in the container's variables takes precedence.
    """
    from deploy.stack.home import Home, default_home  # noqa: PLC0415 -- only to start a child

    return {"INVENTORY_GENERATION": str(Home(default_home()).generation), **os.environ}


def _exit_code(code: int) -> int:
    """Return a child's exit code as a shell does: for a signal, 128 plus its number."""
    return code if code >= 0 else 128 - code


def alive_probe(name: str, variables: Mapping[str, str]) -> ServiceProbe:
    """Return the probe that checks if the service `name` in this container answers."""
    from deploy.stack.context import WORKER_PREFIX  # noqa: PLC0415 -- loads the stack's modules
    from deploy.stack.probes import probes_of  # noqa: PLC0415 -- loads every part's client

    port = "INVENTORY_WORKER_PORT" if name.startswith(WORKER_PREFIX) else "INVENTORY_WEB_PORT"
    url = f"http://127.0.0.1:{variables.get(port, '')}"
    names = ("INVENTORY_READ_DATABASE_URL", "INVENTORY_DATABASE_URL")
    database = next((variables[name] for name in names if name in variables), "")
    return probes_of(name, url, database).alive


def main(arguments: Sequence[str]) -> int:
    """Run the command after `--` under a guard. Return the command's exit code.

    Return `SILENT` if the guard ended the command because it didn't answer, and `USAGE` if the
    arguments are wrong.
    """
    name, separator, *command = [*arguments, "", ""][: max(len(arguments), 2)]
    if separator != "--" or not command:
        sys.stderr.write(
            "expected: python -m deploy.guard NAME -- COMMAND …; nothing was started\n"
        )
        return USAGE
    configure_logging(service=f"guard-{name}")
    limits = {
        key: float(os.environ.get(f"GUARD_{key}", default))
        for key, default in (
            ("EVERY_S", _EVERY_S),
            ("START_S", _START_S),
            ("SILENT_S", silent_limit_s(name)),
            ("SUSPENDED_S", SUSPENDED_S),
        )
    }
    watch = RepairRule(limits["SILENT_S"], limits["SUSPENDED_S"])
    guard = Guard(command, alive_probe(name, os.environ), watch)
    return guard.run(limits["EVERY_S"], limits["START_S"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
