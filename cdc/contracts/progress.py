"""How far a partition is: a header on the changelog records of each chunk.

The header travels in the same transaction as the state it describes. So the state knows by itself
where to go on, and a group offset that ran ahead (Faust may commit what was never handled) or lies
behind (the usual case after a crash) is only a hint: a worker reads a gap from the topic and
recognises what it has already done.

It stands on the last level record of a chunk. The last record of a partition's changelog is the
last of its key, so compaction never removes it. Workers restore from it; sinks and the live feed
learn from it how far the partition is.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from cdc.contracts.versions import built, document_of
from inventory.model.record import Record
from inventory.model.value import value

HEADER = "progress"
RING_HEADER = "ring"
BEAT_HEADER = "beat"
_SCHEMA = 2
_RING_SCHEMA = 1
_BEAT_SCHEMA = 1
_HEARTBEAT_TABLE = "pipeline_heartbeat"
_HEARTBEATS = b"~"  # outside the alphabet of locations, so no item's key begins with it

Header = tuple[str, bytes]
Headers = Iterable[Header]


@value
class Progress:
    """Everything about a partition that no single key knows.

    `next_offset` is the first offset without effect so far. The next three are what the dedupe
    ring needs beyond the records of its horizon (domain.md 4): the newest commit time, the highest
    lsn ever seen, and whether a change has ended the snapshot phase. `source_topic_id` is what the
    broker named the topic of these offsets when it was made: one made anew has the same offsets,
    and other records at them. None is unknown, as in version 1.

    The dedupe ring is replayed from `ring_from` on. A header of its own tells it, which earlier
    code passes over; where nobody has told it, that is the beginning of the log.
    """

    next_offset: int
    newest_commit_us: int | None
    highest_lsn: int | None
    streamed: bool
    source_topic_id: str | None = None
    ring_from: int = 0


def progress_headers(progress: Progress) -> tuple[Header, Header]:
    """What the last level record of a chunk carries."""
    ring = encode_ring(progress.ring_from)
    return (HEADER, encode_progress(progress)), (RING_HEADER, ring)


def encode_progress(progress: Progress) -> bytes:
    """The value of the header `progress`: all but `ring_from`."""
    row: dict[str, object] = {
        "schema": _SCHEMA,
        "next_offset": progress.next_offset,
        "newest_commit_us": progress.newest_commit_us,
        "highest_lsn": progress.highest_lsn,
        "streamed": progress.streamed,
    }
    if progress.source_topic_id is not None:
        row["source_topic_id"] = progress.source_topic_id
    return _dumps(row)


def decode_progress(payload: bytes) -> Progress:
    """The progress that `encode_progress` wrote.

    Raises:
        UnreadableRecord: it is of another version, or no progress.
    """
    return built(HEADER, document_of(HEADER, payload), _progress_of)


def progress_in(headers: Headers) -> Progress | None:
    """The progress among a record's headers, if it carries one."""
    found = None
    ring_from = 0
    for name, payload in headers:
        if name == HEADER:
            found = decode_progress(payload)
        elif name == RING_HEADER:
            ring_from = decode_ring(payload)
    return None if found is None else replace(found, ring_from=ring_from)


def encode_ring(first_offset: int) -> bytes:
    """The value of the header `ring`: where the dedupe ring is replayed from."""
    return _dumps({"schema": _RING_SCHEMA, "first_offset": first_offset})


def decode_ring(payload: bytes) -> int:
    """The offset that `encode_ring` wrote.

    Raises:
        UnreadableRecord: it is of another version, or no such header.
    """
    return built(
        RING_HEADER, document_of(RING_HEADER, payload), lambda row: int(row["first_offset"])
    )


def is_heartbeat(key: bytes) -> bool:
    """Whether a topic key is that of a partition's heartbeat, which is no item."""
    return key.startswith(_HEARTBEATS)


@value
class Beat:
    """The content of a heartbeat, which is no part of a key's state: count and commit time."""

    beat: int
    commit_us: int


def beat_of(record: Record) -> Beat | None:
    """The heartbeat that a record of its table carries."""
    if record.table != _HEARTBEAT_TABLE or not isinstance(record.after, dict):
        return None
    return Beat(record.after.get("beat") or 0, record.commit_us)


def encode_beat(beat: Beat) -> bytes:
    """The value of the header on a heartbeat key's level record."""
    return _dumps({"schema": _BEAT_SCHEMA, "beat": beat.beat, "commit_us": beat.commit_us})


def beat_in(headers: Headers) -> Beat | None:
    """The heartbeat among a record's headers, if it carries one.

    Raises:
        UnreadableRecord: it is of another version, or no heartbeat.
    """
    for name, payload in headers:
        if name == BEAT_HEADER:
            beat = _unversioned_beat(payload)
            return beat or built(BEAT_HEADER, document_of(BEAT_HEADER, payload), _beat_of)
    return None


def _progress_of(row: dict[str, Any]) -> Progress:
    return Progress(
        row["next_offset"],
        row["newest_commit_us"],
        row["highest_lsn"],
        row["streamed"],
        row.get("source_topic_id"),
    )


def _beat_of(row: dict[str, Any]) -> Beat:
    return Beat(row["beat"], row["commit_us"])


def _unversioned_beat(payload: bytes) -> Beat | None:
    """A heartbeat as it was written before it had a version: `12@1795229285100000`."""
    count, at, commit_us = payload.partition(b"@")
    return Beat(int(count), int(commit_us)) if at and count.isdigit() else None


def _dumps(row: dict[str, object]) -> bytes:
    return json.dumps(row, sort_keys=True, separators=(",", ":")).encode()
