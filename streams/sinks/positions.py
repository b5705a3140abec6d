"""The positions of a sink, stored in `read_model.sink_position` with the rows that it writes.

Rows and positions are one transaction, so each record takes effect exactly once.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import psycopg

from streams.sinks.source import SinkRecord, TopicAndPartition

Connection = psycopg.Connection[tuple[object, ...]]

_READ = "SELECT topic, partition, next_offset FROM read_model.sink_position WHERE sink = %s"
_WRITE = """
INSERT INTO read_model.sink_position AS kept (sink, topic, partition, next_offset, as_of_us)
SELECT %s, place.* FROM unnest(%s::text[], %s::int[], %s::bigint[], %s::bigint[]) AS place
ON CONFLICT (sink, topic, partition) DO UPDATE SET
    next_offset = excluded.next_offset,
    as_of_us = coalesce(excluded.as_of_us, kept.as_of_us),
    updated_at = clock_timestamp()
"""
_DELETE_OTHER_TOPICS = (
    "DELETE FROM read_model.sink_position WHERE sink = %s AND NOT topic = ANY(%s)"
)


def read_positions(connection: Connection, sink: str) -> dict[TopicAndPartition, int]:
    """Return the sink's next offset in each partition that it has read from."""
    found: dict[TopicAndPartition, int] = {}
    for topic, partition, offset in connection.execute(_READ, (sink,)):
        found[str(topic), int(str(partition))] = int(str(offset))
    return found


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
    set_positions(connection, sink, last, as_of_us)


def move_positions(
    connection: Connection, sink: str, next_offsets: Mapping[TopicAndPartition, int]
) -> None:
    """Store `next_offsets`, and delete the sink's positions in all other topics."""
    connection.execute(_DELETE_OTHER_TOPICS, (sink, sorted({topic for topic, _ in next_offsets})))
    set_positions(connection, sink, next_offsets)


def set_positions(
    connection: Connection,
    sink: str,
    next_offsets: Mapping[TopicAndPartition, int],
    as_of_us: Mapping[TopicAndPartition, int] = MappingProxyType({}),
) -> None:
    """Store the sink's next offsets. A partition without `as_of_us` keeps its former as-of time."""
    tps = sorted(next_offsets)
    connection.execute(
        _WRITE,
        (
            sink,
            [topic for topic, _ in tps],
            [partition for _, partition in tps],
            [next_offsets[tp] for tp in tps],
            [as_of_us.get(tp) for tp in tps],
        ),
    )
