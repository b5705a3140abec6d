"""Queries and commands for the running workers: their partitions, scaling, restarts and pauses."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from pydantic import SecretStr

from cdc.contracts.topics import PARTITIONS
from cdc.settings import Connections
from cdc.worker_addresses import worker_urls
from deploy.errors import StackError
from deploy.stack.context import worker_names
from deploy.stack.home import Home
from deploy.stack.requested import REPAIR, RequestedState, read_requested, write_requested
from deploy.stack.runtime import UP, Runtime, ServiceRuntime, environment_of, read_runtime
from deploy.stack.workforce import PREFIX

Progress = Callable[[str], None]

RUNNING: Final = "RUNNING"
PAUSED: Final = "paused"
_READY_S: Final = 120.0
_POLL_S: Final = 0.1
_ASK_S: Final = 5.0  # a worker that catches up under load may answer slowly
_PAUSE_S: Final = 0.2  # between two rounds of requests


def connections(home: Home) -> Connections:
    """Return the addresses of the workers of this home's stack, and their token.

    Raises:
        StackError: no stack runs.
    """
    found = environment_of(home)
    return Connections(home=home.path, query_token=SecretStr(found["INVENTORY_QUERY_TOKEN"]))


def get(settings: Connections, url: str, path: str) -> tuple[int, dict[str, Any]] | None:
    """Return status code and JSON document of one worker's answer, None if it doesn't answer."""
    import httpx  # noqa: PLC0415 -- other commands start without it

    token = settings.query_token.get_secret_value()
    try:
        answer = httpx.get(
            f"{url}{path}", headers={"Authorization": f"Bearer {token}"}, timeout=_ASK_S
        )
        return answer.status_code, answer.json()
    except (httpx.HTTPError, ValueError):
        return None


def query(settings: Connections, path: str, wait_s: float) -> dict[str, Any]:
    """Return the first worker's answer to `path`; query them in turn for up to `wait_s` seconds.

    Raises:
        StackError: no worker answered in time, or a worker refused the request.
    """
    deadline = time.monotonic() + wait_s
    while True:
        problem = "no worker answers"
        for url in worker_urls(settings).values():
            answer = get(settings, url, path)
            if answer is None:
                continue
            status, body = answer
            if status == HTTPStatus.OK:
                return body
            problem = body.get("error", f"a worker answers {status}")
            if status != HTTPStatus.SERVICE_UNAVAILABLE:
                raise StackError(problem)
        if time.monotonic() > deadline:
            message = f"{problem}; asked again for {wait_s:g} s"
            raise StackError(message, repair="inventory workers")
        time.sleep(_PAUSE_S)


def partitions(settings: Connections) -> list[dict[str, Any]]:
    """Return the partition rows of all workers that answer, each for its own partitions.

    Workers query each other too, but with a short timeout: a busy worker would seem to own nothing.
    """
    urls = list(worker_urls(settings).values())
    with ThreadPoolExecutor(max_workers=max(1, len(urls))) as pool:
        answers = pool.map(lambda url: get(settings, url, "/iq/v1/partitions?scope=worker"), urls)
    bodies = [answer[1] for answer in answers if answer is not None and answer[0] == HTTPStatus.OK]
    return [row for body in bodies for row in body["partitions"]]


def workers(home: Home) -> list[dict[str, Any]]:
    """Return one row for each worker: its process and the sums over the partitions that it owns."""
    settings = connections(home)
    rows = partitions(settings)
    found: list[dict[str, Any]] = []
    for name, service in sorted(
        read_runtime(home).services.items(), key=lambda pair: _order(pair[0])
    ):
        if not name.startswith(PREFIX):
            continue
        mine = [row for row in rows if row["worker"] == name]
        as_of = [row["as_of_us"] for row in mine if row.get("as_of_us") is not None]
        found.append(
            {
                "worker": name,
                "state": service.state,
                "pid": service.pid,
                "restarts": service.restarts,
                "asked_restarts": service.asked_restarts,
                "partitions": [row["partition"] for row in mine],
                "running": sum(row["state"] == RUNNING for row in mine),
                "keys": sum(row.get("keys", 0) for row in mine),
                "lag_records": sum(row.get("lag_records", 0) for row in mine),
                "lag_seconds": max((row.get("lag_seconds", 0.0) for row in mine), default=0.0),
                "oldest_as_of_us": min(as_of, default=None),
                "address": service.url,
            }
        )
    return found


def scale(home: Home, count: int) -> float:
    """Set the number of workers; return the seconds until they served all partitions.

    Stopped workers among them run again.

    Raises:
        StackError: no stack is ready, the number is not 1 to 12, or it took too long.
    """
    began = time.monotonic()
    requested = _requested(home).scaled(count)
    _running(home)
    _refuse_half_rebuilt(home, requested)
    write_requested(home, requested.without())
    names = set(worker_names(count))
    _wait(
        lambda: _states(home) == dict.fromkeys(names, "running") and _is_served(home, names),
        lambda: f"{count} workers: not all partitions are served, workers are {_states(home)}",
    )
    return time.monotonic() - began


def restart(home: Home, name: str) -> float:
    """Restart one worker; return the seconds until it and all partitions are ready again.

    Raises:
        StackError: no stack is ready, no such worker, it is stopped, or it took too long.
    """
    began = time.monotonic()
    before = _worker(home, name).asked_restarts
    if name in _requested(home).paused:
        message = f"{name} is stopped"
        raise StackError(message, repair=f"inventory workers start {name}")
    write_requested(home, _requested(home).restarted(name, before))

    def is_back() -> bool:
        service = read_runtime(home).services[name]
        back = service.asked_restarts > before and service.state == "running"
        return back and _is_served(home, set(_states(home)))

    _wait(is_back, lambda: f"{name} did not come back, workers are {_states(home)}")
    return time.monotonic() - began


def restart_service(home: Home, name: str) -> float:
    """Restart any service; return the seconds until its probe succeeds.

    Raises:
        StackError: no stack is ready, no such service, it is paused, or it took too long.
    """
    if name.startswith(PREFIX) and name in _states(home):
        return restart(home, name)
    began = time.monotonic()
    before = _service(home, name).asked_restarts
    requested = _requested(home)
    if name in requested.paused:
        message = f"{name} is paused; nothing was restarted"
        raise StackError(message, repair=resume_command(home, name))
    write_requested(home, requested.restarted(name, before))

    def is_back() -> bool:
        service = read_runtime(home).services[name]
        return service.asked_restarts > before and service.state == "running"

    _wait(is_back, lambda: f"{name} did not come back, see `inventory logs {name}`")
    return time.monotonic() - began


def hold(home: Home, name: str, *, release: bool = False) -> None:
    """Exempt a suspended or silent service from the supervisor's repairs, until `release`.

    Raises:
        StackError: no stack is ready, or no such service.
    """
    _service(home, name)
    requested = _requested(home)
    held = set(requested.held) - {name} if release else {*requested.held, name}
    write_requested(home, replace(requested, held=sorted(held)))


def _service(home: Home, name: str) -> ServiceRuntime:
    """Return the runtime entry of this service, of a stack that is ready."""
    services = _running(home).services
    if name not in services:
        message = f"no service {name!r}: expected one of {', '.join(services)}; nothing was done"
        raise StackError(message)
    return services[name]


def stop(home: Home, name: str) -> float:
    """Stop one worker until `start`; return the seconds until others serve its partitions.

    Raises:
        StackError: no stack is ready, no such worker, no other one runs, or it took too long.
    """
    began = time.monotonic()
    _worker(home, name)
    requested = _requested(home)
    _refuse_half_rebuilt(home, requested)
    others = set(_states(home)) - {name, *requested.paused}
    if not others:
        message = f"{name} is the only worker that runs"
        raise StackError(message, repair="inventory down  # ends the whole stack")
    write_requested(home, requested.without(*requested.paused, name))
    _wait(
        lambda: _states(home).get(name) == PAUSED and _is_served(home, others),
        lambda: f"{name} is not away, workers are {_states(home)}",
    )
    return time.monotonic() - began


def start(home: Home, name: str) -> float:
    """Start a stopped worker again; return the seconds until all partitions are served.

    Raises:
        StackError: no stack is ready, no such worker, or it took too long.
    """
    began = time.monotonic()
    _worker(home, name)
    requested = _requested(home)
    _refuse_half_rebuilt(home, requested)
    write_requested(
        home, requested.without(*(other for other in requested.paused if other != name))
    )
    _wait(
        lambda: _states(home).get(name) == "running" and _is_served(home, set(_states(home))),
        lambda: f"{name} does not serve, workers are {_states(home)}",
    )
    return time.monotonic() - began


def pause(home: Home, *others: str) -> tuple[str, ...]:
    """End all workers and these other services until `resume`; return their names.

    Workers that a person has stopped are recorded. A pause after an interrupted one keeps that
    record.

    Raises:
        StackError: no stack is ready, or one of them did not end in time.
    """
    known = _running(home).services
    names = (*_states(home), *(name for name in others if name in known))
    requested = _requested(home)
    stopped = requested.stopped if _is_half_rebuilt(home, requested) else requested.paused
    write_requested(home, replace(requested.without(*names), stopped=stopped))

    def are_away() -> bool:
        services = read_runtime(home).services
        return all(services[name].state == PAUSED for name in names)

    _wait(are_away, lambda: f"still running: {_states(home)}")
    return names


def resume(home: Home) -> tuple[str, ...]:
    """Start everything again that `pause` has ended, and wait until all partitions are served.

    Return the workers that stay stopped, because a person had stopped them before.

    Raises:
        StackError: no stack is ready, or it took too long.
    """
    _running(home)
    requested = _requested(home)
    stopped = requested.stopped
    write_requested(home, requested.without(*stopped))

    def is_back() -> bool:
        services = read_runtime(home).services.items()
        runs = all(s.state == "running" for name, s in services if name not in stopped)
        return runs and _is_served(home, set(_states(home)) - set(stopped))

    _wait(is_back, lambda: f"not all partitions are served, workers are {_states(home)}")
    return tuple(stopped)


def restart_rolling(home: Home, progress: Progress) -> None:
    """Restart all running workers one by one, each after the one before it serves again."""
    stopped = _requested(home).paused
    for name in _states(home):
        if name in stopped:
            continue
        progress(f"{name} restarted in {restart(home, name):.1f} s")


def _running(home: Home) -> Runtime:
    runtime = read_runtime(home)
    if not runtime.running or runtime.phase != "ready":
        message = f"no stack is ready in {home.path}"
        raise StackError(message, repair=UP)
    return runtime


def _worker(home: Home, name: str) -> ServiceRuntime:
    """Return the runtime entry of this worker, of a stack that is ready."""
    runtime = _running(home)
    if name not in runtime.services or not name.startswith(PREFIX):
        message = f"no worker {name!r}: expected one of {', '.join(_states(home))}"
        raise StackError(message)
    return runtime.services[name]


def resume_command(home: Home, name: str) -> str:
    """Return the command that starts a paused service again."""
    is_rebuild = _is_half_rebuilt(home, _requested(home))
    return REPAIR if is_rebuild else f"inventory workers start {name}"


def _is_half_rebuilt(home: Home, requested: RequestedState) -> bool:
    """Return whether an interrupted rebuild has left services paused.

    `stop` refuses to stop the last worker. Only a rebuild pauses all workers, or the projector.
    """
    paused = set(requested.paused)
    is_all = paused >= set(_states(home))
    return bool(paused) and (is_all or any(not name.startswith(PREFIX) for name in paused))


def _refuse_half_rebuilt(home: Home, requested: RequestedState) -> None:
    """Raise `StackError` while an interrupted rebuild keeps services paused."""
    if _is_half_rebuilt(home, requested):
        names = ", ".join(requested.paused)
        message = f"a rebuild was interrupted; {names} stay paused until a rebuild has finished"
        raise StackError(message, repair=REPAIR)


def _requested(home: Home) -> RequestedState:
    return read_requested(home) or RequestedState(len(_states(home)))


def _states(home: Home) -> dict[str, str]:
    services = read_runtime(home).services
    names = sorted((name for name in services if name.startswith(PREFIX)), key=_order)
    return {name: services[name].state for name in names}


def _order(name: str) -> tuple[int, str]:
    return len(name), name


def _is_served(home: Home, names: set[str]) -> bool:
    rows = partitions(connections(home))
    served = {
        row["partition"] for row in rows if row["state"] == RUNNING and row["worker"] in names
    }
    return len(served) == PARTITIONS


def _wait(condition: Callable[[], bool], describe: Callable[[], str]) -> None:
    deadline = time.monotonic() + _READY_S
    while not condition():
        if time.monotonic() > deadline:
            message = f"after {_READY_S:.0f} s: {describe()}"
            raise StackError(message, repair="inventory logs worker-1")
        time.sleep(_POLL_S)
