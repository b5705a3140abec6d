"""`python -m streams.sinks.projector`: a sink that fills the read model.

It reads the changelogs, late sales and rejected records. It writes rows and positions in one
transaction, so each record takes effect exactly once. If a batch has several levels of a key or
several rows of a window, the projector writes only the last one.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from time import time_ns

import structlog

from cdc.contracts.progress import beat_in, is_heartbeat, progress_in
from cdc.contracts.rejects import decode_late, decode_rejection
from cdc.contracts.state import decode_window
from cdc.contracts.topics import (
    ON_HAND_CHANGELOG,
    SALES_WINDOWS_CHANGELOG,
    STOCK_LATE,
    STOCK_REJECTED,
)
from cdc.contracts.versions import with_position
from inventory.model.value import value
from streams.settings import SinkSettings
from streams.sinks import rows
from streams.sinks.positions import Connection, write_positions
from streams.sinks.process import main
from streams.sinks.source import SinkRecord, TopicAndPartition
from streams.sinks.takeover import take_over
from streams.sinks.upsert import Row, upsert

SECOND_NS = 1_000_000_000
TOPICS = (ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG, STOCK_LATE, STOCK_REJECTED)

log = structlog.get_logger(__name__)


@value
class Latest:
    """The records of a batch that the projector writes.

    `levels` has the last level of each key, `windows` the last row of each window, and `beats` the
    last heartbeat of each partition. `lates` and `rejections` have all late sales and rejected
    records, by index in the batch.
    """

    levels: dict[bytes, SinkRecord]
    beats: dict[int, SinkRecord]
    windows: dict[bytes, SinkRecord]
    lates: dict[int, Row]
    rejections: dict[int, Row]


class Projector:
    """The sink that fills the tables of the read model from the log."""

    name = "projector"
    most_records = 200_000

    def __init__(self) -> None:
        self._as_of_us: dict[int, int] = {}

    def topics(self, connection: Connection) -> Sequence[str]:
        """Return the topics of this code's logic revision.

        If another revision filled the read model, empty the read model first (`takeover`).
        """
        take_over(connection, self.name, TOPICS)
        return TOPICS

    def write(self, connection: Connection, batch: Sequence[SinkRecord]) -> None:
        """Write the batch's rows and the positions after it, in the caller's transaction.

        Raises:
            UnreadableRecord: names the position of a record that this code can't read.
        """
        latest = self._latest(batch)
        upsert(connection, rows.LATE_SALE, list(latest.lates.values()))
        upsert(connection, rows.REJECTED, list(latest.rejections.values()))
        upsert(connection, rows.STOCK, _rows(self._stock_row, latest.levels.values()))
        upsert(connection, rows.SALES_WINDOW, _rows(_window_row, latest.windows.values()))
        upsert(connection, rows.HEARTBEAT, _rows(_beat_row, latest.beats.values()))
        write_positions(connection, self.name, batch, self._as_of(batch))

    def _latest(self, batch: Sequence[SinkRecord]) -> Latest:
        latest = Latest({}, {}, {}, {}, {})
        for index, record in enumerate(batch):
            with with_position(record):
                self._take(index, record, latest)
        return latest

    def _take(self, index: int, record: SinkRecord, latest: Latest) -> None:
        if record.value is None:
            log.warning("tombstone ignored", topic=record.topic, offset=record.offset)
        elif record.topic == ON_HAND_CHANGELOG:
            self._take_level(record, latest)
        elif record.topic == SALES_WINDOWS_CHANGELOG:
            latest.windows[record.key or b""] = record
        elif record.topic == STOCK_LATE:
            latest.lates[index] = rows.late_row(decode_late(record.value))
        else:
            latest.rejections[index] = rows.rejected_row(decode_rejection(record.value))

    def _take_level(self, record: SinkRecord, latest: Latest) -> None:
        key = record.key or b""
        if is_heartbeat(key):
            latest.beats[record.partition] = record
        else:
            latest.levels[key] = record
        progress = progress_in(record.headers)
        if progress is not None and progress.newest_commit_us is not None:
            self._as_of_us[record.partition] = progress.newest_commit_us

    def _stock_row(self, record: SinkRecord) -> Row:
        as_of_us = self._as_of_us.get(record.partition)
        return rows.stock_row(record.value or b"", record.partition, as_of_us)

    def _as_of(self, batch: Sequence[SinkRecord]) -> dict[TopicAndPartition, int]:
        return {
            (record.topic, record.partition): self._as_of_us[record.partition]
            for record in batch
            if record.topic == ON_HAND_CHANGELOG and record.partition in self._as_of_us
        }


def _rows(make: Callable[[SinkRecord], Row | None], records: Iterable[SinkRecord]) -> list[Row]:
    """Return the results of `make` for `records`, without those that are None.

    Raises:
        UnreadableRecord: names the position of a record that this code can't read.
    """
    made: list[Row] = []
    for record in records:
        with with_position(record):
            row = make(record)
        if row is not None:
            made.append(row)
    return made


def _window_row(record: SinkRecord) -> Row | None:
    """Return the table row for a window, or None if the window never had a sale or return line.

    A window without such lines has only other movements, for example receipts.
    """
    key, row, position = decode_window(record.value or b"")
    return rows.window_row(key, row, position, record.partition) if row.had_line else None


def _beat_row(record: SinkRecord) -> Row | None:
    beat = beat_in(record.headers)
    if beat is None:
        return None
    return {
        "partition": record.partition,
        "beat": beat.beat,
        "commit_us": beat.commit_us,
        "applied_at": datetime.fromtimestamp(time_ns() / SECOND_NS, tz=UTC),
    }


def create(_settings: SinkSettings) -> Projector:
    """Return the sink. It has no settings of its own."""
    return Projector()


if __name__ == "__main__":
    main(create)
