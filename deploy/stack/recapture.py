"""Steps in Postgres before a new capture, and the check that the capture is complete.

If a capture fails, the connector starts again by itself. It makes a second snapshot, but uses the
slot of the first attempt. So a row written between the two attempts is in the snapshot and in the
stream, and workers would count it twice. The connector does not report this. But then the log has
more records than Postgres has rows.
"""

import time
from collections.abc import Iterable, Sequence
from typing import Final, LiteralString

import psycopg
from psycopg import sql

from analytics.kafka import end_offsets
from cdc.capture.client import SLOT, ConnectClient, wait_captured, wait_streaming
from cdc.capture.source import clear_publication
from cdc.contracts.partition import partition_of
from cdc.contracts.topics import CAPTURED, PARTITIONS, REFERENCE, REFERENCE_TABLES, STOCK_EVENTS
from cdc.deciding import recorded_revision
from deploy.errors import StackError
from deploy.stack.generation import OWN_RULES, PREPARE, Generation, captured
from deploy.stack.home import Home
from inventory.log.dedupe import MOST_MEMBERS
from inventory.revision import LOGIC_REVISION
from streams.sinks.active import Switch, switch
from streams.sinks.positions import Connection
from streams.sinks.takeover import empty

_CAPTURED_WITHIN_S: Final = 4 * 3_600.0
_COUNTED_WITHIN_S: Final = 60.0
_POLL_S: Final = 0.1
_FORGET: Final[tuple[LiteralString, ...]] = (
    # The slot's position in the write-ahead log belongs to the former topics.
    """SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
    WHERE slot_name = %(slot)s""",
    "DELETE FROM read_model.sink_position",
    # Keys that still need stock get new proposals, under ids of the new generation.
    """UPDATE app.reorder_proposal
    SET status = 'superseded', reason = 'generation', updated_at = clock_timestamp()
    WHERE status IN ('open', 'snoozed')""",
    """UPDATE app.price_proposal
    SET status = 'cancelled', reason = 'generation', updated_at = clock_timestamp()
    WHERE status IN ('open', 'snoozed')""",
)
# A row of the snapshot is no change, so the rules decide nothing for it. Therefore each policy is
# written once more with the same values, without its triggers. This change makes the rules decide.
_DECIDE_AGAIN: Final[tuple[LiteralString, ...]] = (
    "SET LOCAL session_replication_role = replica",
    "UPDATE retail.item_location SET status = status",
)


def refuse_too_many(database_url: str, most: int = MOST_MEMBERS) -> None:
    """Raise `StackError` if a partition would get more than `most` captured rows.

    During a snapshot the dedupe ring deletes no identity. With more rows than it can hold, every
    worker of the partition would stop.
    """
    counts = [0] * PARTITIONS
    with psycopg.connect(database_url) as connection, connection.cursor("keys") as keys:
        statement = "SELECT inv_key, count(*) FROM ({}) AS captured GROUP BY inv_key"
        keys.execute(sql.SQL(statement).format(_each("SELECT inv_key FROM {}", CAPTURED)))
        for key, rows in keys:
            counts[partition_of(key.encode(), PARTITIONS)] += rows
    if max(counts) > most:
        number = counts.index(max(counts))
        message = (
            f"{STOCK_EVENTS}[{number}] would get {max(counts)} captured rows of {sum(counts)}, but "
            f"a worker accepts at most {most} per partition; nothing was captured"
        )
        raise StackError(message)


def forget_former_topics(database_url: str, coming: Generation) -> None:
    """Delete everything that Postgres stores about the former topics, in one transaction.

    If another logic revision decides, and a person has asked to change that, also make this
    stack's revision decide.

    Raises:
        StackError: another logic revision decides, and no person has asked to change that.
    """
    with psycopg.connect(database_url) as connection:
        _let_own_rules_decide(connection, coming)
        # Offsets start again at 0, so rows of the former generation could look newer than new ones.
        empty(connection)
        clear_publication(connection)
        for statement in _FORGET:
            connection.execute(statement, {"slot": SLOT})


def _let_own_rules_decide(connection: Connection, coming: Generation) -> None:
    """Make this stack's logic revision decide, because only its workers will read the new log.

    Change nothing if it decides already. The switch records no comparison, because the other
    revision's decisions were lost with its topics.

    Raises:
        StackError: another revision decides, and no person has asked to change that.
    """
    decides = recorded_revision(connection)
    if decides in (None, LOGIC_REVISION):
        return
    if not coming.own_rules:
        message = (
            f"logic revision {decides} decides, but the workers of this stack have revision "
            f"{LOGIC_REVISION}. No worker of the deciding revision would read the new log, so no "
            "reorder or price would follow from it. Nothing was captured"
        )
        raise StackError(message, repair=OWN_RULES)
    by = f"{coming.own_rules}, generation {coming.number}"
    switch(connection, Switch(LOGIC_REVISION, decides, by, reached={}, comparison={}))


def wait_complete(client: ConnectClient, database_url: str, bootstrap: str) -> None:
    """Wait until the log has each row exactly once.

    Raises:
        CaptureError: the connector failed, or took more than 4 hours.
        StackError: the log has more records than Postgres has rows, or still fewer after 60 s.
    """
    wait = wait_captured if _rows(database_url) else wait_streaming
    wait(client, database_url, timeout_s=_CAPTURED_WITHIN_S)
    deadline = time.monotonic() + _COUNTED_WITHIN_S
    # A row that was just written is in Postgres before it is in the log.
    while (records := _records(bootstrap)) < (rows := _rows(database_url)):
        if time.monotonic() > deadline:
            break
        time.sleep(_POLL_S)
    if records != rows:
        message = (
            f"{records} records were captured, but Postgres has {rows} rows. The capture was "
            "interrupted, or a client wrote to Postgres meanwhile. Postgres keeps all rows"
        )
        raise StackError(message, repair=PREPARE)


def finish(home: Home, database_url: str) -> None:
    """Make the rules decide about every key again. Record that the capture has finished."""
    with psycopg.connect(database_url) as connection:
        for statement in _DECIDE_AGAIN:
            connection.execute(statement)
    captured(home)


def _rows(database_url: str) -> int:
    counts = _each("SELECT count(*) AS n FROM {}", (*CAPTURED, *REFERENCE_TABLES))
    with psycopg.connect(database_url) as connection:
        found = connection.execute(sql.SQL("SELECT sum(n) FROM ({}) AS counts").format(counts))
        [(rows,)] = found.fetchall()
    return int(rows)


def _each(statement: LiteralString, tables: Iterable[str]) -> sql.Composed:
    """Return `statement` once for each table, combined with UNION ALL."""
    parts = [sql.SQL(statement).format(sql.Identifier("retail", table)) for table in tables]
    return sql.SQL(" UNION ALL ").join(parts)


def _records(bootstrap: str) -> int:
    topics: Sequence[tuple[str, int]] = [(STOCK_EVENTS, PARTITIONS), *((t, 1) for t in REFERENCE)]
    return sum(sum(end_offsets(bootstrap, *topic).values()) for topic in topics)
