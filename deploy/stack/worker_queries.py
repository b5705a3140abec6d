"""HTTP queries to the running workers: their partitions, their lag and the state of one key."""

import time
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any, Final

from pydantic import SecretStr

from cdc.settings import Connections
from cdc.worker_addresses import worker_urls
from deploy.errors import StackError
from deploy.stack.context import in_worker_order
from deploy.stack.home import Home
from deploy.stack.runtime import environment_of, read_runtime

RUNNING: Final = "RUNNING"  # state of a partition whose worker folds it and answers queries
_ANSWER_S: Final = 5.0  # a worker that catches up under load may answer slowly
_PAUSE_S: Final = 0.2  # between two rounds of queries


def connections(home: Home) -> Connections:
    """Return the addresses of the workers of this home's stack, and the token for their queries.

    Raises:
        StackError: no stack runs.
    """
    found = environment_of(home)
    return Connections(home=home.path, query_token=SecretStr(found["INVENTORY_QUERY_TOKEN"]))


def get(settings: Connections, url: str, path: str) -> tuple[int, dict[str, Any]] | None:
    """Return the status code and the JSON document of a worker's answer, None without an answer."""
    import httpx  # noqa: PLC0415 -- other commands start without it

    token = settings.query_token.get_secret_value()
    try:
        answer = httpx.get(
            f"{url}{path}",
            headers={"Authorization": f"Bearer {token}"},
            timeout=_ANSWER_S,
            trust_env=False,
        )
        return answer.status_code, answer.json()
    except (httpx.HTTPError, ValueError):
        return None


def query(settings: Connections, path: str, wait_s: float) -> dict[str, Any]:
    """Return the first answer with status 200 to `path`.

    Ask the workers in turn, again and again for up to `wait_s` seconds.

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
            problem = body.get("error", f"a worker answered with status {status}")
            if status != HTTPStatus.SERVICE_UNAVAILABLE:
                raise StackError(problem)
        if time.monotonic() > deadline:
            message = f"{problem}; retried for {wait_s:g} s"
            raise StackError(message, repair="inventory workers")
        time.sleep(_PAUSE_S)


def partitions(settings: Connections) -> list[dict[str, Any]]:
    """Ask every worker for the rows of its own partitions. Return the rows of those that answer.

    A single worker could return the rows of all workers. But it asks the others with a short
    timeout, and a busy worker would then seem to own no partition.
    """
    urls = list(worker_urls(settings).values())
    with ThreadPoolExecutor(max_workers=max(1, len(urls))) as pool:
        answers = pool.map(lambda url: get(settings, url, "/iq/v1/partitions?scope=worker"), urls)
    bodies = [answer[1] for answer in answers if answer is not None and answer[0] == HTTPStatus.OK]
    return [row for body in bodies for row in body["partitions"]]


def workers(home: Home) -> list[dict[str, Any]]:
    """Return one row for each worker: its process, and figures of the partitions that it owns."""
    settings = connections(home)
    rows = partitions(settings)
    found: list[dict[str, Any]] = []
    services = read_runtime(home).services
    for name in in_worker_order(services):
        service = services[name]
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
