"""Live queries to the workers for a key or for the partition map, with a short time limit.

Any worker answers for any key. Callers don't wait for a late answer, but show the read model with
its age.
"""

import atexit
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeVar
from urllib.parse import quote

import httpx

from cdc.contracts.answers import KEY, PARTITIONS, REVISION, checked
from cdc.contracts.state import decode_state
from cdc.contracts.versions import UnreadableRecord
from cdc.settings import Connections
from cdc.worker_addresses import worker_urls
from inventory.model.state import KeyState

__all__ = [
    "TIMEOUT_S",
    "LiveKey",
    "PartitionMap",
    "WorkerRules",
    "partition_map",
    "query_key",
    "worker_rules",
    "worker_urls",
]

TIMEOUT_S: Final = 0.15  # limit for most pages
MAP_TIMEOUT_S: Final = 1.0  # limit for a page about workers: the queried worker queries the others
Answer = TypeVar("Answer")
_LAST: Final[list[str]] = []  # URL of the worker that gave the most recent answer


@dataclass(frozen=True, slots=True)
class LiveKey:
    """A worker's answer for a key: the state with all window rows, or None and the `problem`."""

    state: KeyState | None
    as_of_us: int | None = None
    problem: str = ""
    worker: str = ""

    @property
    def on_hand_units(self) -> int | None:
        """Return the on-hand units in the worker's answer, or None if there is no state."""
        return None if self.state is None else self.state.on_hand_units

    @property
    def offset(self) -> int | None:
        """Return the offset of the state's position, or None if there is no state."""
        return None if self.state is None else self.state.position.offset


@dataclass(frozen=True, slots=True)
class PartitionMap:
    """The owner of each partition, as one worker reports it.

    `rows` has one row for each partition, as in the worker's answer `answer_partitions`. If `rows`
    is empty, `problem` is the reason.
    """

    rows: tuple[dict[str, Any], ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class WorkerRules:
    """The partitions assigned to one worker, and the hash of the sources that it has imported.

    `code` is empty for a worker of an earlier release, which reports no hash.
    """

    worker: str
    partitions: frozenset[int]
    code: str


def query_key(settings: Connections, inv_key: str, within_s: float = TIMEOUT_S) -> LiveKey:
    """Return the key's state from the worker that holds it, within about `within_s` seconds.

    The first query goes to the worker that gave the most recent answer. If no worker returns the
    state, the result has no state and a `problem`.
    """
    path = f"/iq/v1/keys/{quote(inv_key, safe='')}"
    found = _first(settings, path, within_s, _key_of)
    return LiveKey(None, problem=found) if isinstance(found, str) else found


def partition_map(settings: Connections, within_s: float = MAP_TIMEOUT_S) -> PartitionMap:
    """Return the owners of all partitions, from the first worker that answers.

    The call takes at most about `within_s` seconds.
    """
    found = _first(settings, "/iq/v1/partitions", within_s, _map_of)
    return PartitionMap(problem=found) if isinstance(found, str) else found


def worker_rules(
    settings: Connections, url: str, within_s: float = MAP_TIMEOUT_S
) -> WorkerRules | str:
    """Return partitions and source hash of the worker at `url`, or the reason for no answer."""
    about = _query(settings, f"{url}/iq/v1/partitions?scope=worker", within_s, _own_of)
    if isinstance(about, str):
        return about
    # Read the hash after the partitions. If the worker restarts in between, the hash is the new
    # process's. In the other order it could be the hash of a process that has ended.
    code = _query(settings, f"{url}/iq/v1/revision", within_s, _code_of)
    if isinstance(code, str):
        return code
    worker, partitions = about
    return WorkerRules(worker, partitions, code.text)


def _first(
    settings: Connections,
    path: str,
    within_s: float,
    read: Callable[[httpx.Response], Answer | str],
) -> Answer | str:
    """Return the answer of the first worker that gives one, or the last worker's problem.

    Each request may use two thirds of the remaining time, so that one hanging worker leaves time
    for another.
    """
    if not settings.query_token.get_secret_value():
        return "INVENTORY_QUERY_TOKEN is not set, so no worker was queried"
    _client()  # before the time limit starts: the first call takes about as long as the limit
    until_s = time.monotonic() + within_s
    problem = "no worker is known"
    for url in _in_order(worker_urls(settings).values()):
        remaining_s = until_s - time.monotonic()
        if remaining_s <= 0:
            break
        found = _query(settings, url + path, remaining_s * 2 / 3, read)
        if not isinstance(found, str):
            _LAST[:] = [url]
            return found
        problem = found
    return problem


def _in_order(urls: Iterable[str]) -> list[str]:
    return sorted(urls, key=lambda url: url not in _LAST)


def _query(
    settings: Connections, url: str, within_s: float, read: Callable[[httpx.Response], Answer | str]
) -> Answer | str:
    """Return the result of `read` on the answer of `url`, or a text with the problem."""
    token = settings.query_token.get_secret_value()
    headers = {"Authorization": f"Bearer {token}"}
    try:
        return read(_client().get(url, headers=headers, timeout=within_s))
    except httpx.TimeoutException:
        return "the worker did not answer in time"
    except (httpx.HTTPError, httpx.InvalidURL):  # a setting may have a malformed address
        return "the worker is unreachable"
    except UnreadableRecord as problem:
        return str(problem)
    except (ValueError, KeyError, TypeError, AttributeError):  # not JSON, or not the expected form
        return "a worker's answer can't be read"


def _key_of(answer: httpx.Response) -> LiveKey | str:
    match answer.status_code:
        case httpx.codes.OK:
            body = checked(KEY, answer.json())
            state = decode_state(json.dumps(body["value"]).encode())
            return LiveKey(state, body.get("as_of_us"), worker=body.get("worker", ""))
        case httpx.codes.NOT_FOUND:
            return LiveKey(None, problem="the worker has no fact of this key")
        case httpx.codes.SERVICE_UNAVAILABLE:
            restoring = answer.json().get("state") == "RESTORING"
            who = "the worker is restoring" if restoring else "no worker holds"
            return f"{who} this partition"
        case status:
            return f"a worker answered with status {status}"


def _map_of(answer: httpx.Response) -> PartitionMap | str:
    if not answer.is_success:
        return f"a worker answered with status {answer.status_code}"
    return PartitionMap(tuple(checked(PARTITIONS, answer.json())["partitions"]))


def _own_of(answer: httpx.Response) -> tuple[str, frozenset[int]] | str:
    if not answer.is_success:
        return f"a worker answered with status {answer.status_code}"
    body = checked(PARTITIONS, answer.json())
    return str(body["worker"]), frozenset(int(row["partition"]) for row in body["partitions"])


@dataclass(frozen=True, slots=True)
class _Code:
    """The hash of a worker's code. It is no `str`, because `_query` returns problems as `str`."""

    text: str


def _code_of(answer: httpx.Response) -> _Code | str:
    if not answer.is_success:
        return f"a worker answered with status {answer.status_code}"
    return _Code(str(checked(REVISION, answer.json()).get("code", "")))


@cache
def _client() -> httpx.Client:
    """Return the process's only client. Its connections stay open until the process ends."""
    client = httpx.Client(trust_env=False)
    atexit.register(client.close)
    return client
