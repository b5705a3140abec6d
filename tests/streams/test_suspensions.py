"""A worker that was suspended beyond its session gives no answers until its ownership is proven."""

import asyncio
from urllib.parse import quote

import pytest

from cdc.contracts.topics import STOCK_EVENTS
from streams.query.server import QueryServer
from streams.query.suspensions import Suspensions
from tests.streams import facts, served
from tests.streams.served import KEYS, Worker, fleet, partition, stocked

SESSION_S = 6.0


async def restored() -> Worker:
    worker = Worker("worker-1", stocked())
    await worker.take(range(12))
    await worker.work()
    return worker


def beat(worker: Worker, number: int) -> None:
    """Append one more heartbeat row to the log of this partition."""
    at_us = facts.DAY_0_US + facts.SECOND_US * 60
    key = next(f"~heartbeat|{n}" for n in range(999) if partition(f"~heartbeat|{n}") == number)
    image = facts.heartbeat(number=0, beat=1, at_us=at_us) | {"inv_key": key}
    image["sku"] = key.partition("|")[2]
    value = facts.change("pipeline_heartbeat", after=image, lsn=99_999, commit_us=at_us)
    worker.broker.produce(STOCK_EVENTS, number, key.encode(), value)


def test_a_worker_is_trusted_after_a_short_suspension() -> None:
    async def run() -> bool:
        worker = await restored()
        suspensions = Suspensions(worker.ownership, SESSION_S, 100.0)
        suspensions.check(100.0 + SESSION_S)
        return all(map(suspensions.trusts, worker.ownership.ready.values()))

    assert asyncio.run(run())


def test_a_worker_answers_503_after_a_suspension_near_its_session_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The group's last heartbeat may be one interval older than the pause."""

    async def run(paused_s: float) -> int:
        worker = await restored()
        server = QueryServer(worker)
        monkeypatch.setattr("tests.streams.served.QueryServer", lambda _worker: server)
        async with fleet(monkeypatch, worker) as found:
            server._suspensions._checked_s -= paused_s
            return (await found.ask(0, f"/iq/v1/store/on-hand/{quote(KEYS[0])}")).status

    assert asyncio.run(run(served.SESSION_S * 4 / 6)) == 200
    assert asyncio.run(run(served.SESSION_S * 5 / 6)) == 503


def test_after_a_long_pause_an_acknowledged_chunk_proves_its_partition() -> None:
    async def run() -> set[int]:
        worker = await restored()
        suspensions = Suspensions(worker.ownership, SESSION_S, 100.0)
        suspensions.check(100.1 + SESSION_S)
        suspensions.check(100.2 + SESSION_S)
        ready = worker.ownership.ready
        assert not any(map(suspensions.trusts, ready.values()))

        beat(worker, 4)
        await worker.work()

        return {number for number, owned in ready.items() if suspensions.trusts(owned)}

    assert asyncio.run(run()) == {4}


def test_after_a_long_pause_a_new_assignment_proves_all() -> None:
    async def run() -> bool:
        worker = await restored()
        suspensions = Suspensions(worker.ownership, SESSION_S, 100.0)
        suspensions.check(100.1 + SESSION_S)
        await worker.take(range(12))
        return all(map(suspensions.trusts, worker.ownership.ready.values()))

    assert asyncio.run(run())


def test_a_resumed_worker_answers_503_to_its_first_query(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        worker = await restored()
        monkeypatch.setattr("streams.query.server.CHECK_EVERY_S", 60.0)
        server = QueryServer(worker)
        monkeypatch.setattr("tests.streams.served.QueryServer", lambda _worker: server)
        async with fleet(monkeypatch, worker) as found:
            path = f"/iq/v1/store/on-hand/{quote(KEYS[0])}"
            assert (await found.ask(0, path)).status == 200
            server._suspensions._checked_s -= (
                served.SESSION_S
            )  # the clock of a suspended process jumps in this way

            answer = await found.ask(0, path)

            assert (answer.status, answer.body["state"]) == (503, "RESTORING")
            rows = (await found.ask(0, "/iq/v1/partitions")).body["partitions"]
            assert {row["state"] for row in rows} == {"RESTORING"}

    asyncio.run(run())
