"""Current state of each service, from the kernel's view of its process and from its probe.

The supervisor's record is not enough. Its file gets old when the disk is full, and a process that a
signal has stopped still has its pid.
"""

import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from deploy.stack.home import Home
from deploy.stack.processes import ProcessId, alive, suspended
from deploy.stack.runtime import Runtime, ServiceRuntime, read_runtime

RUNNING: Final = "running"
PAUSED: Final = "paused"  # a person has paused it
STARTING: Final = "starting"
GONE: Final = "gone"  # recorded as running, and there is no such process
SUSPENDED: Final = "suspended"
SILENT: Final = "no answer"
NOT_READY: Final = "not ready"  # its process answers, but it doesn't do its work yet
UNKNOWN: Final = "unknown"  # its probe goes through Postgres, which is down
ON_ITS_WAY: Final = (STARTING, NOT_READY, "stopping")
_AT_ONCE: Final = 16
OLD_FILE_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Seen:
    """The stack at one moment; `states` holds one state per service, in starting order."""

    runtime: Runtime
    supervisor: str
    states: Mapping[str, str]

    @property
    def file_age_s(self) -> float:
        """Seconds since the supervisor wrote its file."""
        return round(max(0.0, time.time() - self.runtime.written_at), 1)

    @property
    def unwell(self) -> tuple[str, ...]:
        """Services that should run and are not ready."""
        well = (RUNNING, PAUSED, UNKNOWN)
        return tuple(name for name, state in self.states.items() if state not in well)

    def serves(self, name: str) -> bool:
        """Return whether the service belongs to the stack and is ready."""
        return self.states.get(name) == RUNNING


def look(home: Home) -> Seen:
    """Return the current state; this takes up to about 3 s."""
    runtime = read_runtime(home)
    access = _access(home)
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        rows = [(name, entry, access) for name, entry in runtime.services.items()]
        states = dict(zip(runtime.services, pool.map(lambda row: _state(*row), rows), strict=True))
    return Seen(runtime, _supervisor(runtime), states)


def _supervisor(runtime: Runtime) -> str:
    if not runtime.running:
        return GONE
    return SUSPENDED if suspended(runtime.supervisor) else RUNNING


def _state(name: str, entry: ServiceRuntime, access: tuple[str, str]) -> str:
    from deploy.stack.probes import probes_of  # noqa: PLC0415 -- loads every part's client

    if entry.state not in (RUNNING, STARTING):
        return entry.state
    process = ProcessId(entry.pid or 0, entry.started_ticks)
    if not alive(process):
        return GONE
    if suspended(process):
        return SUSPENDED
    if entry.state == STARTING:
        return STARTING
    probes = probes_of(name, entry.url, *access)
    ready = probes.ready(process.pid)
    if ready is None:
        return UNKNOWN
    if ready:
        return RUNNING
    return NOT_READY if probes.alive(process.pid) else SILENT


def _access(home: Home) -> tuple[str, str]:
    """Return the read-only Postgres URL and Connect's password, empty where there is none."""
    try:
        found = json.loads((home.path / "environment.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "", ""
    names = ("INVENTORY_READ_DATABASE_URL", "INVENTORY_CONNECT_PASSWORD")
    database, password = (str(found.get(name, "")) for name in names)
    return database, password
