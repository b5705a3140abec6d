"""The Parquet files that a task leaves: states, outputs, and whatever else a worker would write.

Expired window rows, heartbeats and their content are what a publication needs beyond the states.
"""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from analytics.digest import add, row_hash

STATES: Final = "states"
OUTPUTS: Final = "outputs"
LATE: Final = "late"
REJECTED: Final = "rejected"
EXPIRED: Final = "expired"  # window rows that no state holds any more, with their last content
HEARTBEATS: Final = "heartbeats"  # states of the partitions' own keys, which are no items
BEATS: Final = "beats"  # the newest content of each heartbeat
_FLUSH_ROWS: Final = 20_000
_READ_ROWS: Final = 1_000  # of whole states: some megabytes, times the units that are merged


def _rows_of(content: str) -> Any:  # noqa: ANN401 -- pyarrow ships no types
    return pa.schema([("key", pa.binary()), ("offset", pa.int64()), (content, pa.binary())])


SCHEMAS: Final[dict[str, Any]] = {
    **{kind: _rows_of("state") for kind in (STATES, HEARTBEATS)},
    **{kind: _rows_of("event") for kind in (OUTPUTS, LATE, REJECTED, EXPIRED, BEATS)},
}


class ResultFile:
    """Rows of one kind; counts and digest grow with every row."""

    def __init__(self, directory: Path, kind: str) -> None:
        self._schema = SCHEMAS[kind]
        self._writer = pq.ParquetWriter(
            directory / f"{kind}.parquet", self._schema, compression="zstd"
        )
        self._rows: list[tuple[bytes, int, bytes]] = []
        self.rows = 0
        self.digest = 0

    def write(self, key: bytes, offset: int, content: bytes) -> None:
        """Keep one row."""
        self._rows.append((key, offset, content))
        self.rows += 1
        self.digest = add(self.digest, row_hash(key, offset.to_bytes(8, "little"), content))
        if len(self._rows) >= _FLUSH_ROWS:
            self._flush()

    def close(self) -> None:
        """Write what waits and finish the file."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            columns = [list(column) for column in zip(*self._rows, strict=True)]
            arrays = dict(zip(self._schema.names, columns, strict=True))
            self._writer.write_table(pa.table(arrays, schema=self._schema))
            self._rows = []


class RunSink:
    """An attempt's own directory: a repeated or killed attempt leaves an orphan, nothing else."""

    def __init__(self, parent: Path, unit_name: str) -> None:
        attempt = f"attempt-{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self.directory = parent / unit_name / attempt
        self.directory.mkdir(parents=True)
        self.files = {kind: ResultFile(self.directory, kind) for kind in SCHEMAS}

    def close(self) -> None:
        """Finish every file."""
        for file in self.files.values():
            file.close()


def read_rows(directory: Path, kind: str) -> Iterator[tuple[bytes, int, bytes]]:
    """Rows (key, offset, content) of one kind that a task left."""
    with pq.ParquetFile(directory / f"{kind}.parquet") as file:
        for batch in file.iter_batches(batch_size=_READ_ROWS):
            columns = [batch.column(index).to_pylist() for index in range(3)]
            yield from zip(*columns, strict=True)
