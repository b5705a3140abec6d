"""The supervisor's loop: the only code that starts and ends the services of a home.

The loop starts wanted services, restarts crashed ones with a growing delay, counts crashes, and
writes `runtime.json`. `Supervisor.run` must stay on the main thread: the kernel sends a child its
death signal when the thread that started it ends. Other threads call the public methods.
"""

import math
import signal
import subprocess
import threading
import time
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any, Final

from deploy.stack.home import Home
from deploy.stack.processes import GRACE_S, ProcessId, end, identify, kill, send_signal, spawn
from deploy.stack.repair_rule import Repair
from deploy.stack.runtime import Runtime, ServiceRuntime, write_runtime
from deploy.stack.service import Service

_TICK_S: Final = 0.1
_SETTLED_S: Final = 60.0
_WRITTEN_EVERY_S: Final = 5.0  # an older file means that the disk refuses writes
_WRITE_AGAIN_S: Final = 1.0
_LONGEST_DELAY_S: Final = 30.0
# Exit codes of a process that was ended from outside. If it was ready, its restart has no delay.
# The kernel also kills a process if memory is short. If that repeats before the service is ready,
# the restarts get a growing delay.
_ENDED_FROM_OUTSIDE: Final = (0, -signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM)


class StopReason(Enum):
    """Reason why the supervisor stops a process. Each value states what happens after the stop."""

    RESTART = "start it again; this is no crash"
    REPAIR = "start it again, because it didn't answer"
    RELEASE = "remove it from the wanted services"
    PAUSE = "start it again when a command requests it"


@dataclass(slots=True)
class Child:
    """A wanted service with its current process.

    `stop_reason` is set while the process is being stopped on request, and `kill_at` is the time at
    which it is killed. `due` is the earliest time of the next start. All times are in seconds of
    the monotonic clock.
    """

    service: Service
    process: subprocess.Popen[bytes] | None = None
    identity: ProcessId = field(default_factory=lambda: ProcessId(0, 0))
    started: float = 0.0
    due: float = 0.0
    stop_reason: StopReason | None = None
    kill_at: float = 0.0


def delay_after(ends_in_a_row: int) -> float:
    """Return the seconds before the next start, by the number of crashes in a row.

    It is 0 after one crash, then 1, 2, 4, 8, 16, and then always 30.
    """
    if ends_in_a_row <= 1:
        return 0.0
    return min(2.0 ** (ends_in_a_row - 2), _LONGEST_DELAY_S)


class Supervisor:
    """Loop over the child processes of one home."""

    def __init__(self, home: Home, runtime: Runtime) -> None:
        self.home = home
        self.runtime = runtime
        self.stopping = threading.Event()
        self._wake = threading.Event()
        self._lock = threading.RLock()
        self._children: dict[str, Child] = {}
        self._dirty = True
        self._write_at = 0.0

    def want(self, *services: Service) -> None:
        """Add services. The loop starts them and restarts them from now on."""
        with self._lock:
            for service in services:
                self._children.setdefault(service.name, Child(service))
                self.runtime.services[service.name] = ServiceRuntime(
                    state="starting",
                    port=service.port,
                    url=service.url,
                    log=str(self.home.log_of(service.name)),
                )
        self._wake.set()

    def names(self) -> tuple[str, ...]:
        """Return the names of all services, including those that are being stopped."""
        with self._lock:
            return tuple(self._children)

    def stop_service(self, name: str, reason: StopReason) -> None:
        """Send the service's process a stop signal for `reason`. The other services continue."""
        with self._lock:
            child = self._children[name]
            child.stop_reason = reason
            child.kill_at = time.monotonic() + GRACE_S
            entry = self.runtime.services[name]
            # Delete the exit code of an earlier crash: it isn't the reason of this stop.
            entry.state, entry.last_exit = "stopping", None
            self._dirty = True
            if child.process is not None:
                send_signal(child.identity, _signal_of(child.service, reason))
        self._wake.set()

    def resume(self, name: str) -> None:
        """Start a paused service again. This doesn't count as a crash."""
        with self._lock:
            if self._children[name].stop_reason is StopReason.PAUSE:
                self._children[name].stop_reason = StopReason.RESTART
        self._wake.set()

    def pid_of(self, name: str) -> int | None:
        """Return the pid of the service's current process, or None if it has none."""
        with self._lock:
            child = self._children.get(name)
            return child.identity.pid if child and child.process else None

    def processes(self, *, ready: bool) -> list[tuple[Service, ProcessId]]:
        """Return each ready service with its process. Leave out processes that are being stopped.

        With `ready=False`, return the services that are not ready.
        """
        with self._lock:
            return [
                (child.service, child.identity)
                for name, child in self._children.items()
                if child.process is not None
                and child.stop_reason is None
                and (self.runtime.services[name].state == "running") == ready
            ]

    def repair(self, name: str, process: ProcessId, due: Repair, reason: str) -> None:
        """Continue a suspended process with SIGCONT, or stop a silent one, so that it is restarted.

        Do nothing if `process` is no longer the current process of the service.
        """
        with self._lock:
            child = self._children.get(name)
            if child is None or child.identity != process or child.stop_reason is not None:
                return  # it has ended meanwhile
            entry = self.runtime.services[name]
            entry.repairs += 1
            entry.last_repair = f"{due.value}: {reason}"
            self._dirty = True
            if due is Repair.CONTINUE:
                send_signal(process, signal.SIGCONT)
                return
            self.stop_service(name, StopReason.REPAIR)

    def report(self) -> dict[str, Any]:
        """Return the current runtime in the format of `runtime.json`."""
        with self._lock:
            return asdict(self.runtime)

    def note(self, **changes: object) -> None:
        """Set fields of the runtime. Other threads call this."""
        with self._lock:
            for name, value in changes.items():
                setattr(self.runtime, name, value)
            self._dirty = True
        self._wake.set()

    def probe(self, service: Service) -> bool:
        """Probe the service's process. If the probe succeeds, record that and return True."""
        pid = self.pid_of(service.name)
        if pid is None or not service.ready(pid):
            return False
        self.mark_ready(service.name)
        return True

    def mark_ready(self, name: str) -> None:
        """Record that the service's probe succeeded."""
        with self._lock:
            if self._children[name].stop_reason is None:
                self.runtime.services[name].state = "running"
                self._dirty = True

    def stop(self) -> None:
        """Ask the loop in `run` to end all child processes and to return. Don't wait for that."""
        self.stopping.set()
        self._wake.set()

    def run(self) -> None:
        """Supervise until `stop` is called. Then end the children in order of their `stop_rank`."""
        try:
            while not self.stopping.is_set():
                self._wake.wait(_TICK_S)
                self._wake.clear()
                self._step(time.monotonic())
        finally:
            self._end_all()

    def _step(self, now: float) -> None:
        with self._lock:
            for child in list(self._children.values()):
                code = child.process.poll() if child.process is not None else None
                if code is not None:
                    self._record_end(child, code, now)
                if child.stop_reason is not None:
                    self._continue_stop(child, now)
                elif child.process is None and now >= child.due:
                    self._start(child, now)
            if self._dirty or time.time() - self.runtime.written_at > _WRITTEN_EVERY_S:
                self._dirty = not self._try_write(now)

    def _try_write(self, now: float) -> bool:
        """Write the state of the services to `runtime.json`. Return False if it was not written.

        After a failed write, the next attempt is a second later.
        """
        if now < self._write_at:
            return False
        try:
            write_runtime(self.home, self.runtime)
        except OSError as error:
            self.runtime.write_error = str(error)
            self._write_at = now + _WRITE_AGAIN_S
            return False
        return True

    def _start(self, child: Child, now: float) -> None:
        try:
            self._spawn(child, now)
        except OSError as error:  # a full disk or no memory: both may be temporary
            entry = self.runtime.services[child.service.name]
            entry.ends_in_a_row += 1
            entry.state, entry.last_repair = "restarting", f"start failed: {error}"
            child.due = now + max(1.0, delay_after(entry.ends_in_a_row))
            self._dirty = True

    def _spawn(self, child: Child, now: float) -> None:
        service = child.service
        child.process = spawn(
            service.command,
            environment=service.environment,
            directory=service.directory,
            log=self.home.log_of(service.name),
            death_signal=service.stop_signal,
            privileges=service.privileges,
        )
        child.identity = identify(child.process.pid)
        child.started = now
        entry = self.runtime.services[service.name]
        entry.pid, entry.started_ticks = child.identity.pid, child.identity.started
        entry.started_at = time.time()
        self._dirty = True

    def _continue_stop(self, child: Child, now: float) -> None:
        """Kill a child that ignored its stop signal. After its end, remove, pause or restart it."""
        if child.process is not None:
            if now > child.kill_at:
                kill(child.identity)
            return
        entry = self.runtime.services[child.service.name]
        if child.stop_reason is StopReason.PAUSE:
            self._dirty |= entry.state != "paused"
            entry.state = "paused"
            return
        self._dirty = True
        if child.stop_reason is StopReason.RELEASE:
            del self._children[child.service.name]
            del self.runtime.services[child.service.name]
            return
        if child.stop_reason is StopReason.REPAIR:
            entry.restarts += 1
        else:
            entry.asked_restarts += 1
        child.stop_reason, entry.ends_in_a_row = None, 0
        entry.state = "starting"
        self._start(child, now)

    def _record_end(self, child: Child, code: int, now: float) -> None:
        """Record the end of a process. It counts as a crash unless a stop was requested."""
        entry = self.runtime.services[child.service.name]
        child.process, entry.pid = None, None
        if child.stop_reason is not None:
            return
        was_ended = entry.state == "running" and code in _ENDED_FROM_OUTSIDE
        is_first = was_ended or now - child.started > _SETTLED_S
        entry.ends_in_a_row = 1 if is_first else entry.ends_in_a_row + 1
        child.due = now + delay_after(entry.ends_in_a_row)
        entry.state = "restarting"
        entry.restarts += 1
        entry.last_exit, entry.lived_s = code, round(now - child.started, 1)
        self._dirty = True

    def _end_all(self) -> None:
        self.runtime.phase = "failed" if self.runtime.error else "stopping"
        self._try_write(math.inf)
        children = self._children.values()
        for rank in sorted({child.service.stop_rank for child in children}):
            _end_together([child for child in children if child.service.stop_rank == rank])
        for entry in self.runtime.services.values():
            entry.state, entry.pid = "stopped", None
        self.runtime.phase = "failed" if self.runtime.error else "down"
        self._try_write(math.inf)


def _signal_of(service: Service, reason: StopReason) -> signal.Signals:
    """Return the signal that stops the service for `reason`."""
    is_leaving = reason in (StopReason.RELEASE, StopReason.PAUSE)
    return (service.leave_signal if is_leaving else None) or service.stop_signal


def _end_together(children: list[Child]) -> None:
    """End children of the same rank at the same time, and wait until they have ended."""
    living = [(child, child.process) for child in children if child.process is not None]
    for number in {child.service.stop_signal for child, _ in living}:
        end((child.identity for child, _ in living if child.service.stop_signal == number), number)
    for _, process in living:
        process.wait()
