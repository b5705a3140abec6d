"""Repair of local services that are suspended or don't answer their probe.

Another thread starts the services in order, and probes those that are starting. This thread probes
the running services. So a service that answers slowly delays no start.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import structlog
from typing_extensions import override

from deploy.errors import StackError
from deploy.stack.home import Home
from deploy.stack.processes import ProcessId, suspended
from deploy.stack.repair_rule import Repair, RepairRule, silent_limit_s
from deploy.stack.requested import read_requested
from deploy.stack.service import ProbeResult, Service
from deploy.stack.supervisor import Supervisor

_EVERY_S: Final = 5.0  # not more often, because each round opens a connection to each service
_AT_ONCE: Final = 4

log = structlog.get_logger(__name__)


class RepairThread(threading.Thread):
    """Thread that probes every running service every 5 s."""

    def __init__(self, home: Home, supervisor: Supervisor, every_s: float = _EVERY_S) -> None:
        super().__init__(name="repairs", daemon=True)
        self._home = home
        self._supervisor = supervisor
        self._every_s = every_s
        self._watches: dict[ProcessId, RepairRule] = {}

    @override
    def run(self) -> None:
        """Probe until the supervisor stops."""
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="probe") as pool:
            while not self._supervisor.stopping.wait(self._every_s):
                self.probe_all(lambda work, *rows: list(pool.map(work, *rows)))

    def probe_all(
        self, spread: Callable[..., list[None]] = lambda work, *rows: list(map(work, *rows))
    ) -> None:
        """Probe each running service once, and apply the repair that is due.

        `spread` calls a function for each row, like `map`. `run` passes the `map` of a thread pool.
        """
        running = self._supervisor.processes(ready=True)
        kept = _held(self._home)
        self._watches = {
            process: self._watches.get(process) or RepairRule(silent_limit_s(service.name))
            for service, process in running
            if service.name not in kept
        }
        spread(self._probe, [row for row in running if row[1] in self._watches])

    def _probe(self, row: tuple[Service, ProcessId]) -> None:
        service, process = row
        is_suspended = suspended(process)
        answer = None if is_suspended else _answer(service, process)
        watch = self._watches[process]
        due = watch.due_repair(time.monotonic(), suspended=is_suspended, answer=answer)
        if due is not Repair.NONE:
            log.warning("service repaired", name=service.name, by=due.value, reason=watch.reason)
            self._supervisor.repair(service.name, process, due, watch.reason)


def _answer(service: Service, process: ProcessId) -> ProbeResult:
    """Return the result of the service's probe, or None if the probe itself raised an error.

    Such an error shows nothing about the service, and must not end this thread.
    """
    try:
        return service.alive(process.pid)
    except Exception as error:  # noqa: BLE001 -- a probe may raise any error
        log.warning("probe failed", name=service.name, error=repr(error))
        return None


def _held(home: Home) -> frozenset[str]:
    """Return the names of the services that `inventory hold` has exempted from repairs."""
    try:
        requested = read_requested(home)
    except (OSError, StackError):
        return frozenset()
    return frozenset(requested.held if requested else ())
