"""The progress of a partition: headers on the last level record of each chunk.

A worker writes progress and state in one transaction, so `next_offset` agrees with the state. The
group's committed offset is only a hint. It may be too far ahead (Faust may commit a record that was
never handled) or too far behind (after a crash). A worker therefore reads missing records from the
topic and skips records that it has handled already.

Compaction never removes the last record of a changelog partition, so the newest progress remains.
Workers restore from it. Sinks and the live feed read as-of times from it.
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
    """The part of a partition's state that belongs to no single key.

    `next_offset` is the first offset of `stock.events` that the state doesn't include.

    The dedupe ring has the identities of recent records, by which a worker recognises a record
    that was sent twice. `streamed` is True once a change has ended Debezium's snapshot (domain.md
    4). A restore fills the ring with the records from offset `ring_from` on. If `ring_from` is not
    0, the ring first gets `newest_commit_us`, `highest_lsn` and `streamed`. `ring_from` has its own
    header. Without that header it is 0, the beginning of the log.

    `source_topic_id` is the broker's id of `stock.events`, None in records of version 1. A topic
    that was deleted and created again has another id, and other records at the same offsets.
    """

    next_offset: int
    newest_commit_us: int | None
    highest_lsn: int | None
    streamed: bool
    source_topic_id: str | None = None
    ring_from: int = 0


def progress_headers(progress: Progress) -> tuple[Header, Header]:
    """Return the headers `progress` and `ring` for the last level record of a transaction."""
    ring = encode_ring(progress.ring_from)
    return (HEADER, encode_progress(progress)), (RING_HEADER, ring)


def encode_progress(progress: Progress) -> bytes:
    """Return the value of the header `progress`: all fields except `ring_from`."""
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
    """Return the progress that `encode_progress` wrote.

    Raises:
        UnreadableRecord: the payload has another version, or is no progress.
    """
    return built(HEADER, document_of(HEADER, payload), _progress_of)


def progress_in(headers: Headers) -> Progress | None:
    """Return the progress in a record's headers, or None if no header has a progress.

    Raises:
        UnreadableRecord: a header has another version, or is no progress.
    """
    found = None
    ring_from = 0
    for name, payload in headers:
        if name == HEADER:
            found = decode_progress(payload)
        elif name == RING_HEADER:
            ring_from = decode_ring(payload)
    return None if found is None else replace(found, ring_from=ring_from)


def encode_ring(first_offset: int) -> bytes:
    """Return the value of the header `ring`: the offset from which the dedupe ring is replayed."""
    return _dumps({"schema": _RING_SCHEMA, "first_offset": first_offset})


def decode_ring(payload: bytes) -> int:
    """Return the offset that `encode_ring` wrote.

    Raises:
        UnreadableRecord: the payload has another version, or is not a value of this header.
    """
    return built(
        RING_HEADER, document_of(RING_HEADER, payload), lambda row: int(row["first_offset"])
    )


def is_heartbeat(key: bytes) -> bool:
    """Return True if a record's key belongs to a heartbeat row, such as `~heartbeat|3`."""
    return key.startswith(_HEARTBEATS)


@value
class Beat:
    """The number and commit time (µs since 1970 UTC) of a heartbeat.

    The state of a heartbeat's key contains neither. So the level record of the key has both in its
    header `beat`.
    """

    beat: int
    commit_us: int


def beat_of(record: Record) -> Beat | None:
    """Return the heartbeat in a record, or None for a delete and for a record of another table."""
    if record.table != _HEARTBEAT_TABLE or not isinstance(record.after, dict):
        return None
    return Beat(record.after.get("beat") or 0, record.commit_us)


def encode_beat(beat: Beat) -> bytes:
    """Return the value of the header `beat`, which the level record of a heartbeat has."""
    return _dumps({"schema": _BEAT_SCHEMA, "beat": beat.beat, "commit_us": beat.commit_us})


def beat_in(headers: Headers) -> Beat | None:
    """Return the heartbeat in a record's headers, or None if no header has a heartbeat.

    Raises:
        UnreadableRecord: the payload has another version, or is no heartbeat.
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
    """Return a heartbeat in the format without a version, or None for any other payload.

    Example: `12@1795229285100000` is number 12 at this commit time (µs since 1970 UTC).
    """
    count, at, commit_us = payload.partition(b"@")
    return Beat(int(count), int(commit_us)) if at and count.isdigit() else None


def _dumps(row: dict[str, object]) -> bytes:
    return json.dumps(row, sort_keys=True, separators=(",", ":")).encode()
