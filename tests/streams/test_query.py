"""What a worker answers over HTTP, and to whom."""

import asyncio
import itertools
import json
import time
from dataclasses import dataclass, field
from typing import Any

from aiohttp.test_utils import TestClient, TestServer
from pydantic import SecretStr

from cdc.contracts.partition import partition_of
from cdc.contracts.state import encode_state
from streams.engine.store import OwnedPartition
from streams.query.metrics import Metrics
from streams.query.server import QueryServer
from streams.settings import WorkerSettings
from tests.streams import facts, lives
from tests.streams.test_engine import sold_history

TOKEN = "secret"  # noqa: S105 -- of a server that lives for one test
MINE = partition_of(facts.KEY.encode())


@dataclass
class FakeOwnership:
    """What is assigned and what is ready, as a test wants it."""

    assigned: frozenset[int] = frozenset()
    ready: dict[int, OwnedPartition] = field(default_factory=dict)

    @property
    def settled(self) -> bool:
        return self.assigned == self.ready.keys()


class FakeWorker:
    def __init__(self, *, ready: bool = True, token: str = TOKEN) -> None:
        broker = sold_history(3)
        owned = asyncio.run(lives.live(broker, lives.Crashes(), itertools.repeat(9), iter(())))
        owned.number = MINE
        self.settings = WorkerSettings(query_token=SecretStr(token))
        self.metrics = Metrics()
        self.joined = True
        self.loop_seen_s = time.monotonic()
        self.owned = owned
        self.ownership: Any = FakeOwnership(frozenset({MINE}), {MINE: owned} if ready else {})


def ask(worker: FakeWorker, path: str, *, token: str | None = TOKEN) -> tuple[int, Any, Any]:
    async def request() -> tuple[int, Any, Any]:
        server = TestServer(QueryServer(worker).application())
        async with TestClient(server) as client:
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            answer = await client.get(path, headers=headers)
            body = await answer.text()
            return answer.status, answer.headers, body

    status, headers, body = asyncio.run(request())
    return status, headers, json.loads(body) if body.startswith("{") else body


def test_a_key_is_answered_with_its_whole_state_and_how_far_it_reaches() -> None:
    worker = FakeWorker()

    status, _, body = ask(worker, "/iq/v1/keys/S1%7CA")

    state = worker.owned.published[next(iter(worker.owned.published))]
    assert status == 200
    assert body["state"] == json.loads(encode_state(state))
    assert body["position"] == {"generation": 1, "partition": MINE, "offset": 3}
    assert (body["partition"], body["status"], body["next_offset"]) == (MINE, "RUNNING", 4)
    assert body["as_of_us"] == worker.owned.as_of_us


def test_a_key_of_another_worker_an_unknown_one_and_a_restoring_one_are_told_apart() -> None:
    elsewhere = next(k for k in ("S1|B", "S1|C", "S1|D") if partition_of(k.encode()) != MINE)
    unknown = next(
        key
        for key in (f"S1|X{number}" for number in range(100))
        if partition_of(key.encode()) == MINE
    )

    assert ask(FakeWorker(), f"/iq/v1/keys/{elsewhere.replace('|', '%7C')}")[0] == 421
    assert ask(FakeWorker(), f"/iq/v1/keys/{unknown.replace('|', '%7C')}")[0] == 404
    status, headers, _ = ask(FakeWorker(ready=False), "/iq/v1/keys/S1%7CA")
    assert (status, headers["Retry-After"]) == (503, "1")


def test_state_needs_the_token_and_an_empty_token_opens_nothing() -> None:
    for token in (None, "", "wrong"):
        assert ask(FakeWorker(), "/iq/v1/partitions", token=token)[0] == 401
    assert ask(FakeWorker(token=""), "/iq/v1/partitions", token="")[0] == 401
    assert ask(FakeWorker(), "/iq/v1/partitions")[0] == 200


def test_health_is_open_and_ready_means_restored() -> None:
    assert ask(FakeWorker(), "/readyz", token=None)[0] == 200
    assert ask(FakeWorker(ready=False), "/readyz", token=None)[0] == 503
    late = FakeWorker()
    late.loop_seen_s -= 60
    assert ask(late, "/livez", token=None)[0] == 503
    status, _, body = ask(FakeWorker(), "/metrics", token=None)
    assert status == 200
    assert "inventory_records" in body
