"""The merge of changelog records before the hub renders them."""

from types import SimpleNamespace
from typing import Any

import pytest

from cdc.contracts.progress import HEADER
from cdc.contracts.topics import ON_HAND_CHANGELOG
from webui.live.hub import Hub
from webui.live.newest import PUBLISH_EVERY_S, Newest


def record(key: bytes, value: bytes, *, as_of_us: int | None = None) -> Any:
    progress = b'{"schema":1,"next_offset":1,"newest_commit_us":%d,"highest_lsn":1,"streamed":true}'
    headers = () if as_of_us is None else ((HEADER, progress % as_of_us),)
    place = {"topic": ON_HAND_CHANGELOG, "partition": 3, "offset": 1}
    return SimpleNamespace(key=key, value=value, headers=headers, **place)


def test_a_key_with_many_changes_is_rendered_once() -> None:
    rendered: list[bytes] = []

    def counting(content: bytes) -> bytes:
        rendered.append(content)
        return content

    hub = Hub(counting)
    page = hub.subscribe(["L|A", "L|B"])
    newest = Newest(hub)

    for number in range(20):
        newest.add(record(b"L|A", b"a%d" % number))
    newest.add(record(b"L|B", b"b"))
    newest.publish(0.0)

    assert rendered == [b"a19", b"b"]
    assert page.take() == {"L|A": b"a19", "L|B": b"b"}


def test_an_as_of_time_holds_only_with_the_records_before_it() -> None:
    hub = Hub(bytes)
    newest = Newest(hub)

    newest.add(record(b"L|A", b"a", as_of_us=700))

    assert hub.as_of_by_partition([3]) == {}
    newest.publish(0.0)
    assert hub.as_of_by_partition([3]) == {3: 700}
    assert dict(hub.latest) == {"L|A": b"a"}


def test_replaced_records_count_as_seen() -> None:
    hub = Hub(bytes)
    newest = Newest(hub)

    for content in (b"a1", b"a2", b"a3"):
        newest.add(record(b"L|A", content))
    newest.add(record(b"L|B", b"b1"))
    newest.publish(0.0)

    assert hub.records == 4


def test_the_first_change_is_published_at_once_and_the_next_one_waits() -> None:
    newest = Newest(Hub(bytes))
    newest.publish(1.0)  # has no record to publish
    assert newest.wait_s(1.0) == 0

    newest.add(record(b"L|A", b"a1"))
    newest.publish(1.0)

    assert newest.wait_s(1.0) == pytest.approx(PUBLISH_EVERY_S)
    assert newest.wait_s(1.0 + PUBLISH_EVERY_S) == 0


def test_a_heartbeat_advances_the_as_of_time_and_is_no_key() -> None:
    hub = Hub(bytes)
    newest = Newest(hub)

    newest.add(record(b"~heartbeat|3", b"{}", as_of_us=900))
    newest.publish(0.0)

    assert hub.as_of_by_partition([3]) == {3: 900}
    assert hub.records == 0
