"""The real consume loop of Faust with the one module that knows Faust's private names."""

import asyncio
from typing import Any

import pytest
from faust.sensors.monitor import Monitor
from faust.transport.consumer import Fetcher
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from streams.worker.chunks import FETCH_WAIT_MS, QuickFetches
from tests.streams.rigged import ONE, OTHER, TWO, Rig, rigged, run, until

DEADLINE_S = 120


def test_nothing_is_committed_before_the_chunk_is_acknowledged() -> None:
    async def test(rig: Rig) -> None:
        rig.fetch((ONE, [7, 8, 9]))
        await rig.engine.began.wait()
        await rig.consumer.commit()
        assert rig.committed == []

        rig.engine.open.set()
        await until(lambda: rig.engine.finished)
        await until(lambda: rig.consumer._new_offset(ONE))
        await rig.consumer.commit()

    rig = run(test)

    assert rig.engine.chunks == [(1, [7, 8, 9])]
    assert rig.committed == [{ONE: 10}]


def test_an_error_ends_the_worker_and_commits_nothing() -> None:
    async def test(rig: Rig) -> None:
        rig.engine.error = RuntimeError("fenced")
        rig.engine.open.set()
        rig.fetch((ONE, [7]))
        await until(lambda: rig.engine.failures)
        await rig.consumer.commit()

    rig = run(test)

    assert [str(error) for error in rig.engine.failures] == ["fenced"]
    assert rig.committed == []


def test_partitions_of_one_fetch_are_handled_at_the_same_time() -> None:
    async def test(rig: Rig) -> None:
        rig.fetch((ONE, [1]), (TWO, [5]))
        await until(lambda: len(rig.engine.chunks) == 2)

    assert sorted(run(test).engine.chunks) == [(1, [1]), (2, [5])]


def test_records_that_arrive_during_a_chunk_form_the_next_chunk() -> None:
    async def test(rig: Rig) -> None:
        rig.fetch((ONE, [1]))
        await rig.engine.began.wait()
        rig.fetch((ONE, [2, 3]))
        rig.fetch((ONE, [4]))
        await until(lambda: not rig.fetched)
        rig.empty.clear()
        await rig.empty.wait()
        rig.engine.open.set()
        await until(lambda: len(rig.engine.finished) == 2)

    assert run(test).engine.chunks == [(1, [1]), (1, [2, 3, 4])]


def test_a_full_lane_stops_its_own_partition_and_no_other() -> None:
    async def test(rig: Rig) -> None:
        rig.fetch((ONE, [1]))
        await rig.engine.began.wait()
        rig.fetch((ONE, range(2, 12)))
        rig.fetch((ONE, [12]), (TWO, [5]))
        await until(lambda: (2, [5]) in rig.engine.chunks)
        assert rig.fetched
        rig.engine.open.set()
        await until(lambda: rig.consumer._new_offset(ONE) == 13)

    rig = run(test, most_records=4)

    assert all(len(offsets) <= 4 for _, offsets in rig.engine.chunks)
    assert [n for partition, found in rig.engine.chunks if partition == 1 for n in found] == [
        *range(1, 13)
    ]


def test_the_fetch_loop_waits_while_all_lanes_are_full() -> None:
    async def test(rig: Rig) -> None:
        rig.consumer._set_active_tps({ONE})
        rig.fetch((ONE, [1]))
        await rig.engine.began.wait()
        rig.fetch((ONE, range(2, 12)))
        rig.fetch((ONE, [12]))
        await until(lambda: not rig.consumer._get_active_partitions())
        rig.engine.open.set()
        await until(lambda: rig.consumer._new_offset(ONE) == 13)

    assert run(test, most_records=4).engine.failures == []


def test_a_revoke_waits_for_and_commits_the_current_chunk_and_drops_the_rest() -> None:
    async def test(rig: Rig) -> None:
        rig.fetch((ONE, [1, 2]))
        await rig.engine.began.wait()
        rig.fetch((ONE, [3, 4]))
        await until(lambda: not rig.fetched)
        revoking = asyncio.create_task(rig.consumer.on_partitions_revoked({ONE, TWO}))
        await until(lambda: not rig.consumer.flow_active)
        assert not revoking.done()
        assert rig.committed == []

        rig.engine.open.set()
        await revoking

    rig = run(test)

    assert rig.engine.chunks == [(1, [1, 2])]
    assert rig.committed == [{ONE: 3}]
    assert rig.consumer._lanes == {}


def test_a_cancelled_fetcher_lets_the_current_chunk_finish_and_commit() -> None:
    async def inside() -> Rig:
        with rigged() as rig:
            fetcher = Fetcher(rig.app, loop=asyncio.get_running_loop(), beacon=rig.app.beacon)
            draining = asyncio.create_task(rig.consumer._drain_messages(fetcher))
            rig.fetch((ONE, [1]))
            await asyncio.wait_for(rig.engine.began.wait(), DEADLINE_S)

            draining.cancel()
            await asyncio.wait([draining])
            rig.engine.open.set()
            await asyncio.wait_for(rig.consumer.wait_empty(), DEADLINE_S)
            return rig

    rig = asyncio.run(inside())

    assert rig.engine.finished == [1]
    assert rig.committed == [{ONE: 2}]


def test_a_worker_neither_folds_nor_commits_records_of_a_foreign_partition() -> None:
    async def test(rig: Rig) -> None:
        rig.engine.mine = False
        rig.engine.open.set()
        rig.fetch((ONE, [1]))
        await until(lambda: not rig.fetched)
        rig.empty.clear()
        await rig.empty.wait()
        await rig.consumer.commit()

    rig = run(test)

    assert rig.engine.chunks == []
    assert rig.committed == []


def test_an_offset_gap_is_passed_on_to_the_engine() -> None:
    async def test(rig: Rig) -> None:
        rig.engine.open.set()
        rig.fetch((ONE, [1, 2]))
        await until(lambda: len(rig.engine.finished) == 1)
        rig.fetch((ONE, [9]))
        await until(lambda: len(rig.engine.finished) == 2)

    assert run(test).engine.chunks == [(1, [1, 2]), (1, [9])]


def test_records_fetched_for_an_ended_assignment_are_dropped_and_sought_again() -> None:
    async def test(rig: Rig) -> None:
        fetch = rig.getmany

        async def late(**asked: Any) -> Any:
            found = await fetch(**asked)
            if found:
                rig.app.consumer_generation_id += 1
            return found

        rig.consumer._getmany = late
        rig.fetch((ONE, [1]))
        await until(lambda: rig.sought)

    assert run(test).engine.chunks == []


def test_records_fetched_while_the_flow_is_stopped_are_dropped_and_sought_again() -> None:
    async def test(rig: Rig) -> None:
        fetch = rig.getmany

        async def late(**asked: Any) -> Any:
            found = await fetch(**asked)
            if found:
                rig.consumer.stop_flow()
            return found

        rig.consumer._getmany = late
        rig.fetch((ONE, [1]))
        await until(lambda: rig.sought)

    assert run(test).engine.chunks == []


def test_faust_consumes_other_topics_and_records_their_offset_gaps() -> None:
    async def test(rig: Rig) -> None:
        rig.fetch((OTHER, [3, 4, 9]), (ONE, [1]))
        rig.fetch((OTHER, [4, 10]))
        await until(lambda: rig.passed_on[-1:] == [10])

    rig = run(test)

    assert rig.passed_on == [3, 4, 9, 10]
    assert [(i.begin, i.end) for i in rig.consumer._gap[OTHER]] == [(5, 10)]
    assert rig.consumer._read_offset[OTHER] == 10


def test_a_partition_without_committed_offset_starts_at_its_earliest_offset() -> None:
    async def test(rig: Rig) -> None:
        async def committed() -> dict[TP, int | None]:
            return {ONE: 5, TWO: None, OTHER: 0}

        async def earliest(*places: TP) -> dict[TP, int]:
            return dict.fromkeys(places, 3)

        async def seek(places: dict[TP, int]) -> None:
            sought.update(places)

        thread = rig.consumer._thread
        thread.seek_to_committed, thread.earliest_offsets = committed, earliest
        thread.seek_wait = seek
        found = await type(rig.consumer).seek_to_committed(rig.consumer)
        assert found == {ONE: 5, TWO: None, OTHER: 0}

    sought: dict[TP, int] = {}
    run(test)

    assert sought == {TWO: 3, OTHER: 3}


def test_a_failed_seek_raises_no_error() -> None:
    async def test(rig: Rig) -> None:
        async def broken() -> Any:
            rig.sought += 1
            raise ConnectionError

        rig.consumer.seek_to_committed = broken
        await rig.consumer._seek_back()

    assert run(test).sought == 1


@pytest.mark.parametrize("error", [driver.ConsumerStoppedError(), asyncio.CancelledError()])
@pytest.mark.parametrize("stopping", [True, False])
def test_a_stopped_consumer_raises_an_error_unless_the_worker_stops(
    error: BaseException, *, stopping: bool
) -> None:
    async def inside() -> None:
        async def stopped(**_: object) -> Any:
            raise error

        with rigged() as rig:
            rig.consumer._getmany = stopped
            if stopping:
                rig.app._stopped.set()
            fetcher = Fetcher(rig.app, loop=asyncio.get_running_loop(), beacon=rig.app.beacon)
            await rig.consumer._drain_messages(fetcher)

    if stopping:
        asyncio.run(inside())
    else:
        with pytest.raises(type(error)):
            asyncio.run(inside())


def test_the_consumer_has_the_required_private_attributes_and_short_fetches() -> None:
    async def inside() -> None:
        with rigged() as rig:
            consumer = rig.consumer
            assert isinstance(consumer._thread, QuickFetches)
            assert isinstance(rig.app.monitor, Monitor)
            assert rig.app.monitor.stream_inbound_time == {}
            for name in ("_read_offset", "_buffered_partitions", "_stopped", "scheduler"):
                assert hasattr(consumer, name), name
            made = consumer._thread._create_worker_consumer(rig.app.transport)
            await made.stop()
            assert made._fetch_max_wait_ms == FETCH_WAIT_MS
            assert made._isolation_level == "read_committed"

    asyncio.run(inside())
