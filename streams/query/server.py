"""Read-only HTTP server of one worker: current keys, the map of partitions, health, metrics.

Any worker answers for any key. It forwards a query for another worker's key once, to that worker.
While a partition is being restored, or no worker claims it, queries about its keys get status 503,
never old numbers.
"""

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import structlog
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from cdc.contracts import answers as contract
from cdc.contracts.answers import ADDRESSES, Document
from cdc.contracts.partition import partition_of
from inventory.log.validation import is_heartbeat_key, is_key
from inventory.model.ids import InvKey
from streams.engine.store import OwnedPartition
from streams.query import answers, gauges
from streams.query.answers import Store
from streams.query.gauges import Measurable
from streams.query.peers import HOP_HEADER, Peers
from streams.query.replies import (
    LONGEST_QUERY,
    Refusal,
    forwarded,
    parameter,
    problem,
    refuse_unknown_parameters,
    refused,
    reply,
    span_of,
)
from streams.query.suspensions import Suspensions
from streams.settings import WorkerSettings

LOOP_LAG_S: Final = 5.0
CHECK_EVERY_S: Final = 0.5
_KEY: Final = "{key:[^/]+}"  # without the pattern, a SKU with braces would not match
SCOPES: Final = ("all", "worker")  # values of the parameter `scope` for the map of partitions
_ALL: Final = "0.0.0.0"  # noqa: S104 -- compared with, never bound to
# Less than the 150 ms for which the pages wait for a worker (`cdc.workers.TIMEOUT_S`).
FORWARD_S: Final = 0.09
BAD_REQUEST, UNAUTHORIZED, NOT_FOUND, TOO_LONG, MISDIRECTED = 400, 401, 404, 414, 421
FAILED, UNAVAILABLE = 500, 503

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

log = structlog.get_logger(__name__)


class QueryServer:
    """The HTTP server of one worker."""

    def __init__(self, worker: Measurable) -> None:
        self._worker = worker
        gauges.register(worker)
        self._peers = Peers(worker.settings)
        settings = worker.settings
        # The group counts the session from the last heartbeat. That may have been one interval
        # before the suspension.
        longest_s = settings.session_timeout_s - settings.heartbeat_s
        self._suspensions = Suspensions(worker.ownership, longest_s, time.monotonic())
        self._checking: asyncio.Task[None] | None = None
        self._runner: web.AppRunner | None = None

    def application(self) -> web.Application:
        """Return the application with all routes. Requests under `/iq/` need the bearer token."""
        app = web.Application(middlewares=[self._observe, self._authorize])
        app.router.add_get(f"/iq/v1/keys/{_KEY}", self._key)
        app.router.add_get(f"/iq/v1/store/{{store}}/{_KEY}", self._store)
        app.router.add_get("/iq/v1/partitions", self._partitions)
        app.router.add_get("/iq/v1/lag", self._lag)
        app.router.add_get("/iq/v1/health", self._health)
        app.router.add_get("/iq/v1/revision", self._revision)
        app.router.add_get("/livez", self._livez)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics)
        app.cleanup_ctx.append(self._alive)
        return app

    async def start(self) -> None:
        """Start to accept requests."""
        settings = self._worker.settings
        self._runner = web.AppRunner(self.application(), access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, settings.worker_host, settings.worker_port).start()

    async def stop(self) -> None:
        """Stop answering."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _alive(self, _app: web.Application) -> Any:  # noqa: ANN401 -- aiohttp's form of a context
        checking = asyncio.create_task(self._check_loop())
        yield
        checking.cancel()
        await asyncio.gather(checking, return_exceptions=True)
        await self._peers.close()

    async def _check_loop(self) -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(CHECK_EVERY_S)
            now_s = time.monotonic()
            self._suspensions.check(now_s)
            self._worker.metrics.loop_delayed(now_s - began - CHECK_EVERY_S)

    @web.middleware
    async def _observe(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        began = time.perf_counter()
        answer = await self._answered(request, handler)
        route = request.match_info.route.resource
        name = "unknown" if route is None else route.canonical
        self._worker.metrics.answered(name, answer.status, time.perf_counter() - began)
        return answer

    async def _answered(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            if len(request.raw_path) > LONGEST_QUERY:
                return problem(TOO_LONG, f"path and query have more than {LONGEST_QUERY} bytes")
            return await handler(request)
        except Refusal as refusal:
            return problem(refusal.status, str(refusal))
        except web.HTTPException as error:
            return refused(error, request.path, (*ADDRESSES, "/metrics"))
        except Exception:
            # A query does not change the state, so the worker continues.
            log.exception("query failed", path=request.path)
            return problem(FAILED, "the worker failed to answer; its log has the error")

    @web.middleware
    async def _authorize(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith("/iq/"):
            token = self._worker.settings.query_token.get_secret_value()
            given = request.headers.get("Authorization", "")
            expected = f"Bearer {token}"
            # An empty token grants no access. Header bytes that are not UTF-8 arrive as surrogates.
            given_bytes = given.encode("utf-8", "surrogateescape")
            if not token or not hmac.compare_digest(given_bytes, expected.encode()):
                return problem(UNAUTHORIZED, "a bearer token is required")
        return await handler(request)

    async def _key(self, request: web.Request) -> web.StreamResponse:
        return await self._of_key(request, answers.FULL_STATE)

    async def _store(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["store"]
        store = answers.STORES.get(name)
        if store is None:
            known = ", ".join(answers.STORES)
            return problem(NOT_FOUND, f"no store {name!r:.40}: expected one of {known}")
        return await self._of_key(request, store)

    async def _of_key(self, request: web.Request, store: Store) -> web.StreamResponse:
        key = request.match_info["key"]
        if not is_key(key) and not is_heartbeat_key(key):
            return problem(BAD_REQUEST, f"key must be LOCATION|SKU, got {key!r:.80}")
        refuse_unknown_parameters(request, store.parameters)
        span = span_of(request)
        partition = partition_of(key.encode())
        if partition not in self._worker.ownership.assigned:
            return await self._forwarded(request, partition)
        owned = self._worker.ownership.ready.get(partition)
        if owned is None or not self._is_served_here(owned):
            return _unserved(partition, self._worker.settings.worker_id)
        about = answers.extent(self._worker, owned)
        state = owned.published.get(InvKey(key))
        if state is None:
            return problem(NOT_FOUND, f"no fact of {key}", about)
        return reply(store.kind, answers.of_key(about, state) | store.document_of(state, span))

    async def _forwarded(self, request: web.Request, partition: int) -> web.StreamResponse:
        """Return the answer of the partition's owner.

        Refuse a query that another worker has already forwarded to this one.
        """
        if HOP_HEADER in request.headers:
            return problem(
                MISDIRECTED, "this worker does not hold the partition", {"partition": partition}
            )
        loop = asyncio.get_running_loop()
        until_s = loop.time() + FORWARD_S
        url = await self._peers.owner(partition, FORWARD_S / 2)
        answer = None
        if url is not None:
            path = request.rel_url.raw_path_qs
            answer = await self._peers.forward(url, path, until_s - loop.time())
        self._worker.metrics.forwarded(None if answer is None else answer.status)
        if answer is None or answer.status in (UNAUTHORIZED, MISDIRECTED):
            return _unserved(partition, None)
        return forwarded(answer)

    async def _partitions(self, request: web.Request) -> web.StreamResponse:
        refuse_unknown_parameters(request, ("scope",))
        scope = parameter(request, "scope")
        if scope not in (None, *SCOPES):
            raise Refusal(BAD_REQUEST, f"scope must be {' or '.join(SCOPES)}, got {scope!r:.40}")
        address = _address(self._worker.settings)
        rows = [{**row, "address": address} for row in self._own_rows()]
        if HOP_HEADER not in request.headers and scope != "worker":
            rows = answers.complete_map([*rows, *await self._peers.partitions()])
        about = answers.about_worker(self._worker)
        return reply(contract.PARTITIONS, about | {"partitions": rows})

    async def _lag(self, request: web.Request) -> web.StreamResponse:
        refuse_unknown_parameters(request, ())
        rows = self._own_rows()
        about = answers.about_worker(self._worker) | answers.total_lag(rows)
        return reply(contract.LAG, about | {"partitions": rows})

    async def _health(self, request: web.Request) -> web.StreamResponse:
        refuse_unknown_parameters(request, ())
        ownership = self._worker.ownership
        about = answers.about_worker(self._worker) | answers.total_lag(self._own_rows())
        about |= {"assigned": len(ownership.assigned), "ready": len(ownership.ready)}
        about["loop_lag_seconds"] = self._loop_lag_s()
        return reply(contract.HEALTH, about, status=200 if self._is_live() else UNAVAILABLE)

    async def _revision(self, request: web.Request) -> web.StreamResponse:
        refuse_unknown_parameters(request, ())
        return reply(contract.REVISION, answers.rules(self._worker))

    async def _livez(self, _request: web.Request) -> web.StreamResponse:
        status = 200 if self._is_live() else UNAVAILABLE
        return reply(contract.LIVE, {"loop_lag_seconds": self._loop_lag_s()}, status=status)

    async def _readyz(self, _request: web.Request) -> web.StreamResponse:
        ready = answers.is_ready(self._worker)
        return reply(contract.READY, {"ready": ready}, status=200 if ready else UNAVAILABLE)

    async def _metrics(self, _request: web.Request) -> web.StreamResponse:
        content = generate_latest(self._worker.metrics.registry)
        return web.Response(body=content, headers={"Content-Type": CONTENT_TYPE_LATEST})

    def _own_rows(self) -> list[Document]:
        return list(answers.partitions(self._worker, self._is_served_here))

    def _is_served_here(self, owned: OwnedPartition) -> bool:
        # After a suspension, a request may be handled before the next run of `_check_loop`.
        self._suspensions.check(time.monotonic())
        return self._suspensions.trusts(owned)

    def _loop_lag_s(self) -> float:
        return round(time.monotonic() - self._worker.loop_seen_s, 3)

    def _is_live(self) -> bool:
        return self._loop_lag_s() < LOOP_LAG_S


def _address(settings: WorkerSettings) -> str:
    """Return the URL at which other workers reach this one.

    If the server listens on all interfaces, the URL has the worker's id as host.
    """
    host = settings.worker_host
    return f"http://{settings.worker_id if host == _ALL else host}:{settings.worker_port}"


def _unserved(partition: int, worker: str | None) -> web.Response:
    state = answers.UNKNOWN if worker is None else answers.RESTORING
    about = {"partition": partition, "worker": worker, "state": state}
    return problem(UNAVAILABLE, f"partition {partition} is {state}", about)
