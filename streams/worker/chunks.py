"""A consumer for Faust that delivers chunks of records instead of single ones.

By default Faust delivers each record through four tasks and a queue, which takes 50 times as long
as delivery in chunks. Here Faust's drain loop gives the fetched records of one topic, `hot_topic`
(`stock.events`), to one lane per partition. Faust does everything else: membership, assignment,
flow control, commits, other topics, timers, sensors.

This is the only module that uses Faust's private names. tests/streams/test_chunks.py checks that
each of them exists. The group's committed offset is only a hint: the engine continues at the
changelog's progress, and reads missing records from the topic.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import structlog
from aiokafka.errors import for_code
from aiokafka.protocol.group import LeaveGroupRequest
from faust.transport.consumer import ensure_TP
from faust.transport.drivers.aiokafka import (
    SLOW_PROCESSING_NO_COMMIT_SINCE_START,
    SLOW_PROCESSING_STREAM_IDLE_SINCE_START,
    AIOKafkaConsumerThread,
    Consumer,
)
from typing_extensions import override

from streams.engine.records import SourceRecord
from streams.worker.lanes import Handler, Lane

POLL_S: Final = 1.0
ROOM_S: Final = 0.1  # longest wait for room in a lane while all lanes are full
# By default Faust lets the broker wait up to 1.5 s for data, so a busy partition would wait for a
# quiet one.
FETCH_WAIT_MS: Final = 100

TP = Any  # Faust's (topic, partition), without types for the checker
Fetched = Mapping[TP, Sequence[Any]]

log = structlog.get_logger(__name__)


class QuickFetches(AIOKafkaConsumerThread):
    """Faust's consumer thread, which here waits less for data and reads only committed records.

    By default Faust also reads records of transactions that are aborted later. A recomputation
    never reads those, so its results would differ. Two of Faust's warnings are suppressed: they are
    false for records that don't pass Faust's streams. `streams.engine.watchdog` checks progress.
    """

    @override
    def _log_slow_processing_stream(self, msg: str, *args: Any) -> None:
        if msg != SLOW_PROCESSING_STREAM_IDLE_SINCE_START:
            super()._log_slow_processing_stream(msg, *args)

    @override
    def _log_slow_processing_commit(self, msg: str, *args: Any) -> None:
        if msg != SLOW_PROCESSING_NO_COMMIT_SINCE_START:
            super()._log_slow_processing_commit(msg, *args)

    @override
    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        consumer._fetch_max_wait_ms = FETCH_WAIT_MS  # noqa: SLF001 -- no public way
        consumer._isolation_level = "read_committed"  # noqa: SLF001 -- as above
        return consumer

    async def leave_group(self) -> None:
        """Leave the consumer group, in the consumer's thread."""
        await self.call_thread(self._close_and_leave)

    async def _close_and_leave(self) -> None:
        """Close aiokafka's coordinator, then send the request that removes this member.

        aiokafka never sends it for a static member. A coordinator that is still open would join the
        group again at its next heartbeat.
        """
        if self._consumer is None:
            return  # not started yet, so no member
        coordinator = self._consumer._coordinator  # noqa: SLF001 -- no public way
        request = LeaveGroupRequest(coordinator.group_id, coordinator.member_id)
        await coordinator.close()
        answer = await coordinator._send_req(request)  # noqa: SLF001 -- as above
        if answer.error_code:
            raise for_code(answer.error_code)


class ChunkConsumer(Consumer):
    """Faust's consumer, which here gives the records of `hot_topic` to one lane per partition."""

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401 -- Faust's own
        hot_topic: str,
        handler: Handler,
        most_records: int,
        on_failure: Callable[[BaseException], None],
        **options: Any,  # noqa: ANN401 -- Faust's own
    ) -> None:
        self._hot_topic = hot_topic
        self._handler = handler
        self._most_records = most_records
        self._on_failure = on_failure
        self._lanes: dict[TP, Lane] = {}
        self._room = asyncio.Event()
        super().__init__(*arguments, **options)

    @override
    def _new_consumer_thread(self) -> AIOKafkaConsumerThread:
        return QuickFetches(self, loop=self.loop, beacon=self.beacon)

    @override
    async def _drain_messages(self, fetcher: Any) -> None:
        try:
            while not (self._stopped.is_set() or fetcher._stopped.is_set()):  # noqa: SLF001 -- as Faust does
                await self._drain_once()
        except self.consumer_stopped_errors:
            if not self.app.should_stop:
                raise
        except asyncio.CancelledError:
            if not self.app.should_stop:
                raise

    async def _drain_once(self) -> None:
        if self.flow_active:
            self._leave_full_lanes()
            if not self._get_active_partitions():
                # All lanes are full. Faust would sleep for a second, but a lane has room sooner.
                await self._wait_for_room()
                return
        generation = self.app.consumer_generation_id
        records, _ = await self._wait_next_records(POLL_S)
        if not records:
            await asyncio.sleep(0)
        elif not self.flow_active:
            await self._seek_back()
        elif generation == self.app.consumer_generation_id:
            await self._hand_over(records)
        else:
            # The records were fetched for an earlier assignment. This fetch may have moved the
            # consumer's position after the seek of the present assignment, so seek again.
            await self._seek_back()

    def _leave_full_lanes(self) -> None:
        for tp, lane in self._lanes.items():
            if lane.full:
                self.on_buffer_full(tp)
            else:
                self.on_buffer_drop(tp)

    async def _wait_for_room(self) -> None:
        self._room.clear()
        try:
            await asyncio.wait_for(self._room.wait(), ROOM_S)
        except TimeoutError:
            return

    @override
    async def seek_to_committed(self) -> Mapping[TP, int | None]:
        """Seek each partition to the group's committed offset, or to its beginning if it has none.

        aiokafka alone doesn't seek in a partition without a committed offset. It would skip records
        that were fetched before a rebalance and not handled.
        """
        committed: Mapping[TP, int | None] = await super().seek_to_committed()
        uncommitted = [tp for tp, offset in committed.items() if not offset]
        if uncommitted:
            await self.seek_wait(await self.earliest_offsets(*uncommitted))
        return committed

    async def _seek_back(self) -> None:
        """Seek to the committed offsets, so that records that no lane got are fetched again."""
        try:
            await self.perform_seek()
        except Exception as error:  # noqa: BLE001 -- as Faust does: the next assignment seeks again
            log.warning("seek failed", error=repr(error))

    async def _hand_over(self, records: Fetched) -> None:
        cold: dict[TP, Sequence[Any]] = {}
        for aiokafka_tp, fetched in records.items():
            tp = ensure_TP(aiokafka_tp)  # Faust asserts that it gets its own type
            if tp.topic == self._hot_topic:
                self._lane(tp).put(SourceRecord(r.offset, r.key, r.value) for r in fetched)
                self._read_offset[tp] = fetched[-1].offset + 1
                # Otherwise Faust's own watchdog assumes that nothing is being processed.
                self.app.monitor.stream_inbound_time[tp] = time.monotonic()
            else:
                cold[tp] = fetched
        for tp, record in self.scheduler.iterate(cold):
            if not self.flow_active:
                return
            await self._pass_on(tp, record)

    async def _pass_on(self, tp: TP, record: Any) -> None:  # noqa: ANN401 -- no types in aiokafka
        """Pass a record of another topic than `hot_topic` to Faust.

        If offsets before the record are missing, first report them to Faust as a gap.
        """
        read = self._read_offset[tp]
        if read is not None and record.offset < read:
            return
        if read and record.offset - read > 1:
            await self._add_gap(tp, read + 1, record.offset)
        sent = self.callback(self._to_message(tp, record))
        await self.wait_first(sent, self.suspend_flow.wait())
        self._read_offset[tp] = record.offset

    def _lane(self, tp: TP) -> Lane:
        lane = self._lanes.get(tp)
        if lane is None or lane.closed:
            lane = self._lanes[tp] = Lane(
                tp.partition, self._handler, self._most_records, self._room.set, self._on_failure
            )
        return lane

    @override
    def _filter_tps_with_pending_acks(self, topics: Any = None) -> Iterator[TP]:
        yield from super()._filter_tps_with_pending_acks(topics)
        for tp in list(self._lanes):
            if topics is None or tp in topics or tp.topic in topics:
                yield tp

    @override
    def _new_offset(self, tp: TP) -> int | None:
        lane = self._lanes.get(tp)
        return super()._new_offset(tp) if lane is None else lane.position

    async def leave_group(self) -> None:
        """Commit the offsets of acknowledged chunks, then leave the consumer group at once.

        Call this when Faust has stopped the fetcher and all lanes are closed.

        Raises:
            KafkaError: the broker didn't answer, or refused the request. The group removes this
                member when its session times out.
        """
        await self.commit()
        self._lanes.clear()  # a member that has left can't commit any more
        await self._thread.leave_group()

    @override
    async def wait_empty(self) -> None:
        """Close all lanes: wait for the chunks that they fold, and drop waiting records.

        The partition's next owner handles the dropped records.
        """
        await asyncio.gather(*(lane.close() for lane in list(self._lanes.values())))
        await super().wait_empty()

    @override
    async def on_partitions_revoked(self, revoked: Any) -> None:
        """Close and drop the lanes of `revoked`, after Faust has committed their positions."""
        await super().on_partitions_revoked(revoked)
        for tp in revoked:
            self._buffered_partitions.discard(tp)
            lane = self._lanes.pop(tp, None)
            if lane is not None:
                await lane.close()


def consume_chunks(
    app: Any,  # noqa: ANN401 -- no types in Faust
    *,
    hot_topic: str,
    handler: Handler,
    most_records: int,
    on_failure: Callable[[BaseException], None],
) -> None:
    """Make the app's consumer deliver the records of `hot_topic` to `handler`."""

    def create(*arguments: Any, **options: Any) -> ChunkConsumer:  # noqa: ANN401 -- Faust's own
        return ChunkConsumer(
            *arguments,
            hot_topic=hot_topic,
            handler=handler,
            most_records=most_records,
            on_failure=on_failure,
            **options,
        )

    app.transport.Consumer = create
