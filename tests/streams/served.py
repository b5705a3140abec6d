"""Workers on one broker in memory, without Faust, but with real ownership, engine and HTTP."""

import itertools
import json
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestServer
from pydantic import SecretStr
from yarl import URL

from cdc.contracts.partition import partition_of
from cdc.contracts.topics import STOCK_EVENTS
from streams.engine.loop import handle_chunk
from streams.engine.memory import MemoryBroker
from streams.engine.ownership import Ownership
from streams.engine.records import SourceRecord
from streams.engine.watchdog import Watchdog
from streams.query import peers, server
from streams.query.metrics import Metrics
from streams.query.server import QueryServer
from streams.settings import WorkerSettings
from streams.worker.snapshot_writer import SnapshotWriter
from tests.streams import facts
from tests.streams.test_ownership import Producers

TOKEN = "secret"  # noqa: S105 -- of servers that live for one test
KEYS = tuple(f"S1|K{number}" for number in range(24))
STOCKED = 10
GENERATION = 1
# The longest session allowed. After a longer pause, a worker no longer trusts its ownership. A busy
# machine may pause a worker for seconds.
SESSION_S = 300.0
CODE = "0123456789abcdef"  # hash of the rules, which workers report
# Replaces timeouts of milliseconds, after which a worker answers without a result. On a busy
# machine, a test would sometimes exceed these.
PATIENCE_S = 60.0


def partition(key: str) -> int:
    return partition_of(key.encode())


def stocked(keys: Iterable[str] = KEYS, *, sold: int = 3) -> MemoryBroker:
    """Return a broker with a count of each key and `sold` sales of one unit, 1 s apart."""
    broker = MemoryBroker()
    lsns = itertools.count(1_000)
    for key in keys:
        for step in range(sold + 1):
            at_us = facts.DAY_0_US + step * facts.SECOND_US
            table = "stock_count" if step == 0 else "sale_line"
            image = (
                facts.count(id_=1, at_us=at_us, units=STOCKED, key=key)
                if step == 0
                else facts.sale(id_=step, at_us=at_us, key=key)
            )
            # The row's id is unique in its table, like a sequence of Postgres.
            lsn = next(lsns)
            value = facts.change(table, after={**image, "id": lsn}, lsn=lsn, commit_us=at_us)
            broker.produce(STOCK_EVENTS, partition(key), key.encode(), value)
    return broker


class CountingProducers(Producers):
    committed = 7
    committing_s = 0.5


class Worker:
    """Worker with the attributes that `QueryServer` uses."""

    def __init__(self, name: str, broker: MemoryBroker, *, token: str = TOKEN) -> None:
        self.broker = broker
        self.settings = WorkerSettings(
            worker_id=name, query_token=SecretStr(token), session_timeout_s=SESSION_S
        )
        self.metrics = Metrics()
        self.watchdog = Watchdog(30.0, 120.0)
        self.producers = CountingProducers(broker)
        self.snapshot_writer = SnapshotWriter(Path("nowhere"), GENERATION, dict)
        self.failures: list[BaseException] = []
        self.ownership = Ownership(GENERATION, self.producers, self.open_log, self.failures.append)
        self.ends: dict[int, int] = {}
        self.loop_seen_s = time.monotonic() + SESSION_S  # no thread watches the event loop here
        self.code = CODE

    @asynccontextmanager
    async def open_log(self) -> AsyncIterator[MemoryBroker]:
        yield self.broker

    async def take(self, partitions: Iterable[int]) -> None:
        """Rebalance: own exactly these partitions, and restore them."""
        await self.ownership.revoked()
        await self.ownership.assign(partitions)
        for number in sorted(self.ownership.assigned):
            assert await self.ownership.owned(number) is not None, self.failures

    async def work(self) -> None:
        """Fold everything that the log has for our partitions."""
        for number, owned in self.ownership.ready.items():
            records = self.broker.topics[STOCK_EVENTS, number]
            self.ends[number] = len(records)
            rest = records[owned.next_offset :]
            chunk = [SourceRecord(r.offset, r.key, r.value) for r in rest]
            if chunk:
                effects = await handle_chunk(chunk, owned, self.producers)
                self.metrics.chunk(effects, 0.01)


@dataclass
class Answer:
    status: int
    headers: Any
    body: Any


class Fleet:
    """Running workers, and a client for requests to them."""

    def __init__(self, workers: Sequence[Worker], urls: Sequence[str], asker: Any) -> None:
        self.workers = workers
        self.urls = urls
        self._asker = asker

    async def ask(
        self,
        number: int,
        path: str,
        *,
        token: str | None = TOKEN,
        method: str = "GET",
        **headers: str,
    ) -> Answer:
        """Send the request to worker `number` and return its answer."""
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        url = URL(self.urls[number] + path, encoded=True)
        async with self._asker.request(method, url, headers=headers) as answer:
            text = await answer.text()
            body = json.loads(text) if text.startswith("{") else text
            return Answer(answer.status, answer.headers, body)


@asynccontextmanager
async def fleet(
    monkeypatch: pytest.MonkeyPatch, *workers: Worker, patient: bool = True
) -> AsyncIterator[Fleet]:
    """Start an HTTP server for each worker. The workers know each other's addresses.

    If `patient`, they wait 60 s for each other, otherwise as long as in production.
    """
    if patient:
        monkeypatch.setattr(server, "FORWARD_S", PATIENCE_S)
        monkeypatch.setattr(peers, "MAP_TIMEOUT_S", PATIENCE_S)
    async with AsyncExitStack() as stack:
        served = []
        for worker in workers:
            one = TestServer(QueryServer(worker).application())
            await one.start_server()
            stack.push_async_callback(one.close)
            served.append(one)
        urls = [str(one.make_url("/")).rstrip("/") for one in served]
        monkeypatch.setenv("INVENTORY_WORKER_URLS", ",".join(urls))
        asker = await stack.enter_async_context(aiohttp.ClientSession())
        yield Fleet(workers, urls, asker)


async def halves(broker: MemoryBroker) -> tuple[Worker, Worker]:
    """Return two workers that share the partitions and have no lag."""
    workers = Worker("worker-1", broker), Worker("worker-2", broker)
    for worker, numbers in zip(workers, (range(0, 12, 2), range(1, 12, 2)), strict=True):
        await worker.take(numbers)
        await worker.work()
    return workers
