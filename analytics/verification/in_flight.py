"""Facts in the database snapshot and not in the cut (`verification.cut`), or the reverse.

Trade continues while `verify` reads, so some committed rows are not in the workers' state yet. For
each of them the SQL sums use the row's image at the cut in place of the row in Postgres.

1. `start` is taken before the wait for the pipeline: the ends of `stock.events`, and a snapshot.
   When the wait is over, every change that this snapshot sees has been applied. A later record of
   such a change is a duplicate and changes nothing.
2. The second snapshot is taken after the wait. The log is read from the ends of step 1 until each
   partition has a heartbeat whose transaction began after the second snapshot. One connector task
   emits in commit order, so every record that the second snapshot sees has arrived by then.
3. The second snapshot may see the change of a record after the cut. Then the sums use the image
   before that change. Conversely, the change of a record before the cut may still be invisible to
   the second snapshot, because the transaction is still ending. Then the sums use the image after
   that change.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
import psycopg
from confluent_kafka import TopicPartition

from analytics import kafka
from analytics.verification.barrier import NotCaughtUp
from analytics.verification.cut import Cut
from analytics.verification.snapshot import Snapshot, current_snapshot
from cdc.contracts.decode import TIMESTAMP_COLUMNS, Malformed, decode
from cdc.contracts.topics import STOCK_EVENTS
from cdc.settings import Connections
from inventory.model.record import Record

_HEARTBEAT: Final = "pipeline_heartbeat"

Row = tuple[str, int]  # table and id
Image = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Start:
    """Log end offsets and a Postgres snapshot, read before a comparison waits for the pipeline."""

    ends: Mapping[int, int]
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Logged:
    """One record of the log with its partition and the id of its transaction."""

    record: Record
    partition: int
    xid: int
    row: Row

    @property
    def identity(self) -> tuple[Row, int | None, str]:
        """Return the identity of the change. A re-sent record has the same identity."""
        return self.row, self.record.lsn, self.record.op


@dataclass(slots=True)
class Moved:
    """A row's different images at the cut and in the snapshot; None where the row doesn't exist."""

    at_cut: Image | None
    in_snapshot: Image | None


def take_start(connection: psycopg.Connection, settings: Connections) -> Start:
    """Return the start of a comparison: first the ends of the log, then the snapshot."""
    ends = kafka.end_offsets(settings.kafka_bootstrap, STOCK_EVENTS, settings.partitions)
    return Start(ends, current_snapshot(connection))


def rows_in_flight(
    settings: Connections, start: Start, snapshot: Snapshot, cut: Cut, timeout_s: float
) -> dict[Row, Moved]:
    """Return every row whose image at the cut differs from the one in the snapshot.

    Raises:
        NotCaughtUp: no heartbeat of a later transaction came in time.
    """
    return moved(_records(settings, start, snapshot, timeout_s), start.snapshot, snapshot, cut)


def moved(
    records: Iterable[Logged], applied: Snapshot, snapshot: Snapshot, cut: Cut
) -> dict[Row, Moved]:
    """Return the rows that differ between the cut and the snapshot, with both images.

    `records` are in the order of the log. `applied` is an earlier snapshot: everything that it sees
    is before the cut.
    """
    found: dict[Row, Moved] = {}
    known: set[tuple[Row, int | None, str]] = set()
    for one in records:
        before, after = _image(one.record.before), _image(one.record.after)
        if cut.holds(one.record.key, one.partition, one.record.offset):
            known.add(one.identity)
            if not snapshot.sees(one.xid) and not snapshot.is_later(one.xid):
                found.setdefault(one.row, Moved(None, before)).at_cut = after
        elif snapshot.sees(one.xid) and not applied.sees(one.xid) and one.identity not in known:
            known.add(one.identity)
            found.setdefault(one.row, Moved(before, None)).in_snapshot = after
    return found


def _records(
    settings: Connections, start: Start, snapshot: Snapshot, timeout_s: float
) -> Iterator[Logged]:
    deadline = time.monotonic() + timeout_s
    waiting = set(start.ends)
    client = kafka.consumer(settings.kafka_bootstrap)
    try:
        client.assign([TopicPartition(STOCK_EVENTS, n, at) for n, at in start.ends.items()])
        while waiting:
            for message in kafka.records(client):
                if message.error() is None and message.partition() in waiting:
                    one = _logged(message)
                    if one is None:
                        continue
                    if one.row[0] == _HEARTBEAT and snapshot.is_later(one.xid):
                        waiting.discard(message.partition())
                    else:
                        yield one
            if waiting and time.monotonic() > deadline:
                behind = {
                    f"partition {n}": "no heartbeat captured after the snapshot"
                    for n in sorted(waiting)
                }
                raise NotCaughtUp({"heartbeats": behind}, timeout_s)
    finally:
        client.close()


def _logged(message: Any) -> Logged | None:  # noqa: ANN401 -- the client has no types
    """Return the record; None if it is malformed or has no row id or transaction id."""
    try:
        record = decode(message.key(), message.value(), offset=message.offset())
    except Malformed:
        return None
    xid = orjson.loads(message.value())["source"].get("txId")
    image = _image(record.after) or _image(record.before) or {}
    row_id = image.get("id")
    if type(xid) is not int or type(row_id) is not int or record.table not in TIMESTAMP_COLUMNS:
        return None
    return Logged(record, message.partition(), xid, (record.table, row_id))


def _image(found: object) -> Image | None:
    return found if isinstance(found, dict) else None
