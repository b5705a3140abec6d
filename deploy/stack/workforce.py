"""Reconciliation of the running workers with the requested ones; other workers are not affected.

The director calls `reconcile` twice a second. A new worker gets a port and joins the group by
itself. A removed worker is asked to stop and its static membership is removed, because the group
would keep its partitions until the session times out. Other services that a command pauses are
paused here.
"""

from collections.abc import Callable
from dataclasses import replace

from deploy.errors import StackError
from deploy.stack.context import WORKER_PREFIX, Context, worker_names
from deploy.stack.ports import choose_ports
from deploy.stack.requested import RequestedState, read_requested
from deploy.stack.services import application
from deploy.stack.supervisor import Supervisor


class Workforce:
    """The workers of one stack; `leave` removes the group membership of a worker that has ended."""

    def __init__(
        self, context: Context, supervisor: Supervisor, leave: Callable[[str], None]
    ) -> None:
        self._context = context
        self._supervisor = supervisor
        self._leave = leave
        self._going: set[str] = set()
        self._restarts: dict[str, int] = {}
        self._paused: set[str] = set()
        self._away: set[str] = set()  # paused ones whose process has ended

    def reconcile(self) -> None:
        """Compare running with requested workers, and start, stop, pause or restart as needed."""
        try:
            requested = read_requested(self._context.home)
        except StackError:
            return  # the next command reports the error; the workers continue
        if requested is None:
            self._restarts.clear()  # the next request counts from 0
            return
        running = {name for name in self._supervisor.names() if name.startswith(WORKER_PREFIX)}
        for name in sorted(self._going - running):
            self._going.discard(name)
            self._leave(name)
        wants = self._context.options.wants
        names = {name for name in worker_names(requested.workers) if wants(name)}
        for name in sorted(names - running):
            self._start(name)
        for name in sorted(running - names - self._going):
            self._going.add(name)
            self._supervisor.release(name)
        self._pause(set(requested.paused) & set(self._supervisor.names()) - self._going)
        others = {name for name in self._supervisor.names() if not name.startswith(WORKER_PREFIX)}
        self._restart(requested, (names & running | others) - self._paused)

    def _start(self, name: str) -> None:
        home = self._context.home
        port = choose_ports(home.path / "ports.json", (name,), {})
        self._context = replace(self._context, ports={**self._context.ports, **port})
        self._supervisor.want(application.worker(self._context, name))

    def _pause(self, names: set[str]) -> None:
        for name in sorted(names - self._paused):
            self._supervisor.pause(name)
        for name in sorted((self._paused - names) & set(self._supervisor.names())):
            self._supervisor.resume(name)
        self._paused = names
        # Until its session times out, no worker folds its partitions.
        ended = {name for name in names if self._supervisor.pid_of(name) is None}
        for name in sorted(ended - self._away):
            if name.startswith(WORKER_PREFIX):
                self._leave(name)
        self._away = ended

    def _restart(self, requested: RequestedState, names: set[str]) -> None:
        for name in sorted(names):
            asked = requested.restarts.get(name, 0)
            if asked > self._restarts.get(name, 0):
                self._restarts[name] = asked
                self._supervisor.restart(name)
