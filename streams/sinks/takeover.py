"""The read model shows one logic revision: what the projector does when it is not its own.

Rows of two revisions must not stand side by side: a window or a key that only the former knew would
stay for ever. So the projector empties the tables and reads its changelogs, which hold every key,
from their beginning. That takes what a restore takes; the operator who starts other code over the
same database has asked for it.
"""

from collections.abc import Sequence
from typing import LiteralString

import structlog

from streams.sinks.positions import Connection

log = structlog.get_logger(__name__)

_FOREIGN: LiteralString = """
SELECT DISTINCT topic FROM read_model.sink_position WHERE sink = %s AND NOT topic = ANY(%s)
"""
_FORGET: LiteralString = "DELETE FROM read_model.sink_position WHERE sink = %s"
_EMPTIED: tuple[LiteralString, ...] = (
    "DELETE FROM read_model.stock",
    "DELETE FROM read_model.sales_window",
    "DELETE FROM read_model.late_sale",
    "DELETE FROM read_model.rejected",
    "DELETE FROM read_model.heartbeat",
)


def take_over(connection: Connection, sink: str, topics: Sequence[str]) -> bool:
    """Empty the read model if topics of another revision filled it; gives whether they had.

    Positions of the sink in any other topic are the evidence, and go with the rows.
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
