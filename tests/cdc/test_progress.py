"""Progress headers of a partition, and keys without an item."""

from collections.abc import Callable

import pytest

from cdc.contracts.progress import (
    Beat,
    Headers,
    Progress,
    beat_in,
    encode_beat,
    encode_progress,
    is_heartbeat,
    progress_headers,
    progress_in,
)
from cdc.contracts.versions import UnknownVersion, UnreadableRecord


@pytest.mark.parametrize("newest_us", [None, 7])
@pytest.mark.parametrize("topic_id", [None, "2Jm0t"])
def test_progress_comes_back_from_the_headers_of_a_chunk(
    newest_us: int | None, topic_id: str | None
) -> None:
    progress = Progress(12, newest_us, 99, streamed=True, source_topic_id=topic_id)

    found = progress_in((("beat", b"x"), ("progress", encode_progress(progress))))

    assert found == progress


def test_the_start_of_the_dedupe_ring_has_its_own_header() -> None:
    progress = Progress(12, 7, 99, streamed=True, ring_from=5)
    told, ring = progress_headers(progress)

    assert progress_in((told, ring)) == progress_in((ring, told)) == progress
    assert progress_in((told,)) == Progress(12, 7, 99, streamed=True, ring_from=0)
    assert progress_in((ring,)) is None


def test_a_record_without_progress_headers_has_no_progress() -> None:
    assert progress_in(()) is None
    assert progress_in((("other", b"x"),)) is None
    assert beat_in((("progress", b"x"),)) is None


def test_progress_of_version_1_is_read_without_a_topic_id() -> None:
    old = b'{"highest_lsn":99,"newest_commit_us":7,"next_offset":12,"schema":1,"streamed":true}'

    assert progress_in((("progress", old),)) == Progress(12, 7, 99, streamed=True)


@pytest.mark.parametrize(
    ("name", "read", "version", "known"),
    [
        ("progress", progress_in, 3, "1, 2"),
        ("ring", progress_in, 2, "1"),
        ("beat", beat_in, 2, "1"),
    ],
)
def test_a_header_of_another_version_is_refused_by_name(
    name: str, read: Callable[[Headers], object], version: int, known: str
) -> None:
    with pytest.raises(UnknownVersion, match=f"{name} record: schema {version} is .*: {known}$"):
        read(((name, b'{"schema":%d}' % version),))


def test_a_beat_comes_back_from_its_header() -> None:
    assert beat_in((("x", b""), ("beat", encode_beat(Beat(5, 77))))) == Beat(5, 77)


def test_a_heartbeat_header_without_a_version_is_read() -> None:
    assert beat_in((("beat", b"5@77"),)) == Beat(5, 77)


def test_a_malformed_heartbeat_header_is_refused() -> None:
    with pytest.raises(UnreadableRecord, match="beat record: not JSON"):
        beat_in((("beat", b"x@7"),))


def test_only_heartbeat_keys_are_recognized_as_heartbeats() -> None:
    assert is_heartbeat(b"~heartbeat|3")
    assert not is_heartbeat(b"L|~S")
