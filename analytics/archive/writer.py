"""Write the archive files of one partition, with the dedupe verdict of each record.

The verdict (new, re-sent, …) needs every record of the partition in order. So the archiver decides
it once and stores it beside the record. A task that reads only one key bucket could not derive it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from analytics.archive.checked import refuse_missing, remove_unlisted
from analytics.archive.entries import broken, file_name
from analytics.archive.former import refuse_lost_manifest
from analytics.archive.manifest import ArchiveFile, Manifest
from analytics.archive.ring import ring_at
from analytics.archive.rows import MALFORMED, ArchiveRow, hash_of, write_once
from analytics.digest import as_hex, total
from cdc.contracts.decode import Malformed, decode
from cdc.contracts.topics import STOCK_EVENTS
from inventory.log.dedupe import Ring
from inventory.model.record import Record

# A roll writes the buffered records as a file. The log keeps every record, and a run that needs
# newer records requests a roll. So a buffered record costs only memory. Frequent rolls would leave
# thousands of tiny files a day, because heartbeats alone bring one record per partition and second.
ROLL_ROWS: Final = 20_000
ROLL_FACTS_AFTER_S: Final = 600.0
ROLL_HEARTBEATS_AFTER_S: Final = 3600.0
HEARTBEAT_TABLE: Final = "pipeline_heartbeat"
_INT64: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class Arrival:
    """A record as the broker delivers it."""

    offset: int
    kafka_timestamp_ms: int
    key: bytes | None
    value: bytes | None


def arrival(message: Any) -> Arrival:  # noqa: ANN401 -- the message class has no public type
    """Return those fields of a Kafka message that the archive stores."""
    return Arrival(
        offset=message.offset(),
        kafka_timestamp_ms=message.timestamp()[1],
        key=message.key(),
        value=message.value(),
    )


@dataclass(slots=True)
class PartitionWriter:
    """A writer of one partition's files. It takes records in offset order.

    After it has written a file, it adds a line for the file to the manifest.
    """

    manifest: Manifest
    partition: int
    generation: int
    ring: Ring = field(default_factory=Ring)
    fact_end: int = 0
    clock: Callable[[], float] = time.monotonic
    _rows: list[ArchiveRow] = field(default_factory=list)
    _oldest_waiting: float = 0.0
    _facts_wait: bool = False

    def restore(self) -> None:
        """Rebuild the dedupe ring from the archived files, so that a restart changes no verdict."""
        files = self.manifest.files(self.partition)
        if not files:
            return
        for file in files:
            self._check(file)
        last = files[-1]
        self.ring = ring_at(
            self.manifest,
            self.partition,
            last.next_offset,
            newest_commit_us=last.newest_commit_us,
            streamed=last.streamed,
        )
        self.fact_end = last.fact_end

    def take(self, arrival: Arrival) -> None:
        """Decide if the record is new or re-sent. Buffer it, and write a full buffer as a file."""
        row = self._admitted(arrival)
        if not self._rows:
            self._oldest_waiting = self.clock()
        self._rows.append(row)
        if row.table != HEARTBEAT_TABLE:
            self.fact_end = row.offset + 1
            self._facts_wait = True
        if len(self._rows) >= ROLL_ROWS:
            self.roll()

    def roll_if_due(self) -> None:
        """Write a file if the oldest buffered record has waited 10 minutes.

        If all buffered records are heartbeats, the limit is 1 hour.
        """
        after_s = ROLL_FACTS_AFTER_S if self._facts_wait else ROLL_HEARTBEATS_AFTER_S
        if self._rows and self.clock() - self._oldest_waiting >= after_s:
            self.roll()

    def roll(self) -> None:
        """Write the buffered records as one file: first its bytes, then its manifest line."""
        if not self._rows:
            return
        first, last = self._rows[0].offset, self._rows[-1].offset
        name = file_name(self.partition, first, last + 1)
        path = self.manifest.directory / name
        size, sha256 = write_once(path, self._rows, topic=STOCK_EVENTS, partition=self.partition)
        self.manifest.append(
            ArchiveFile(
                file=name,
                generation=self.generation,
                partition=self.partition,
                first_offset=first,
                next_offset=last + 1,
                rows=len(self._rows),
                digest=as_hex(total(hash_of(row) for row in self._rows)),
                newest_commit_us=self.ring.newest_commit_us,
                highest_lsn=self.ring.highest_lsn,
                streamed=self.ring.streamed,
                fact_end=self.fact_end,
                bytes=size,
                sha256=sha256,
            )
        )
        self._rows = []
        self._facts_wait = False

    @property
    def next_offset(self) -> int:
        """Return the offset of the next record to take, after all archived and buffered records."""
        if self._rows:
            return self._rows[-1].offset + 1
        return self.manifest.next_offset(self.partition)

    def _check(self, file: ArchiveFile) -> None:
        if file.generation != self.generation:
            problem = (
                f"{self.manifest.directory / file.file} holds records of generation "
                f"{file.generation}, but the topic is of generation {self.generation}"
            )
            raise broken(problem)

    def _admitted(self, arrival: Arrival) -> ArchiveRow:
        try:
            record = decode(arrival.key, arrival.value, offset=arrival.offset)
        except Malformed:
            return _row(arrival, None, MALFORMED)
        admission = self.ring.admit(record).name.lower()
        return _row(arrival, record, admission)


def _row(arrival: Arrival, record: Record | None, admission: str) -> ArchiveRow:
    return ArchiveRow(
        offset=arrival.offset,
        kafka_timestamp_ms=arrival.kafka_timestamp_ms,
        key=arrival.key,
        value=arrival.value,
        table=None if record is None else _text(record.table),
        op=None if record is None else _text(record.op),
        lsn=None if record is None else _int64(record.lsn),
        commit_us=None if record is None else _int64(record.commit_us),
        admission=admission,
    )


def _text(content: str) -> str:
    """Return text that Parquet can store: a lone surrogate of a forged record becomes `?`."""
    return content.encode("utf-8", "replace").decode()


def _int64(number: int | None) -> int | None:
    return number if number is not None and -_INT64 <= number < _INT64 else None


def open_writers(directory: Path, *, partitions: int, generation: int) -> list[PartitionWriter]:
    """Return one writer per partition. Each continues after the partition's last archived record.

    Raises:
        BrokenArchive: manifest, head and files disagree.
    """
    directory.mkdir(parents=True, exist_ok=True)
    refuse_lost_manifest(directory)
    manifest = Manifest(directory)
    manifest.recover()
    refuse_missing(manifest)
    remove_unlisted(manifest)
    writers = [PartitionWriter(manifest, number, generation) for number in range(partitions)]
    for writer in writers:
        writer.restore()
    return writers
