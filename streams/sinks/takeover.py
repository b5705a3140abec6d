"""Reset of the read model when another logic revision filled it. It shows one revision only.

Rows of two revisions must not be mixed: a window or key that only the former one had would stay for
ever. The projector therefore empties the tables and reads its changelogs, which hold every key,
from the beginning. That takes as long as a restore. The operator who starts other code on the same
database has requested it.
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
_FORGET: LiteralString = "DELETE FROM read_model.sink_position WHERE sink = %s"
_EMPTIED: Final = tuple(
    sql.SQL("DELETE FROM {}").format(sql.Identifier(*table.split(".")))
    for table in tables.FROM_THE_LOG
)


def take_over(connection: Connection, sink: str, topics: Sequence[str]) -> bool:
    """Empty the read model if topics of another revision filled it. Return True if so.

    The evidence is positions of the sink in other topics. They are deleted with the rows.
    """
    with connection.transaction():
        foreign = [str(row[0]) for row in connection.execute(_FOREIGN, (sink, list(topics)))]
        if foreign:
            empty(connection)
            connection.execute(_FORGET, (sink,))
    if foreign:
        log.warning("read model begun again", filled_by=sorted(foreign))
    return bool(foreign)


def empty(connection: Connection) -> None:
    """Delete every row that comes from the log, in the caller's transaction."""
    for statement in _EMPTIED:
        connection.execute(statement)
