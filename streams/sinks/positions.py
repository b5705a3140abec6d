"""The positions of a sink: its next offset in each partition, in `read_model.sink_position`.

A sink commits its rows and positions in one transaction, so each record takes effect exactly once.
A position is valid only in the topic with the stored id (`streams.sinks.topic_ids`).
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import psycopg

from streams.sinks.source import SinkRecord, TopicAndPartition

Connection = psycopg.Connection[tuple[object, ...]]

_READ = "SELECT topic, partition, next_offset FROM read_model.sink_position WHERE sink = %s"
_WRITE = """
INSERT INTO read_model.sink_position AS kept
    (sink, topic, partition, next_offset, as_of_us, topic_id)
SELECT %s, place.*
FROM unnest(%s::text[], %s::int[], %s::bigint[], %s::bigint[], %s::text[]) AS place
ON CONFLICT (sink, topic, partition) DO UPDATE SET
    next_offset = excluded.next_offset,
    as_of_us = coalesce(excluded.as_of_us, kept.as_of_us),
    topic_id = coalesce(excluded.topic_id, kept.topic_id),
    updated_at = clock_timestamp()
"""
_DELETE_OTHER_TOPICS = (
    "DELETE FROM read_model.sink_position WHERE sink = %s AND NOT topic = ANY(%s)"
)
_READ_IDS = """
SELECT DISTINCT topic, topic_id FROM read_model.sink_position
WHERE sink = %s AND topic_id IS NOT NULL
"""
_WRITE_IDS = """
UPDATE read_model.sink_position AS kept SET topic_id = found.id
FROM unnest(%s::text[], %s::text[]) AS found (topic, id)
WHERE kept.sink = %s AND kept.topic = found.topic AND kept.topic_id IS NULL
"""
_FORGET_IDS = "UPDATE read_model.sink_position SET topic_id = NULL WHERE sink = %s"


def read_positions(connection: Connection, sink: str) -> dict[TopicAndPartition, int]:
    """Return the sink's next offset in each partition that it has read, by (topic, partition)."""
    found: dict[TopicAndPartition, int] = {}
    for topic, partition, offset in connection.execute(_READ, (sink,)):
        found[str(topic), int(str(partition))] = int(str(offset))
    return found


def read_topic_ids(connection: Connection, sink: str) -> dict[str, str]:
    """Return the topic ids that are stored with the sink's positions, by topic name.

    A position is valid only in the topic with this id. Topics without a stored id are left out.
    """
    return {str(topic): str(id_) for topic, id_ in connection.execute(_READ_IDS, (sink,))}


def write_topic_ids(connection: Connection, sink: str, ids: Mapping[str, str]) -> None:
    """Store the topics' `ids` with those positions of the sink that have no topic id yet."""
    connection.execute(_WRITE_IDS, (list(ids), list(ids.values()), sink))


def write_positions(
    connection: Connection,
    sink: str,
    batch: Sequence[SinkRecord],
    as_of_us: Mapping[TopicAndPartition, int],
) -> None:
    """Store the offset after the last record of each partition in `batch`.

    `as_of_us` has the as-of time (µs since 1970 UTC) of the partitions where it is known.
    """
    last: dict[TopicAndPartition, int] = {}
    for record in batch:
        last[record.topic, record.partition] = record.offset + 1
    ids = {record.topic: record.topic_id for record in batch}
    set_positions(connection, sink, last, as_of_us, ids)


def move_positions(
    connection: Connection, sink: str, next_offsets: Mapping[TopicAndPartition, int]
) -> None:
    """Store `next_offsets`, and delete the sink's positions in all other topics.

    The stored topic ids are deleted, too: they may be of former topics with the same names, from
    which the caller has not read these offsets.
    """
    connection.execute(_DELETE_OTHER_TOPICS, (sink, sorted({topic for topic, _ in next_offsets})))
    connection.execute(_FORGET_IDS, (sink,))
    set_positions(connection, sink, next_offsets)


def set_positions(
    connection: Connection,
    sink: str,
    next_offsets: Mapping[TopicAndPartition, int],
    as_of_us: Mapping[TopicAndPartition, int] = MappingProxyType({}),
    ids: Mapping[str, str | None] = MappingProxyType({}),
) -> None:
    """Store the sink's next offsets, with as-of times (µs since 1970 UTC) and topic ids.

    If `as_of_us` lacks a partition, its former as-of time is kept. If `ids` lacks a topic, the
    former id is kept.
    """
    tps = sorted(next_offsets)
    connection.execute(
        _WRITE,
        (
            sink,
            [topic for topic, _ in tps],
            [partition for _, partition in tps],
            [next_offsets[tp] for tp in tps],
            [as_of_us.get(tp) for tp in tps],
            [ids.get(topic) for topic, _ in tps],
        ),
    )
