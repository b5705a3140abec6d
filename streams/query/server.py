"""Read-only HTTP of one worker: a key right now, the partitions it holds, health, metrics.

Every answer about state says how far it reaches: partition, position, as-of and revision. While a
partition is restored the answer is 503, never an older number.
"""

import hmac
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

import orjson
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from cdc.contracts.partition import partition_of
from cdc.contracts.state import encode_state
from inventory.model.ids import InvKey
from inventory.revision import LOGIC_REVISION
from streams.engine.ownership import Ownership
from streams.engine.store import OwnedPartition
from streams.query.metrics import Metrics
from streams.settings import WorkerSettings

LOOP_LAG_S = 5.0
RETRY_AFTER_S = "1"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Queryable(Protocol):
    """What the server reads of a worker."""

    settings: WorkerSettings
    ownership: Ownership
    metrics: Metrics
    joined: bool
    loop_seen_s: float


class QueryServer:
    """The HTTP server of one worker."""

    def __init__(self, worker: Queryable) -> None:
        self._worker = worker
        self._runner: web.AppRunner | None = None

    def application(self) -> web.Application:
        """Routes; those under `/iq/` need the bearer token."""
        app = web.Application(middlewares=[self._authorize])
        app.router.add_get("/iq/v1/keys/{key}", self._key)
        app.router.add_get("/iq/v1/partitions", self._partitions)
        app.router.add_get("/livez", self._livez)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics)
        return app

    async def start(self) -> None:
        """Begin to answer."""
        settings = self._worker.settings
        self._runner = web.AppRunner(self.application(), access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, settings.worker_host, settings.worker_port).start()

    async def stop(self) -> None:
        """Stop answering."""
        if self._runner is not None:
            await self._runner.cleanup()

    @web.middleware
    async def _authorize(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith("/iq/"):
            token = self._worker.settings.query_token.get_secret_value()
            given = request.headers.get("Authorization", "")
            expected = f"Bearer {token}"
            # An empty token opens nothing.
            if not token or not hmac.compare_digest(given.encode(), expected.encode()):
                return _json({"error": "a bearer token is required"}, status=401)
        return await handler(request)

    async def _key(self, request: web.Request) -> web.StreamResponse:
        key = InvKey(request.match_info["key"])
        partition = partition_of(key.encode("utf-8", "surrogateescape"))
        ownership = self._worker.ownership
        if partition not in ownership.assigned:
            mine = sorted(ownership.assigned)
            return _json({"owner": None, "partition": partition, "mine": mine}, status=421)
        owned = ownership.ready.get(partition)
        if owned is None:
            body = {"status": "RESTORING", "partition": partition}
            return _json(body, status=503, headers={"Retry-After": RETRY_AFTER_S})
        state = owned.published.get(key)
        about = self._about(owned)
        if state is None:
            return _json(about | {"error": f"unknown key {key}"}, status=404)
        position = {
            "generation": state.position.generation,
            "partition": partition,
            "offset": state.position.offset,
        }
        content = orjson.Fragment(encode_state(state))
        return _json(about | {"state": content, "position": position})

    async def _partitions(self, _request: web.Request) -> web.StreamResponse:
        ownership = self._worker.ownership
        rows: list[dict[str, object]] = []
        for partition in sorted(ownership.assigned):
            owned = ownership.ready.get(partition)
            if owned is None:
                rows.append({"partition": partition, "status": "RESTORING"})
            else:
                rows.append(self._about(owned) | {"keys": len(owned.published)})
        return _json(
            {
                "worker": self._worker.settings.worker_id,
                "status": "RUNNING" if self._ready() else "RESTORING",
                "generation": self._worker.settings.generation,
                "logic_revision": LOGIC_REVISION,
                "partitions": rows,
            }
        )

    async def _livez(self, _request: web.Request) -> web.StreamResponse:
        lag_s = time.monotonic() - self._worker.loop_seen_s
        return _json({"loop_lag_s": round(lag_s, 3)}, status=200 if lag_s < LOOP_LAG_S else 503)

    async def _readyz(self, _request: web.Request) -> web.StreamResponse:
        ready = self._ready()
        return _json({"ready": ready}, status=200 if ready else 503)

    async def _metrics(self, _request: web.Request) -> web.StreamResponse:
        content = generate_latest(self._worker.metrics.registry)
        return web.Response(body=content, headers={"Content-Type": CONTENT_TYPE_LATEST})

    def _ready(self) -> bool:
        return self._worker.joined and self._worker.ownership.settled

    def _about(self, owned: OwnedPartition) -> dict[str, object]:
        return {
            "partition": owned.number,
            "status": "RUNNING",
            "next_offset": owned.published_offset,
            "as_of_us": owned.as_of_us,
            "logic_revision": LOGIC_REVISION,
        }


def _json(
    body: dict[str, object], *, status: int = 200, headers: dict[str, str] | None = None
) -> web.Response:
    return web.Response(
        body=orjson.dumps(body), status=status, headers=headers, content_type="application/json"
    )
