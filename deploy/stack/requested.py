"""Requested state of a running stack's services: `wanted.json` of a home, and its execution.

A command writes the complete request. The supervisor's process compares it with the running
services twice a second. A file survives the end of the command, and reading it twice has no further
effect. A message to the process would have neither property.
"""

import json
import shlex
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from analytics.locks import in_turn
from cdc.contracts.topics import PARTITIONS
from deploy.errors import StackError
from deploy.stack.context import WORKER_PREFIX, Context, worker_names
from deploy.stack.home import Home, write_json
from deploy.stack.ports import choose_ports
from deploy.stack.supervisor import StopReason, Supervisor

REPAIR: Final = "inventory workers rebuild --yes"  # also resumes paused services
_FILE: Final = "wanted.json"


@dataclass(frozen=True, slots=True)
class RequestedState:
    """Requested number of workers, and of restarts per service since the stack started.

    `paused` names services whose processes stay stopped until their names are removed. `stopped`
    names workers that a person had stopped before a rebuild; the rebuild doesn't start them.
    `held` names services that are not repaired, because a person has suspended or debugs them.
    """

    workers: int
    restarts: dict[str, int] = field(default_factory=dict)
    paused: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)

    def scaled(self, workers: int) -> "RequestedState":
        """Return the request with another number of workers.

        Raises:
            StackError: `workers` is not 1 to 12. More workers than the 12 partitions would be idle.
        """
        if not 1 <= workers <= PARTITIONS:
            message = f"{workers} workers: expected 1 to {PARTITIONS}, one per partition"
            raise StackError(message)
        return replace(self, workers=workers)

    def restarted(self, name: str, done: int = 0) -> "RequestedState":
        """Return the request with one more restart of the service `name`.

        `done` is the supervisor's own count of requested restarts. It is higher than the count in
        the file if the file was deleted. The new count is above both.
        """
        times = max(done, self.restarts.get(name, 0)) + 1
        return replace(self, restarts={**self.restarts, name: times})

    def without(self, *names: str) -> "RequestedState":
        """Return the request with exactly the services `names` paused, and none in `stopped`."""
        return replace(self, paused=sorted(names), stopped=[])

    def is_half_rebuilt(self, workers: Iterable[str]) -> bool:
        """Return True if an interrupted rebuild has left services paused.

        `stop` refuses to stop the last worker. Only a rebuild pauses all workers, or the projector.
        """
        is_all = set(workers) <= set(self.paused)
        others = (name for name in self.paused if not name.startswith(WORKER_PREFIX))
        return bool(self.paused) and (is_all or any(others))


def read_requested(home: Home) -> RequestedState | None:
    """Return the last request, None if there never was one.

    Raises:
        StackError: the file is damaged, or another release has written it.
    """
    file = home.path / _FILE
    try:
        found = RequestedState(**json.loads(file.read_text(encoding="utf-8")))
        return found.scaled(found.workers)  # checks the range
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, StackError) as error:
        message = f"{file}: expected the requested state of the workers, found {error!r}"
        repair = f"rm {shlex.quote(str(file))}  # the workers continue unchanged"
        raise StackError(message, repair=repair) from error


def exclusive_request(home: Home) -> AbstractContextManager[None]:
    """Return the lock under which a command reads the request and writes the changed one."""
    return in_turn(home.path / f"{_FILE}.lock")


def write_requested(home: Home, requested: RequestedState) -> None:
    """Replace the request atomically."""
    write_json(home.path / _FILE, asdict(requested))


class Requests:
    """Execution of requests in the supervisor's process. Services without a request stay unchanged.

    A new worker gets a port and joins the group by itself. `leave` removes the static membership of
    a worker that has ended. Otherwise its partitions have no worker until its session times out.
    """

    def __init__(
        self, context: Context, supervisor: Supervisor, leave: Callable[[str], None]
    ) -> None:
        self._context = context
        self._supervisor = supervisor
        self._leave = leave
        self._going: set[str] = set()
        self._restarts: dict[str, int] = {}
        self._paused: set[str] = set()
        self._away: set[str] = set()  # paused services whose process has ended

    def carry_out(self) -> None:
        """Compare running with requested services, and start, stop, pause or restart as needed."""
        try:
            requested = read_requested(self._context.home)
        except StackError:
            return  # the next command reports the error; the workers continue
        if requested is None:
            self._restarts.clear()  # the counts in the next request start at 0
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
            self._supervisor.stop_service(name, StopReason.RELEASE)
        self._pause(set(requested.paused) & set(self._supervisor.names()) - self._going)
        others = {name for name in self._supervisor.names() if not name.startswith(WORKER_PREFIX)}
        self._restart(requested, (names & running | others) - self._paused)

    def _start(self, name: str) -> None:
        from deploy.stack.services import application  # noqa: PLC0415 -- loads every part's client

        home = self._context.home
        port = choose_ports(home.path / "ports.json", (name,), {})
        self._context = replace(self._context, ports={**self._context.ports, **port})
        self._supervisor.want(application.worker(self._context, name))

    def _pause(self, names: set[str]) -> None:
        for name in sorted(names - self._paused):
            self._supervisor.stop_service(name, StopReason.PAUSE)
        for name in sorted((self._paused - names) & set(self._supervisor.names())):
            self._supervisor.resume(name)
        self._paused = names
        # A stopped worker stays in its group until its session times out, and no other worker folds
        # its partitions. So remove the worker from the group.
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
                self._supervisor.stop_service(name, StopReason.RESTART)
