"""The live feed's hub follows the read model's as-of times, also after a database failure."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import psycopg
from structlog.testing import capture_logs

from cdc.contracts.topics import ON_HAND_CHANGELOG
from webui.live.hub import Hub
from webui.live.patches import patch_of_record
from webui.live.read_model import follow_read_model

DEADLINE_S = 120


def beat(ledger: psycopg.Connection, as_of_us: int) -> None:
    """Store an as-of time of partition 0 as the projector does."""
    ledger.execute(
        "INSERT INTO read_model.sink_position (sink, topic, partition, next_offset, as_of_us)"
        " VALUES ('projector', %s, 0, 1, %s) ON CONFLICT (sink, topic, partition)"
        " DO UPDATE SET as_of_us = excluded.as_of_us",
        (ON_HAND_CHANGELOG, as_of_us),
    )


def rename(ledger: psycopg.Connection, before: str, after: str) -> None:
    ledger.execute(f"ALTER TABLE read_model.{before} RENAME TO {after}".encode())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 -- the hub and the log have no event
            await asyncio.sleep(0.01)


async def followed(hub: Hub[Any], steps: Coroutine[Any, Any, None]) -> None:
    """Run `steps` while the hub follows the read model."""
    following = asyncio.create_task(follow_read_model(hub))
    try:
        await steps
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


def test_the_hub_follows_the_read_model_through_a_failure_of_the_database(
    ledger: psycopg.Connection,
) -> None:
    hub = Hub(patch_of_record)
    hub.advance_as_of(0, 60_000_000)

    async def steps() -> None:
        beat(ledger, 10_000_000)
        await until(lambda: hub.as_of_us([0]) == 10_000_000)
        rename(ledger, "sink_position", "away")
        try:
            await until(lambda: bool(logs))
            assert hub.as_of_us([0]) == 10_000_000
        finally:
            rename(ledger, "away", "sink_position")
        beat(ledger, 60_000_000)
        await until(lambda: hub.as_of_us([0]) == 60_000_000)

    with capture_logs() as logs:
        asyncio.run(followed(hub, steps()))
    assert [line["event"] for line in logs] == ["the age of the read model is unknown"]
