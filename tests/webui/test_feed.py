"""The live feed publishes each change at once and stops at a record that it can't read."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition

from cdc.contracts.topics import ON_HAND_CHANGELOG
from cdc.contracts.versions import UnknownVersion
from tests.golden.workers import kept
from webui.live.feed import Feed
from webui.live.hub import Hub
from webui.live.patches import patch_of_record

PLACE = TopicPartition(ON_HAND_CHANGELOG, 3)


class Consumer:
    """Consumer that returns one record."""

    def __init__(self, value: bytes, *headers: tuple[str, bytes]) -> None:
        self.record = SimpleNamespace(
            topic=ON_HAND_CHANGELOG,
            partition=3,
            offset=812,
            key=b"L|A",
            value=value,
            headers=headers,
        )

    async def getmany(self, **_options: int) -> dict[TopicPartition, list[Any]]:
        return {PLACE: [self.record]}


@pytest.mark.parametrize(
    ("consumer", "problem"),
    [
        (Consumer(b'{"schema":9}'), "level record: schema 9"),
        (Consumer(kept("level", 1)[0], ("progress", b'{"schema":9}')), "progress record: schema 9"),
    ],
)
def test_a_record_of_an_unknown_version_stops_the_live_feed_with_its_offset(
    consumer: Any, problem: str
) -> None:
    hub = Hub(patch_of_record)
    hub.subscribe(["L|A"])

    with pytest.raises(UnknownVersion) as stopped:
        asyncio.run(Feed(hub, bootstrap="nowhere", partitions=12)._publish_batches(consumer))

    assert str(stopped.value).startswith(f"{ON_HAND_CHANGELOG}[3]@812: {problem} is unknown here")


class Trickle:
    """Consumer that returns one record per poll, until the test's records end.

    `shown` has, for each poll, the record that the hub showed at that moment.
    """

    def __init__(self, hub: Hub[Any], records: int) -> None:
        self.shown: list[bytes | None] = []
        self._hub = hub
        self._records = records

    async def getmany(self, **_options: int) -> dict[TopicPartition, list[Any]]:
        self.shown.append(self._hub.latest.get("L|A"))
        number = len(self.shown)
        if number > self._records:
            raise asyncio.CancelledError
        return {PLACE: [Consumer(b"%d" % number).record]}


def test_the_live_feed_publishes_each_change_even_if_a_sleep_returns_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hub = Hub(patch_of_record)
    trickle = Trickle(hub, records=3)

    async def return_early(_seconds: float) -> None:
        return

    async def read() -> None:
        monkeypatch.setattr("webui.live.feed.asyncio.sleep", return_early)
        await Feed(hub, bootstrap="nowhere", partitions=12)._publish_batches(trickle)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(read())

    assert trickle.shown == [None, b"1", b"2", b"3"]
