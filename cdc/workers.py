"""Ask the workers for a key or for who holds what, right now, and never wait long.

Any worker answers for any key. Whoever asks has something to show instead, the read model with its
age, so a late answer is worth nothing.
"""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeVar
from urllib.parse import quote

import httpx

from cdc.contracts.answers import KEY, PARTITIONS, checked
from cdc.contracts.state import decode_state
from cdc.contracts.versions import UnreadableRecord
from cdc.settings import Connections
from cdc.worker_addresses import worker_urls
from inventory.model.state import KeyState

__all__ = ["PATIENCE_S", "LiveKey", "PartitionMap", "ask", "partition_map", "worker_urls"]

PATIENCE_S: Final = 0.15  # of a page
MAP_PATIENCE_S: Final = 1.0  # of a page about workers: one asks the others before it answers
Told = TypeVar("Told")
_LAST: Final[list[str]] = []  # the worker that answered last


@dataclass(frozen=True, slots=True)
class LiveKey:
    """What a worker says of a key, with all its window rows; `problem` says why it says nothing."""

    state: KeyState | None
    as_of_us: int | None = None
    problem: str = ""
    worker: str = ""

    @property
    def on_hand_units(self) -> int | None:
        """On-hand in the worker."""
        return None if self.state is None else self.state.on_hand_units

    @property
    def offset(self) -> int | None:
        """The position that the worker's state includes."""
        return None if self.state is None else self.state.position.offset


@dataclass(frozen=True, slots=True)
class PartitionMap:
    """Who holds what, as one worker tells it: a row of `answer_partitions` for each partition.

    `problem` says why there is none.
    """

    rows: tuple[dict[str, Any], ...] = ()
    problem: str = ""


def ask(settings: Connections, inv_key: str, within_s: float = PATIENCE_S) -> LiveKey:
    """The key's state in the worker that holds it, in about `within_s` seconds or not at all.

    The worker that answered last is asked first.
    """
    path = f"/iq/v1/keys/{quote(inv_key, safe='')}"
    found = _first(settings, path, within_s, _key_of)
    return LiveKey(None, problem=found) if isinstance(found, str) else found


def partition_map(settings: Connections, within_s: float = MAP_PATIENCE_S) -> PartitionMap:
    """The map of the first worker that tells it, in about `within_s` seconds or not at all."""
    found = _first(settings, "/iq/v1/partitions", within_s, _map_of)
    return PartitionMap(problem=found) if isinstance(found, str) else found


def _first(
    settings: Connections, path: str, within_s: float, read: Callable[[httpx.Response], Told | str]
) -> Told | str:
    """What the first worker says that says anything, else why the last one does not.

    Each may use two thirds of the time that is left, so one that hangs leaves some for another.
    """
    if not settings.query_token.get_secret_value():
        return "no token for the workers is set"
    _client()  # building the first one takes as long as a page may wait
    until_s = time.monotonic() + within_s
    problem = "no worker is known"
    for url in _in_order(worker_urls(settings).values()):
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            break
        found = _asked(settings, url + path, left_s * 2 / 3, read)
        if not isinstance(found, str):
            _LAST[:] = [url]
            return found
        problem = found
    return problem


def _in_order(urls: Iterable[str]) -> list[str]:
    return sorted(urls, key=lambda url: url not in _LAST)


def _asked(
    settings: Connections, url: str, within_s: float, read: Callable[[httpx.Response], Told | str]
) -> Told | str:
    """What `read` makes of the answer there, or why there is none."""
    token = settings.query_token.get_secret_value()
    headers = {"Authorization": f"Bearer {token}"}
    try:
        return read(_client().get(url, headers=headers, timeout=within_s))
    except httpx.TimeoutException:
        return "live stock takes too long to answer"
    except httpx.HTTPError:
        return "live stock is out of reach right now"
    except UnreadableRecord as problem:
        return str(problem)
    except (ValueError, KeyError, TypeError, AttributeError):  # no JSON, or of another form
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
            return f"a worker answers {status}"


def _map_of(answer: httpx.Response) -> PartitionMap | str:
    if not answer.is_success:
        return f"a worker answers {answer.status_code}"
    return PartitionMap(tuple(checked(PARTITIONS, answer.json())["partitions"]))


@cache
def _client() -> httpx.Client:
    """One for the process, with connections that stay open."""
    return httpx.Client(trust_env=False)
