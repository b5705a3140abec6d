"""Functions for the commands that act on services of a running stack.

Each function writes a request into one file (`deploy.stack.requested`). Most of them wait until the
supervisor's runtime shows the result.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from cdc.contracts.topics import PARTITIONS
from deploy.errors import StackError
from deploy.stack import worker_queries
from deploy.stack.context import in_worker_order, worker_names
from deploy.stack.home import Home
from deploy.stack.observe import PAUSED, RUNNING
from deploy.stack.processes import wait_until
from deploy.stack.requested import (
    REPAIR,
    RequestedState,
    exclusive_request,
    read_requested,
    write_requested,
)
from deploy.stack.runtime import UP, Runtime, ServiceRuntime, read_runtime
from inventory.explain.formatting import counted_text

Progress = Callable[[str], None]
Change = Callable[[RequestedState], RequestedState]

_READY_S: Final = 120.0
_POLL_S: Final = 0.1


def scale(home: Home, count: int) -> float:
    """Set the number of workers. Return the seconds until they serve all partitions.

    Workers that a person has stopped start again, too.

    Raises:
        StackError: no stack is ready, the number is not 1 to 12, a rebuild was interrupted, or the
        workers took too long.
    """
    _requested(home).scaled(count)  # refuses a wrong number, also without a stack
    _running(home)
    names = set(worker_names(count))

    def changed(latest: RequestedState) -> RequestedState:
        scaled = latest.scaled(count)
        _refuse_half_rebuilt(home, latest)
        return scaled.without()

    return _request(
        home,
        changed,
        lambda: _states(home) == dict.fromkeys(names, RUNNING) and _is_served(home, names),
        lambda: (
            f"expected {counted_text(count, 'worker')} that serve all partitions; "
            f"workers: {_states_text(home)}"
        ),
    )


def restart(home: Home, name: str) -> float:
    """Restart one worker. Return the seconds until it runs and all partitions are served again.

    Raises:
        StackError: no stack is ready, the worker doesn't exist or is stopped, or the restart took
        too long.
    """
    before = _worker(home, name).asked_restarts
    requested = _requested(home)
    if name in requested.paused:
        message = f"{name} is stopped; nothing was restarted"
        raise StackError(message, repair=f"inventory workers start {name}")
    return _request(
        home,
        lambda latest: latest.restarted(name, before),
        lambda: _is_back(home, name, before) and _is_served(home, set(_states(home))),
        lambda: f"{name} is not ready again; workers: {_states_text(home)}",
        service=name,
    )


def restart_rolling(home: Home, progress: Progress) -> None:
    """Restart all running workers one by one. After each, wait until all partitions are served."""
    stopped = _requested(home).paused
    for name in _states(home):
        if name in stopped:
            continue
        progress(f"{name} restarted in {restart(home, name):.1f} s")


def restart_service(home: Home, name: str) -> float:
    """Restart any service. Return the seconds until its probe succeeds.

    Raises:
        StackError: no stack is ready, the service doesn't exist or is paused, or the restart took
        too long.
    """
    if name in _states(home):
        return restart(home, name)
    before = _service(home, name).asked_restarts
    requested = _requested(home)
    if name in requested.paused:
        message = f"{name} is paused; nothing was restarted"
        raise StackError(message, repair=resume_command(home, name))
    return _request(
        home,
        lambda latest: latest.restarted(name, before),
        lambda: _is_back(home, name, before),
        lambda: f"{name} is not ready again",
        service=name,
    )


def hold(home: Home, name: str, *, release: bool = False) -> None:
    """Exempt a service from the supervisor's repairs while it is suspended or doesn't answer.

    With `release`, end the exemption.

    Raises:
        StackError: no stack is ready, or the service doesn't exist.
    """
    _service(home, name)

    def changed(latest: RequestedState) -> RequestedState:
        held = set(latest.held) - {name} if release else {*latest.held, name}
        return replace(latest, held=sorted(held))

    _write(home, changed)


def stop(home: Home, name: str) -> float:
    """Stop one worker until `start`. Return the seconds until other workers serve its partitions.

    Raises:
        StackError: no stack is ready, the worker doesn't exist, no other worker runs, a rebuild was
        interrupted, or the stop took too long.
    """
    _worker(home, name)

    def others() -> set[str]:
        return set(_states(home)) - {name, *_requested(home).paused}

    def changed(latest: RequestedState) -> RequestedState:
        _refuse_half_rebuilt(home, latest)
        if not others():
            message = f"{name} is the only worker that runs; nothing was stopped"
            raise StackError(message, repair="inventory down  # ends the whole stack")
        return latest.without(*latest.paused, name)

    return _request(
        home,
        changed,
        lambda: _states(home).get(name) == PAUSED and _is_served(home, others()),
        lambda: (
            f"{name} still runs, or others don't serve its partitions; "
            f"workers: {_states_text(home)}"
        ),
        service=name,
    )


def start(home: Home, name: str) -> float:
    """Start a stopped worker again. Return the seconds until all partitions are served.

    Raises:
        StackError: no stack is ready, the worker doesn't exist, a rebuild was interrupted, or the
        start took too long.
    """
    _worker(home, name)

    def changed(latest: RequestedState) -> RequestedState:
        _refuse_half_rebuilt(home, latest)
        return latest.without(*(other for other in latest.paused if other != name))

    return _request(
        home,
        changed,
        lambda: _states(home).get(name) == RUNNING and _is_served(home, set(_states(home))),
        lambda: f"not all partitions are served; workers: {_states_text(home)}",
        service=name,
    )


def pause(home: Home, *others: str) -> tuple[str, ...]:
    """End all workers and the services `others` until `resume`. Return the names of all of them.

    The request records the workers that a person had stopped before, because `resume` must not
    start them. If an earlier rebuild was interrupted, the list that it recorded stays.

    Raises:
        StackError: no stack is ready, or a service did not end in time.
    """
    known = _running(home).services
    names = (*_states(home), *(name for name in others if name in known))

    def changed(latest: RequestedState) -> RequestedState:
        was_cut_off = latest.is_half_rebuilt(_states(home))
        stopped = latest.stopped if was_cut_off else latest.paused
        return replace(latest.without(*names), stopped=stopped)

    def are_away() -> bool:
        services = read_runtime(home).services
        return all(services[name].state == PAUSED for name in names)

    def describe() -> str:
        services = read_runtime(home).services
        left = ", ".join(name for name in names if services[name].state != PAUSED)
        return f"processes that have not ended: {left}"

    _request(home, changed, are_away, describe)
    return names


def resume(home: Home) -> tuple[str, ...]:
    """Start again the services that `pause` has ended. Wait until all partitions are served.

    Return the workers that stay stopped, because a person had stopped them before.

    Raises:
        StackError: no stack is ready, or the start took too long.
    """
    _running(home)
    stopped: list[str] = []

    def changed(latest: RequestedState) -> RequestedState:
        stopped.extend(latest.stopped)
        return latest.without(*stopped)

    def is_back() -> bool:
        services = read_runtime(home).services.items()
        runs = all(s.state == RUNNING for name, s in services if name not in stopped)
        return runs and _is_served(home, set(_states(home)) - set(stopped))

    _request(
        home,
        changed,
        is_back,
        lambda: f"not all partitions are served; workers: {_states_text(home)}",
    )
    return tuple(stopped)


def resume_command(home: Home, name: str) -> str:
    """Return the command that starts the paused service `name` again."""
    is_rebuild = _requested(home).is_half_rebuilt(_states(home))
    return REPAIR if is_rebuild else f"inventory workers start {name}"


def _request(
    home: Home,
    change: Change,
    is_done: Callable[[], bool],
    describe: Callable[[], str],
    *,
    service: str = "worker-1",
) -> float:
    """Write the changed request. Return the seconds until `is_done` returns True.

    Raises:
        StackError: this took more than 120 s. `describe` returns the text of the message. The
        repair is the command that shows the log of `service`.
    """
    began = time.monotonic()
    _write(home, change)
    if not wait_until(is_done, timeout_s=_READY_S, poll_s=_POLL_S):
        message = f"after {_READY_S:.0f} s: {describe()}"
        raise StackError(message, repair=f"inventory logs {service}")
    return time.monotonic() - began


def _write(home: Home, change: Change) -> None:
    """Change the newest request under a lock, so that no change of another command is lost."""
    with exclusive_request(home):
        write_requested(home, change(_requested(home)))


def _running(home: Home) -> Runtime:
    runtime = read_runtime(home)
    if not runtime.running or runtime.phase != "ready":
        message = f"no stack is ready in {home.path}"
        raise StackError(message, repair=UP)
    return runtime


def _worker(home: Home, name: str) -> ServiceRuntime:
    """Return the runtime entry of the worker `name`.

    Raise `StackError` if no stack is ready, or if it has no such worker.
    """
    services = _running(home).services
    if name not in in_worker_order(services):
        message = (
            f"no worker {name!r}: expected one of {', '.join(_states(home))}; nothing was done"
        )
        raise StackError(message)
    return services[name]


def _service(home: Home, name: str) -> ServiceRuntime:
    """Return the runtime entry of the service `name`.

    Raise `StackError` if no stack is ready, or if it has no such service.
    """
    services = _running(home).services
    if name not in services:
        message = f"no service {name!r}: expected one of {', '.join(services)}; nothing was done"
        raise StackError(message)
    return services[name]


def _refuse_half_rebuilt(home: Home, requested: RequestedState) -> None:
    """Raise `StackError` if an interrupted rebuild has left services paused."""
    if requested.is_half_rebuilt(_states(home)):
        names = ", ".join(requested.paused)
        message = (
            f"a rebuild was interrupted, so {names} stay paused until another one has finished"
        )
        raise StackError(message, repair=REPAIR)


def _requested(home: Home) -> RequestedState:
    return read_requested(home) or RequestedState(len(_states(home)))


def _states(home: Home) -> dict[str, str]:
    services = read_runtime(home).services
    return {name: services[name].state for name in in_worker_order(services)}


def _states_text(home: Home) -> str:
    return ", ".join(f"{name} {state}" for name, state in _states(home).items())


def _is_back(home: Home, name: str, before: int) -> bool:
    """Return True if the service is ready after a restart.

    `before` is the number of its requested restarts before this one.
    """
    service = read_runtime(home).services[name]
    return service.asked_restarts > before and service.state == RUNNING


def _is_served(home: Home, names: set[str]) -> bool:
    """Return True if each partition is folded by one of the workers `names`."""
    rows = worker_queries.partitions(worker_queries.connections(home))
    is_running = worker_queries.RUNNING
    served = {
        row["partition"] for row in rows if row["state"] == is_running and row["worker"] in names
    }
    return len(served) == PARTITIONS
