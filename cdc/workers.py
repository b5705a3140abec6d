"""Ask the worker that holds a key for it, right now.

Workers answer 421 for a partition of another one and 503 while they restore: never an older number.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx
from pydantic_settings import BaseSettings, SettingsConfigDict

from cdc.contracts.state import decode_state
from cdc.contracts.versions import UnreadableRecord
from cdc.settings import Connections
from inventory.model.state import KeyState

TIMEOUT_S: Final = 0.5
OK: Final = 200
NOT_FOUND: Final = 404
RESTORING: Final = 503


class WorkerAddresses(BaseSettings):
    """Where workers listen; without the variable, where the local stack wrote them down."""

    model_config = SettingsConfigDict(env_prefix="INVENTORY_", frozen=True)

    worker_urls: str = ""


@dataclass(frozen=True, slots=True)
class LiveKey:
    """What a worker says of a key, with all its window rows; `problem` says why it says nothing."""

    state: KeyState | None
    as_of_us: int | None = None
    problem: str = ""

    @property
    def on_hand_units(self) -> int | None:
        """On-hand in the worker."""
        return None if self.state is None else self.state.on_hand_units

    @property
    def offset(self) -> int | None:
        """The position that the worker's state includes."""
        return None if self.state is None else self.state.position.offset


def worker_urls(settings: Connections) -> dict[str, str]:
    """Name and address of all workers that may be running."""
    given = WorkerAddresses().worker_urls
    if given:
        urls = [url.strip().rstrip("/") for url in given.split(",") if url.strip()]
        return {url.rpartition("/")[2]: url for url in urls}
    return _urls_of_runtime(settings.home / "runtime.json")


def _urls_of_runtime(path: Path) -> dict[str, str]:
    try:
        services = json.loads(path.read_text("utf-8")).get("services", {})
    except (OSError, ValueError):
        return {}
    ports = {name: about.get("port") for name, about in sorted(services.items())}
    return {
        name: f"http://127.0.0.1:{port}"
        for name, port in ports.items()
        if name.startswith("worker-") and port
    }


def ask(settings: Connections, inv_key: str) -> LiveKey:
    """The key's state in the worker that holds it."""
    token = settings.query_token.get_secret_value()
    problem = "no worker is known"
    for url in worker_urls(settings).values():
        try:
            answer = httpx.get(
                f"{url}/iq/v1/keys/{quote(inv_key, safe='')}",
                headers={"Authorization": f"Bearer {token}"},
                timeout=TIMEOUT_S,
            )
        except httpx.HTTPError as failure:
            problem = f"a worker does not answer ({type(failure).__name__})"
            continue
        if answer.status_code == OK:
            return _of_answer(answer.json())
        if answer.status_code == NOT_FOUND:
            return LiveKey(None, problem="the worker has no fact of this key")
        if answer.status_code == RESTORING:
            problem = "the worker is restoring this partition"
    return LiveKey(None, problem=problem)


def _of_answer(body: dict[str, Any]) -> LiveKey:
    try:
        state = decode_state(json.dumps(body["state"]).encode())
    except UnreadableRecord as problem:
        return LiveKey(None, problem=str(problem))
    return LiveKey(state, body.get("as_of_us"))
