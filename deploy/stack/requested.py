"""Requested state of the services of a running stack: the file `wanted.json`, and its execution.

A command writes the complete request into the file. Twice a second, the supervisor's process
compares the request with the running services. Unlike a message, the file still exists after the
command has ended, and reading it twice has no further effect.
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

REPAIR: Final = "inventory workers rebuild --yes"  # a rebuild also starts paused services again
_FILE: Final = "wanted.json"


@dataclass(frozen=True, slots=True)
class RequestedState:
    """Requested number of workers, and number of requested restarts of each service.

    The restarts count from the start of the stack. `paused` names services whose processes stay
    stopped until their names are removed. `stopped` names workers that a person had stopped before
    a rebuild. The rebuild doesn't start these workers. `held` names services that are not repaired,
    because a person has suspended or debugs them.
    """

    workers: int
    restarts: dict[str, int] = field(default_factory=dict)
    paused: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)

    def scaled(self, workers: int) -> "RequestedState":
        """Return the request with another number of workers.

        Raises:
            StackError: `workers` is not 1 to 12. With 12 partitions, further workers would have no
            work.
        """
        if not 1 <= workers <= PARTITIONS:
            message = f"{workers} workers: expected 1 to {PARTITIONS}, one per partition"
            raise StackError(message)
        return replace(self, workers=workers)

    def restarted(self, name: str, done: int = 0) -> "RequestedState":
        """Return the request with one more restart of the service `name`.

        `done` is the supervisor's own count of requested restarts. If the file was deleted, `done`
        is higher than the count in the new file. The returned count is above both.
        """
        times = max(done, self.restarts.get(name, 0)) + 1
        return replace(self, restarts={**self.restarts, name: times})

    def without(self, *names: str) -> "RequestedState":
        """Return the request with exactly the services `names` paused, and an empty `stopped`."""
        return replace(self, paused=sorted(names), stopped=[])

    def is_half_rebuilt(self, workers: Iterable[str]) -> bool:
        """Return True if an interrupted rebuild has left services paused.

        Only a rebuild pauses all `workers`, because `stop` refuses to stop the last worker. Only a
        rebuild pauses a service that is no worker.
        """
        is_all = set(workers) <= set(self.paused)
        others = (name for name in self.paused if not name.startswith(WORKER_PREFIX))
        return bool(self.paused) and (is_all or any(others))


def read_requested(home: Home) -> RequestedState | None:
    """Return the newest request, None if there is none.

    Raises:
        StackError: the file is damaged, or another release has written it.
    """
    file = home.path / _FILE
    try:
        found = RequestedState(**json.loads(file.read_text(encoding="utf-8")))
        return found.scaled(found.workers)  # refuses a wrong number of workers
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, StackError) as error:
        message = f"{file}: expected the requested state of the workers, found {error!r}"
        repair = f"rm {shlex.quote(str(file))}  # the workers continue unchanged"
        raise StackError(message, repair=repair) from error


def exclusive_request(home: Home) -> AbstractContextManager[None]:
    """Return a lock of the request. Hold it from reading the request to writing the changed one."""
    return in_turn(home.path / f"{_FILE}.lock")


def write_requested(home: Home, requested: RequestedState) -> None:
    """Replace the request in the file atomically."""
    write_json(home.path / _FILE, asdict(requested))


class Requests:
    """Execution of requests in the supervisor's process.

    A new worker gets a port and joins the group by itself. `leave` is a function that removes an
    ended worker from its consumer group. Without this removal, no worker would fold its partitions
    until its session times out.
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
        """Start, stop, pause and restart services so that they match the request.

        Services that already match the request stay unchanged.
        """
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
        # A worker that ended without leaving is in its group until its session times out. Until
        # then, no other worker would fold its partitions. So remove it from the group.
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
