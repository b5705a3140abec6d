"""A worker that ends for good hands over its partitions before it saves its snapshots."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import GroupCoordinatorNotAvailableError, UnknownMemberIdError
from structlog.testing import capture_logs

from cdc.contracts.state import encode_state
from cdc.contracts.topics import STOCK_EVENTS
from streams.app import create_app
from streams.engine.memory import MemoryBroker
from streams.engine.records import Fenced
from streams.engine.snapshot import file_of
from streams.query.server import QueryServer
from streams.settings import WorkerSettings
from streams.stop_signals import LEAVE_SIGNAL
from streams.worker import runtime as runtimes
from streams.worker.agents import build_worker
from streams.worker.process import WorkerProcess
from streams.worker.runtime import Runtime
from tests.streams.lives import GENERATION, PARTITION, source_of
from tests.streams.rigged import ONE, Rig, run, until
from tests.streams.test_engine import sold_history
from tests.streams.test_lanes import runtime_on
from tests.streams.test_ownership import Worker

DEADLINE_S = 120


async def folded(runtime: Any, records: int) -> Any:
    """Let the worker take the partition over and fold the records before this offset."""
    await runtime.ownership.assign([PARTITION])
    owned = await runtime.ownership.owned(PARTITION)
    rest = [r for r in source_of(runtime.broker) if owned.next_offset <= r.offset < records]
    assert await runtime.handle_chunk(PARTITION, rest)
    return owned


def worker(broker: MemoryBroker, home: Path) -> Any:
    runtime = runtime_on(broker, home)
    runtime.broker = broker
    return runtime


def test_a_leaving_worker_hands_over_its_partitions_before_it_saves_snapshots(
    tmp_path: Path,
) -> None:
    broker = sold_history(12)
    leaving, other = worker(broker, tmp_path / "1"), worker(broker, tmp_path / "2")
    file = file_of(leaving.settings.snapshot_dir, PARTITION, GENERATION)

    async def leave_group() -> None:
        """Do what the group does: the other worker gets the partition and continues."""
        assert not file.exists()
        assert leaving.ownership.ready == leaving.producers.writers == {}
        await folded(other, records=12)

    async def story() -> tuple[Any, Any]:
        await folded(leaving, records=7)
        await leaving.close(leave_group)
        again = worker(broker, tmp_path / "1")
        await other.ownership.revoked()
        await again.ownership.assign([PARTITION])
        return other.ownership._lost[PARTITION], await again.ownership.owned(PARTITION)

    theirs, restored = asyncio.run(asyncio.wait_for(story(), DEADLINE_S))

    assert file.exists()
    assert restored.next_offset == theirs.next_offset == 12
    assert {key: encode_state(state) for key, state in restored.published.items()} == {
        key: encode_state(state) for key, state in theirs.published.items()
    }
    assert 0 < restored.restored_records < len(broker.topics[STOCK_EVENTS, PARTITION])


def test_a_worker_that_stops_for_a_restart_does_not_leave_its_group(tmp_path: Path) -> None:
    runtime = worker(sold_history(3), tmp_path)

    async def story() -> None:
        await folded(runtime, records=3)
        with capture_logs() as logs:
            await runtime.close()
        assert [line["event"] for line in logs if "group" in line["event"]] == []

    asyncio.run(asyncio.wait_for(story(), DEADLINE_S))

    assert file_of(runtime.settings.snapshot_dir, PARTITION, GENERATION).exists()


def test_a_stop_closes_no_producer_while_open_decisions_are_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = worker(sold_history(3), tmp_path)
    began, answered = asyncio.Event(), asyncio.Event()

    async def sending(_owned: object, _broker: object) -> int:
        began.set()
        await answered.wait()
        return 1

    monkeypatch.setattr(runtimes, "republish_open", sending)

    async def story() -> bool:
        await folded(runtime, records=3)
        republishing = asyncio.create_task(runtime.republish())
        await began.wait()
        closing = asyncio.create_task(runtime.close())
        for _ in range(50):
            await asyncio.sleep(0)
        is_open = PARTITION in runtime.producers.writers
        answered.set()
        await asyncio.gather(republishing, closing)
        return is_open

    assert asyncio.run(asyncio.wait_for(story(), DEADLINE_S))
    assert runtime.producers.writers == {}


def test_a_stop_waits_only_briefly_until_open_decisions_are_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtimes, "SENT_S", 0.05)
    runtime = worker(sold_history(3), tmp_path)

    async def story() -> None:
        owned = await folded(runtime, records=3)
        async with owned.lock:
            await runtime.close()

    asyncio.run(asyncio.wait_for(story(), DEADLINE_S))

    assert runtime.producers.writers == {}


async def refused() -> None:
    raise GroupCoordinatorNotAvailableError


async def never() -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("leave_group", [refused, never])
def test_snapshots_are_saved_even_if_the_group_cannot_be_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leave_group: Callable[[], Any]
) -> None:
    monkeypatch.setattr(runtimes, "HAND_OVER_S", 0.05)
    runtime = worker(sold_history(3), tmp_path)

    async def story() -> list[str]:
        await folded(runtime, records=3)
        with capture_logs() as logs:
            await runtime.close(leave_group)
        return [line["event"] for line in logs]

    assert "the group was not left" in asyncio.run(asyncio.wait_for(story(), DEADLINE_S))
    assert file_of(runtime.settings.snapshot_dir, PARTITION, GENERATION).exists()


def test_a_release_waits_for_a_takeover_in_progress() -> None:
    broker = sold_history(3)
    leaving: Any = Worker(broker)
    other = Worker(broker)
    began, turned = asyncio.Event(), asyncio.Event()
    own = leaving.producers.own

    async def slow(partitions: Any) -> None:
        began.set()
        await turned.wait()
        await own(partitions)

    leaving.producers.own = slow

    async def story() -> bool:
        await leaving.ownership.assign([PARTITION])
        await began.wait()
        releasing = asyncio.create_task(leaving.ownership.release())
        for _ in range(50):
            await asyncio.sleep(0)
        was_released = releasing.done()
        turned.set()
        await releasing
        await other.ownership.assign([PARTITION])
        await other.ownership.owned(PARTITION)
        return was_released

    assert asyncio.run(asyncio.wait_for(story(), DEADLINE_S)) is False
    assert leaving.producers.writers == {}
    assert not other.producers.writers[PARTITION].is_fenced(PARTITION)
    assert [type(error) for error in leaving.failures if isinstance(error, Fenced)] == []


class Coordinator:
    """Replacement of aiokafka's coordinator of a static member: its close sends no message."""

    group_id = "group"

    def __init__(self, error_code: int = 0) -> None:
        self.member_id = "worker-1-abc"
        self._error_code = error_code
        self.done: list[str] = []

    async def close(self) -> None:
        self.member_id = ""
        self.done.append("close")

    async def _send_req(self, request: Any) -> Any:
        self.done.append(f"leave {request._group} {request._member_id}")
        return SimpleNamespace(error_code=self._error_code)


def test_a_member_commits_and_closes_its_coordinator_before_it_leaves() -> None:
    """A coordinator that is open would join the group again at its next heartbeat."""
    coordinator = Coordinator()

    async def test(rig: Rig) -> None:
        async def call(work: Callable[[], Any]) -> None:
            coordinator.done.append(f"committed {rig.committed}")
            await work()

        rig.consumer._thread.call_thread = call
        rig.consumer._thread._consumer = SimpleNamespace(_coordinator=coordinator)
        rig.engine.open.set()
        rig.fetch((ONE, [7]))
        await until(lambda: rig.consumer._new_offset(ONE))
        await rig.consumer.leave_group()
        rig.consumer._committed_offset.clear()
        await rig.consumer.commit()

    rig = run(test)

    assert coordinator.done == [f"committed {[{ONE: 8}]}", "close", "leave group worker-1-abc"]
    assert len(rig.committed) == 1


def test_a_refused_request_to_leave_the_group_raises_an_error() -> None:
    async def test(rig: Rig) -> None:
        coordinator = Coordinator(UnknownMemberIdError.errno)
        rig.consumer._thread._consumer = SimpleNamespace(_coordinator=coordinator)
        with pytest.raises(UnknownMemberIdError):
            await rig.consumer._thread._close_and_leave()

    run(test)


def test_leaving_the_group_before_the_consumer_started_does_nothing() -> None:
    async def test(rig: Rig) -> None:
        await rig.consumer._thread._close_and_leave()

    assert run(test).consumer._thread._consumer is None


@pytest.mark.parametrize("is_leaving", [True, False])
def test_a_shutdown_leaves_the_group_only_if_the_worker_is_leaving(
    monkeypatch: pytest.MonkeyPatch, *, is_leaving: bool
) -> None:
    given: list[Any] = []

    async def close(_runtime: Any, leave_group: Any) -> None:
        given.append(leave_group)

    async def stop(_server: Any) -> None:
        pass

    monkeypatch.setattr(Runtime, "close", close)
    monkeypatch.setattr(QueryServer, "stop", stop)

    async def shut_down() -> Any:
        process: Any = build_worker(WorkerSettings(), {})
        process.is_leaving = is_leaving
        await process.app.on_before_shutdown.send()
        return process.app.consumer.leave_group

    leave_group = asyncio.run(shut_down())

    assert given == [leave_group if is_leaving else None]


@pytest.fixture
def process() -> Any:
    """Return the process of a worker on an event loop of its own. Nothing is started."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    made: Any = WorkerProcess(create_app(WorkerSettings()))
    yield made
    loop.close()
    asyncio.set_event_loop(None)


def test_the_leave_signal_stops_the_worker_like_sigterm(process: Any) -> None:
    async def stopped() -> None:
        process.install_signal_handlers()
        os.kill(os.getpid(), LEAVE_SIGNAL)
        await until(lambda: process.should_stop)

    process.loop.run_until_complete(asyncio.wait_for(stopped(), DEADLINE_S))

    assert process.is_leaving


def test_a_process_cancels_remaining_tasks_and_ends_without_waiting(
    process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = process.loop
    left = loop.create_task(asyncio.Event().wait())
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("mode.worker.asyncio.sleep", sleep)
    process.stop_and_shutdown()

    assert left.cancelled()
    assert loop.is_closed()
    assert slept == []
    assert not process.is_leaving
