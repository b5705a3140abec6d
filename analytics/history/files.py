"""Parquet files of the tables: one per table and partition, each complete or absent.

A group is the tables that belong together: those of the log up to an offset, or those of one run.
After all files of one partition are written, a marker lists them with their sizes. A group is
complete if each partition has a marker with the group's `content`. So an interrupted command
continues with the next partition, and a repeated one writes nothing.
"""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from analytics.history.columns import HistoryTable

# Number of rows of a row group. More rows make scans faster. With fewer rows, a query can skip more
# groups by the minimum and maximum of a column.
_GROUP_ROWS: Final = 50_000
# Columns of whole records: minimum and maximum help no query and are as long as the records.
_WITHOUT_STATISTICS: Final = frozenset({"value", "detail"})
_TEMPORARY: Final = ".part-0.tmp"  # one writer at a time: the caller holds the group's lock


@dataclass(frozen=True, slots=True)
class Group:
    """Tables in one directory. `content` is a digest of the source that the tables were made of."""

    name: str
    directory: Path
    tables: Sequence[HistoryTable]
    partitions: Sequence[int]
    content: str

    def path(self, table: str, partition: int) -> Path:
        """Return the file of one table and partition."""
        return self.directory / table / f"partition={partition}" / "part-0.parquet"

    def files(self, table: str) -> list[str]:
        """Return the files of one table, in the order of `partitions`."""
        return [str(self.path(table, partition).resolve()) for partition in self.partitions]

    def missing(self) -> list[int]:
        """Return the partitions that have to be written."""
        return [number for number in self.partitions if not self._is_written(number)]

    def mark(self, partition: int, rows: Mapping[str, int]) -> None:
        """Write the marker of a partition whose files are complete."""
        sizes = {name: self.path(name, partition).stat().st_size for name in rows}
        marker = {"content": self.content, "rows": dict(rows), "bytes": sizes}
        _write(self._marker(partition), json.dumps(marker, sort_keys=True, indent=1).encode())

    def rows(self) -> dict[str, int]:
        """Return the number of rows of each table; the group must be complete."""
        markers = [self._read(partition) or {"rows": {}} for partition in self.partitions]
        return {
            table.name: sum(marker["rows"].get(table.name, 0) for marker in markers)
            for table in self.tables
        }

    def size(self) -> int:
        """Return the bytes of all files; the group must be complete."""
        markers = (self._read(partition) or {"bytes": {}} for partition in self.partitions)
        return sum(sum(marker["bytes"].values()) for marker in markers)

    def _marker(self, partition: int) -> Path:
        return self.directory / "_written" / f"{self.name}-{partition}.json"

    def _read(self, partition: int) -> dict[str, Any] | None:
        try:
            found = json.loads(self._marker(partition).read_bytes())
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def _is_written(self, partition: int) -> bool:
        marker = self._read(partition)
        if marker is None or marker.get("content") != self.content:
            return False
        sizes = marker.get("bytes", {})
        names = (table.name for table in self.tables)
        return all(_size(self.path(name, partition)) == sizes.get(name, -1) for name in names)


class TableFile:
    """A writer of one table's file of one partition, under a temporary name until `close`."""

    def __init__(self, group: Group, table: HistoryTable, partition: int) -> None:
        self.rows = 0
        self._path = group.path(table.name, partition)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._temporary = self._path.with_name(_TEMPORARY)
        self._waiting = [table.schema.empty_table()]
        self._waiting_rows = 0
        counted = [name for name in table.names if name not in _WITHOUT_STATISTICS]
        try:
            self._writer = pq.ParquetWriter(
                self._temporary, table.schema, compression="zstd", write_statistics=counted
            )
        except OSError:  # a full disk
            self._temporary.unlink(missing_ok=True)
            raise

    def write(self, rows: Any) -> None:  # noqa: ANN401 -- pyarrow ships no types
        """Add the rows of an Arrow table."""
        self.rows += rows.num_rows
        self._waiting.append(rows)
        self._waiting_rows += rows.num_rows
        if self._waiting_rows >= _GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        """Finish the file and give it its name."""
        self._flush()
        self._writer.close()
        with self._temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        self._temporary.replace(self._path)

    def abandon(self) -> None:
        """Delete the unfinished file. Ignore errors of its end, for example on a full disk."""
        with suppress(OSError, pa.ArrowException):
            self._writer.close()
        self._temporary.unlink(missing_ok=True)

    def _flush(self) -> None:
        self._writer.write_table(pa.concat_tables(self._waiting), row_group_size=_GROUP_ROWS)
        self._waiting = self._waiting[:1]
        self._waiting_rows = 0


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    try:
        temporary.write_bytes(content)
    except OSError:  # a full disk
        temporary.unlink(missing_ok=True)
        raise
    temporary.replace(path)
