"""The Faust side of a worker: its subscriptions, timers and rebalance handlers."""

import asyncio
import time
from typing import Any

import faust
import structlog

from cdc.contracts.topics import STOCK_EVENTS
from streams.app import create_app
from streams.engine.garbage import Flood
from streams.engine.pages import HugePages
from streams.engine.records import TopicIds
from streams.query.server import QueryServer
from streams.settings import WorkerSettings
from streams.worker.batch_queue import Inbox
from streams.worker.chunks import consume_chunks
from streams.worker.loop_watchdog import watch
from streams.worker.runtime import RESTORE_STALL_S, AddressTaken, Runtime, Stuck, die

INSPECT_S = 5.0
PULSE_S = 0.5
PAGES_S = 60.0
SNAPSHOT_SHARE = 10  # snapshots take at most a tenth of the time (later records restore slowly),
LONGEST_PAUSE = 10  # but come after this many intervals at the latest

log = structlog.get_logger(__name__)


def build_worker(settings: WorkerSettings, origins: TopicIds) -> faust.App:
    """Return the app with its agent, timers and rebalance handlers attached.

    `origins` are the ids of the topics, checked before the start.
    """
    app = create_app(settings)
    runtime = Runtime(settings, origins)
    log.info("worker starts", consumer=settings.consumer)
    if settings.consumer == "chunks":
        _attach_chunks(app, runtime)
    else:
        _attach_stream(app, runtime)
    _attach_rebalance(app, runtime)
    _attach_timers(app, runtime)
    _attach_gaps(app, runtime)
    _attach_memory(app)
    _attach_snapshots(app, runtime)
    _attach_queries(app, runtime)
    return app


def _stock_events(app: faust.App) -> faust.TopicT:
    return app.topic(
        STOCK_EVENTS,
        key_type=bytes,
        value_type=bytes,
        key_serializer="raw",
        value_serializer="raw",  # the app's default is not enough: bytes would be parsed as JSON
    )


def _attach_chunks(app: faust.App, runtime: Runtime) -> None:
    consume_chunks(
        app,
        hot_topic=STOCK_EVENTS,
        handler=runtime,
        most_records=runtime.settings.chunk_records,
        on_failure=lambda error: die("chunk failed", error),
    )

    # Without a table, Faust subscribes only if there is an agent.
    @app.agent(_stock_events(app), name="fold_stock")
    async def subscribed(stream: faust.StreamT) -> None:
        async for event in stream.noack().events():
            die("a record came past the chunks", offset=event.message.offset)


def _attach_stream(app: faust.App, runtime: Runtime) -> None:
    settings = runtime.settings
    inbox: Inbox[faust.EventT] = Inbox(settings.batch_records)
    streams: list[faust.StreamT] = []

    # One agent, one instance: a second would commit past a record that is still in work.
    @app.agent(_stock_events(app), name="fold_stock")
    async def fold_stock(stream: faust.StreamT) -> None:
        manual = stream.noack()
        streams[:] = [manual]
        async for event in manual.events():
            await inbox.put(event)

    @app.task
    async def pump() -> None:
        # Not `while not app.should_stop`: a stop waits for the batch in work to be acknowledged.
        while True:
            batch = await inbox.take(settings.batch_pause_s, settings.batch_within_s)
            await runtime.handle(event.message for event in batch)
            for event in batch:
                await streams[0].ack(event)


def _attach_rebalance(app: faust.App, runtime: Runtime) -> None:
    @app.on_partitions_revoked.connect
    async def revoked(_app: faust.App, revoked: Any, **_: object) -> None:  # noqa: ANN401 -- as above
        # Faust sends this after the batch in work was finished.
        log.info("partitions revoked", partitions=sorted({tp.partition for tp in revoked}))
        await runtime.revoked()

    @app.on_partitions_assigned.connect
    async def assigned(_app: faust.App, assigned: Any, **_: object) -> None:  # noqa: ANN401 -- as above
        partitions = sorted(tp.partition for tp in assigned if tp.topic == STOCK_EVENTS)
        log.info("partitions assigned", partitions=partitions)
        await runtime.ownership.assign(partitions)


def _attach_timers(app: faust.App, runtime: Runtime) -> None:
    @app.timer(runtime.settings.republish_s)
    async def republish() -> None:
        await runtime.republish()

    @app.task
    async def inspect() -> None:
        flood = Flood()
        while not app.should_stop:
            await asyncio.sleep(INSPECT_S)
            ready = runtime.ownership.ready.values()
            flood.look(sum(owned.states.count_in_use() for owned in ready))
            try:
                await runtime.inspect()
            except Exception as error:  # noqa: BLE001 -- a task's edge: a silent watchdog is worse
                die("a look at the broker has failed", error)

    @app.task
    async def pulse() -> None:
        limit_s = RESTORE_STALL_S  # on a busy machine, a large restore may block the loop for long
        still = Stuck(f"nothing ran in it for {limit_s:g} s")
        watch(lambda: runtime.loop_seen_s, limit_s, lambda: die("the event loop is stuck", still))
        while not app.should_stop:
            await asyncio.sleep(PULSE_S)
            runtime.loop_seen_s = time.monotonic()


def _attach_gaps(app: faust.App, runtime: Runtime) -> None:
    # Separate from `inspect`: this waits for chunks, and a chunk may be the stuck part.
    @app.task
    async def look_for_gaps() -> None:
        while not app.should_stop:
            await asyncio.sleep(INSPECT_S)
            try:
                await runtime.look_for_gaps()
            except Exception as error:  # noqa: BLE001 -- a task's edge: a silent end is worse
                die("a gap could not be read", error)


def _attach_memory(app: faust.App) -> None:
    @app.task
    async def keep_huge() -> None:
        pages = HugePages()
        while not app.should_stop:
            await asyncio.sleep(PAGES_S)
            await asyncio.to_thread(pages.look)


def _attach_snapshots(app: faust.App, runtime: Runtime) -> None:
    @app.task
    async def keep_snapshots() -> None:
        pause_s = runtime.settings.snapshot_s
        while not app.should_stop:
            await asyncio.sleep(pause_s)
            try:
                took_s = await runtime.keeper.round()
            except Exception as error:  # noqa: BLE001 -- a task's edge: state that can't be copied is broken
                die("a snapshot failed", error)
            every_s = runtime.settings.snapshot_s
            pause_s = min(max(every_s, took_s * SNAPSHOT_SHARE), every_s * LONGEST_PAUSE)


def _attach_queries(app: faust.App, runtime: Runtime) -> None:
    server = QueryServer(runtime)

    @app.on_before_shutdown.connect
    async def stop(_app: faust.App, **_: object) -> None:
        # Sent after the consumer has stopped and the batch in work was finished.
        await server.stop()
        await runtime.close()

    @app.task
    async def serve() -> None:
        await begin_to_answer(server, runtime.settings)


async def begin_to_answer(server: QueryServer, settings: WorkerSettings) -> None:
    """Serve at the address of the settings. End the process if the address is not available."""
    try:
        await server.start()
    except OSError as error:
        problem = f"{settings.worker_host}:{settings.worker_port}: {error}"
        die("nobody can ask this worker", AddressTaken(problem))
