"""How far a sink has come, kept in the same transaction as the rows it wrote: exactly once."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import psycopg

from streams.sinks.source import Place, SinkRecord

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
_FORGET = "DELETE FROM read_model.sink_position WHERE sink = %s AND NOT topic = ANY(%s)"


def read_positions(connection: Connection, sink: str) -> dict[Place, int]:
    """Next offset of every place this sink has read from."""
    found: dict[Place, int] = {}
    for topic, partition, offset in connection.execute(_READ, (sink,)):
        found[str(topic), int(str(partition))] = int(str(offset))
    return found


def write_positions(
    connection: Connection,
    sink: str,
    batch: Sequence[SinkRecord],
    as_of_us: Mapping[Place, int],
) -> None:
    """Move the positions behind the last record of each place in `batch`."""
    last: dict[Place, int] = {}
    for record in batch:
        last[record.topic, record.partition] = record.offset + 1
    set_positions(connection, sink, last, as_of_us)


def move_positions(connection: Connection, sink: str, next_offsets: Mapping[Place, int]) -> None:
    """Let the sink go on at these places, and at no other: it has left every other topic."""
    connection.execute(_FORGET, (sink, sorted({topic for topic, _ in next_offsets})))
    set_positions(connection, sink, next_offsets)


def set_positions(
    connection: Connection,
    sink: str,
    next_offsets: Mapping[Place, int],
    as_of_us: Mapping[Place, int] = MappingProxyType({}),
) -> None:
    """Let the sink go on at these offsets."""
    places = sorted(next_offsets)
    connection.execute(
        _WRITE,
        (
            sink,
            [topic for topic, _ in places],
            [partition for _, partition in places],
            [next_offsets[place] for place in places],
            [as_of_us.get(place) for place in places],
        ),
    )
