"""The connection of a worker's runtime to Faust: agent, timers, tasks and rebalance handlers."""

import asyncio
import time
from typing import Any

import faust
import structlog

from cdc.contracts.topics import STOCK_EVENTS
from streams.app import create_app
from streams.engine.garbage import CollectorFreeze
from streams.engine.records import TopicIds
from streams.query.server import QueryServer
from streams.settings import WorkerSettings
from streams.worker.chunks import consume_chunks
from streams.worker.loop_watchdog import watch
from streams.worker.process import WorkerProcess
from streams.worker.runtime import RESTORE_STALL_S, AddressTaken, Runtime, Stuck, die

INSPECT_S = 5.0
LOOP_STAMP_S = 0.5
# The pause before the next snapshots is this many times the duration of the last ones. Snapshots
# then take less than a tenth of the time. The pause is at least `snapshot_s`, and at most
# `MOST_INTERVALS` times `snapshot_s`.
SNAPSHOT_SHARE = 10
MOST_INTERVALS = 10

log = structlog.get_logger(__name__)


def build_worker(settings: WorkerSettings, origins: TopicIds) -> WorkerProcess:
    """Return the process of a worker, with a new runtime attached to its app.

    `origins` are the topic ids that `refuse_other_topics` returned before the start.
    """
    app = create_app(settings)
    runtime = Runtime(settings, origins)
    log.info("worker starts")
    _attach_chunks(app, runtime)
    _attach_rebalance(app, runtime)
    _attach_timers(app, runtime)
    _attach_gaps(app, runtime)
    _attach_snapshots(app, runtime)
    process = WorkerProcess(app)
    _attach_queries(app, runtime, process)
    return process


def _stock_events(app: faust.App) -> faust.TopicT:
    return app.topic(
        STOCK_EVENTS,
        key_type=bytes,
        value_type=bytes,
        key_serializer="raw",
        value_serializer="raw",  # without this, Faust parses bytes as JSON
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
            die("a record arrived outside a chunk", offset=event.message.offset)


def _attach_rebalance(app: faust.App, runtime: Runtime) -> None:
    @app.on_partitions_revoked.connect
    async def revoked(_app: faust.App, revoked: Any, **_: object) -> None:  # noqa: ANN401 -- Faust has no types
        # Faust sends this signal after the present batch was processed.
        log.info("partitions revoked", partitions=sorted({tp.partition for tp in revoked}))
        await runtime.revoked()

    @app.on_partitions_assigned.connect
    async def assigned(_app: faust.App, assigned: Any, **_: object) -> None:  # noqa: ANN401 -- Faust has no types
        partitions = sorted(tp.partition for tp in assigned if tp.topic == STOCK_EVENTS)
        log.info("partitions assigned", partitions=partitions)
        await runtime.ownership.assign(partitions)


def _attach_timers(app: faust.App, runtime: Runtime) -> None:
    @app.timer(runtime.settings.republish_s)
    async def republish() -> None:
        await runtime.republish()

    @app.task
    async def inspect() -> None:
        freeze = CollectorFreeze()
        while not app.should_stop:
            await asyncio.sleep(INSPECT_S)
            ready = runtime.ownership.ready.values()
            freeze.freeze_if_grown(sum(owned.states.count_in_use() for owned in ready))
            try:
                await runtime.inspect()
            except Exception as error:  # noqa: BLE001 -- a task's edge: a silent watchdog is worse
                die("a check of the broker has failed", error)

    @app.task
    async def stamp_loop() -> None:
        limit_s = RESTORE_STALL_S  # on a busy machine, a large restore may block the loop for long
        still = Stuck(f"no task ran in the event loop for {limit_s:g} s")
        watch(lambda: runtime.loop_seen_s, limit_s, lambda: die("the event loop is stuck", still))
        while not app.should_stop:
            await asyncio.sleep(LOOP_STAMP_S)
            runtime.loop_seen_s = time.monotonic()


def _attach_gaps(app: faust.App, runtime: Runtime) -> None:
    # A separate task, because `check_gaps` waits for chunks. In the task of `inspect`, a stuck
    # chunk would keep the watchdog from running.
    @app.task
    async def check_gaps() -> None:
        while not app.should_stop:
            await asyncio.sleep(INSPECT_S)
            try:
                await runtime.check_gaps()
            except Exception as error:  # noqa: BLE001 -- a task's edge: a silent end is worse
                die("records that the consumer skipped could not be read", error)


def _attach_snapshots(app: faust.App, runtime: Runtime) -> None:
    @app.task
    async def write_snapshots() -> None:
        pause_s = runtime.settings.snapshot_s
        while not app.should_stop:
            await asyncio.sleep(pause_s)
            try:
                took_s = await runtime.snapshot_writer.write_changed()
            except Exception as error:  # noqa: BLE001 -- a task's edge: state that can't be copied is broken
                die("a snapshot failed", error)
            every_s = runtime.settings.snapshot_s
            pause_s = min(max(every_s, took_s * SNAPSHOT_SHARE), every_s * MOST_INTERVALS)


def _attach_queries(app: faust.App, runtime: Runtime, process: WorkerProcess) -> None:
    server = QueryServer(runtime)

    @app.on_before_shutdown.connect
    async def stop(_app: faust.App, **_: object) -> None:
        # Faust sends this signal once the consumer has stopped and the present batch is processed.
        await server.stop()
        await runtime.close(app.consumer.leave_group if process.is_leaving else None)

    @app.task
    async def serve() -> None:
        await start_server(server, runtime.settings)


async def start_server(server: QueryServer, settings: WorkerSettings) -> None:
    """Start the server. End the process if it can't listen at the address of the settings."""
    try:
        await server.start()
    except OSError as error:
        problem = f"{settings.worker_host}:{settings.worker_port}: {error}"
        die("the query server can't listen at its address", AddressTaken(problem))
