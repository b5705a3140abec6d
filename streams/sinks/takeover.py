"""The reset of the read model for another logic revision.

The read model must not mix rows of two revisions: rows that only the former revision has would
remain for ever. The projector therefore empties the tables if another revision filled them. It then
reads the changelogs of its own revision, which have every key, from the beginning. That takes as
long as a restore.
"""

from collections.abc import Sequence
from typing import Final, LiteralString

import structlog
from psycopg import sql

from cdc.contracts import tables
from streams.sinks.positions import Connection

log = structlog.get_logger(__name__)

_FOREIGN: LiteralString = """
SELECT DISTINCT topic FROM read_model.sink_position WHERE sink = %s AND NOT topic = ANY(%s)
"""
_DELETE_POSITIONS: LiteralString = "DELETE FROM read_model.sink_position WHERE sink = %s"
_EMPTIED: Final = tuple(
    sql.SQL("DELETE FROM {}").format(sql.Identifier(*table.split(".")))
    for table in tables.FROM_THE_LOG
)


def take_over(connection: Connection, sink: str, topics: Sequence[str]) -> bool:
    """Empty the read model if the sink has read other topics than `topics`. Return True if emptied.

    The sink's stored positions show the topics that it has read. If the read model is emptied, the
    positions are deleted too.
    """
    with connection.transaction():
        foreign = [str(row[0]) for row in connection.execute(_FOREIGN, (sink, list(topics)))]
        if foreign:
            empty(connection)
            connection.execute(_DELETE_POSITIONS, (sink,))
    if foreign:
        log.warning("read model emptied", filled_by=sorted(foreign))
    return bool(foreign)


def empty(connection: Connection) -> None:
    """Delete all rows of the read model that come from the log, in the caller's transaction."""
    for statement in _EMPTIED:
        connection.execute(statement)
