"""Current state of each service, from the kernel's data about its process and from its probe.

The supervisor's record is not enough. Its file isn't updated while the disk is full. And a process
that a signal has suspended has a pid, like a running one.
"""

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from deploy.stack.home import Home
from deploy.stack.processes import ProcessId, alive, suspended
from deploy.stack.runtime import Runtime, ServiceRuntime, read_environment, read_runtime

RUNNING: Final = "running"
PAUSED: Final = "paused"  # a command has paused it
STARTING: Final = "starting"
GONE: Final = "gone"  # recorded as running, but the process doesn't exist
SUSPENDED: Final = "suspended"
SILENT: Final = "no answer"
NOT_READY: Final = "not ready"  # its process answers, but it doesn't do its work yet
UNKNOWN: Final = "unknown"  # its probe goes through Postgres, which is down
IN_TRANSITION: Final = (STARTING, NOT_READY, "stopping")
_AT_ONCE: Final = 16
OLD_FILE_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class StackState:
    """The stack at one moment. `states` maps each service to its state, in the order of the start.

    `supervisor` is the state of the supervisor: running, suspended or gone.
    """

    runtime: Runtime
    supervisor: str
    states: Mapping[str, str]

    @property
    def file_age_s(self) -> float:
        """Seconds since the supervisor last wrote `runtime.json`."""
        return round(max(0.0, time.time() - self.runtime.written_at), 1)

    @property
    def not_ready(self) -> tuple[str, ...]:
        """Services that should run and are not ready."""
        well = (RUNNING, PAUSED, UNKNOWN)
        return tuple(name for name, state in self.states.items() if state not in well)

    def serves(self, name: str) -> bool:
        """Return True if the service is in the stack and ready."""
        return self.states.get(name) == RUNNING


def observe(home: Home) -> StackState:
    """Return the current state of the stack. This takes up to about 3 s.

    Postgres gets no query while its process is suspended or gone: a suspended Postgres accepts
    connections and never answers.
    """
    runtime = read_runtime(home)
    states = {name: _process_state(entry) for name, entry in runtime.services.items()}
    database, password = _access(home)
    access = (database if states.get("postgres") in (None, RUNNING) else "", password)
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        running = [name for name, state in states.items() if state == RUNNING]
        rows = [(name, runtime.services[name], access) for name in running]
        states |= zip(running, pool.map(lambda row: _probed(*row), rows), strict=True)
    return StackState(runtime, _supervisor(runtime), states)


def _supervisor(runtime: Runtime) -> str:
    if not runtime.running:
        return GONE
    return SUSPENDED if suspended(runtime.supervisor) else RUNNING


def _process_state(entry: ServiceRuntime) -> str:
    """Return the recorded state. If a process that should run doesn't, return GONE or SUSPENDED."""
    if entry.state not in (RUNNING, STARTING):
        return entry.state
    process = ProcessId(entry.pid or 0, entry.started_ticks)
    if not alive(process):
        return GONE
    return SUSPENDED if suspended(process) else entry.state


def _probed(name: str, entry: ServiceRuntime, access: tuple[str, str]) -> str:
    """Return the state that the service's probes `ready` and `alive` show.

    Both probes run at the same time, because each may take seconds.
    """
    from deploy.stack.probes import probes_of  # noqa: PLC0415 -- loads every part's client

    pid = entry.pid or 0
    probes = probes_of(name, entry.url, *access)
    if probes.ready is probes.alive:
        ready = alive = probes.ready(pid)
    else:
        with ThreadPoolExecutor(max_workers=1) as pool:
            answers = pool.submit(probes.alive, pid)
            ready, alive = probes.ready(pid), answers.result()
    if ready is None:
        return UNKNOWN
    if ready:
        return RUNNING
    return NOT_READY if alive else SILENT


def _access(home: Home) -> tuple[str, str]:
    """Return the URL of Postgres for the read-only role, and Connect's password.

    Each is "" if it is unknown.
    """
    try:
        found = read_environment(home)
    except (OSError, ValueError, AttributeError):
        return "", ""
    url = found.get("INVENTORY_READ_DATABASE_URL", "")
    return url, found.get("INVENTORY_CONNECT_PASSWORD", "")
