"""The Parquet files that a task writes: states, outputs, late sales and rejected records.

Publications need further files: the expired window rows, and the state and the newest heartbeat of
each heartbeat key.
"""

import hashlib
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from analytics.damage import Damage
from analytics.digest import add, row_hash
from analytics.engines.unit import ManifestRow, Written

STATES: Final = "states"
OUTPUTS: Final = "outputs"
LATE: Final = "late"
REJECTED: Final = "rejected"
EXPIRED: Final = "expired"  # window rows that left their key's state, with their last content
HEARTBEATS: Final = "heartbeats"  # states of heartbeat keys, which belong to no item
BEATS: Final = "beats"  # content of the newest heartbeat of each heartbeat key
_FLUSH_ROWS: Final = 20_000
_READ_ROWS: Final = 1_000  # some megabytes of states; a merge holds one batch of each file


def _rows_of(content: str) -> Any:  # noqa: ANN401 -- pyarrow ships no types
    return pa.schema([("key", pa.binary()), ("offset", pa.int64()), (content, pa.binary())])


SCHEMAS: Final[dict[str, Any]] = {
    **{kind: _rows_of("state") for kind in (STATES, HEARTBEATS)},
    **{kind: _rows_of("event") for kind in (OUTPUTS, LATE, REJECTED, EXPIRED, BEATS)},
}


class DamagedResult(Damage):
    """A result file of a run differs from what its unit wrote."""


class _Hashed:
    """File for pyarrow that hashes each byte it is given, before it writes the byte to disk."""

    def __init__(self, path: Path) -> None:
        self._stream = path.open("wb")
        self._hash = hashlib.sha256()
        self.bytes = 0

    def write(self, content: bytes) -> int:
        """Hash and write `content`. Return the number of bytes written."""
        self._hash.update(content)
        self.bytes += len(content)
        return self._stream.write(content)

    def flush(self) -> None:
        """Flush to the operating system."""
        self._stream.flush()

    def close(self) -> None:
        """Flush to the disk and close the file. pyarrow may call this twice."""
        if not self._stream.closed:
            # A commit may follow. After a power failure it must not name files without content.
            try:
                self._stream.flush()
                os.fsync(self._stream.fileno())
            finally:  # on a full disk an open file would keep its space after it is deleted
                self._stream.close()

    @property
    def closed(self) -> bool:
        """Return True after `close`; pyarrow expects this of a file."""
        return self._stream.closed

    def sha256(self) -> str:
        """Return the hash of all bytes passed to `write`."""
        return self._hash.hexdigest()


class ResultFile:
    """A writer of the file with all rows of one kind, for example `states`.

    `rows` counts its rows. `digest` is the sum of their hashes.
    """

    def __init__(self, directory: Path, kind: str) -> None:
        self._schema = SCHEMAS[kind]
        self._stream = _Hashed(directory / f"{kind}.parquet")
        self._writer = pq.ParquetWriter(self._stream, self._schema, compression="zstd")
        self._rows: list[tuple[bytes, int, bytes]] = []
        self.rows = 0
        self.digest = 0

    def write(self, key: bytes, offset: int, content: bytes) -> None:
        """Buffer one row. Write the buffer to the file when it has 20,000 rows."""
        self._rows.append((key, offset, content))
        self.rows += 1
        self.digest = add(self.digest, row_hash(key, offset.to_bytes(8, "little"), content))
        if len(self._rows) >= _FLUSH_ROWS:
            self._flush()

    def close(self) -> None:
        """Write the buffered rows and finish the file."""
        self._flush()
        self._writer.close()
        self._stream.close()

    def abandon(self) -> None:
        """Close the file, complete or not, and ignore errors."""
        with suppress(OSError, pa.ArrowException):
            self._writer.close()
        with suppress(OSError):
            self._stream.close()

    def written(self) -> Written:
        """Return size, rows and checksum of the closed file."""
        return Written(self._stream.bytes, self.rows, self._stream.sha256())

    def _flush(self) -> None:
        if self._rows:
            columns = [list(column) for column in zip(*self._rows, strict=True)]
            arrays = dict(zip(self._schema.names, columns, strict=True))
            self._writer.write_table(pa.table(arrays, schema=self._schema))
            self._rows = []


class RunSink:
    """A writer of the result files of one attempt to compute a unit, one file per kind of rows.

    A killed attempt leaves its directory with the files.
    """

    def __init__(self, parent: Path, unit_name: str) -> None:
        attempt = f"attempt-{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self.directory = parent / unit_name / attempt
        self.directory.mkdir(parents=True)
        self.files = {kind: ResultFile(self.directory, kind) for kind in SCHEMAS}

    def close(self) -> None:
        """Finish every file."""
        for file in self.files.values():
            file.close()

    def abandon(self) -> None:
        """Delete the files of a failed attempt: the disk may be full, and no reader uses them."""
        for file in self.files.values():
            file.abandon()
        shutil.rmtree(self.directory, ignore_errors=True)


def read_rows(row: ManifestRow, kind: str) -> Iterator[tuple[bytes, int, bytes]]:
    """Check the file of one kind of a finished unit. Yield its rows (key, offset, content).

    Raises:
        DamagedResult: the file is missing, or differs from what the unit wrote.
    """
    with _checked(row, kind) as stream:
        yield from _rows(stream)


def read_unlisted(directory: Path, kind: str) -> Iterator[tuple[bytes, int, bytes]]:
    """Yield the rows of a file that this process wrote and no manifest lists."""
    with (directory / f"{kind}.parquet").open("rb") as stream:
        yield from _rows(stream)


def checked_path(row: ManifestRow, kind: str) -> Path:
    """Check a result file. Return its path, for readers that open the file themselves.

    Raises:
        DamagedResult: the file is missing, or differs from what the unit wrote.
    """
    with _checked(row, kind) as stream:
        return Path(stream.name)


def refuse_damaged(rows: Iterable[ManifestRow]) -> None:
    """Raise `DamagedResult` unless each unit's directory has exactly the files of this unit."""
    for row in rows:
        for kind in SCHEMAS:
            checked_path(row, kind)
        expected = {f"{kind}.parquet" for kind in SCHEMAS}
        extra = sorted({path.name for path in Path(row.directory).iterdir()} - expected)
        if extra:
            problem = f"{row.directory}: {extra[0]} is no result of {row.unit}"
            raise _damaged(row, problem)


def _checked(row: ManifestRow, kind: str) -> BufferedReader:
    """Open a result file. Compare size, rows and checksum with those in `row`.

    Return the open file, so that later reads read the bytes that were checked.
    """
    path = Path(row.directory) / f"{kind}.parquet"
    expected = row.files.get(kind)
    if expected is None:
        problem = f"{path}: its unit lists no checksum: an earlier release wrote this file"
        raise _damaged(row, problem)
    try:
        stream = path.open("rb")
    except OSError as error:
        problem = f"the results of {row.unit} in {row.directory} are gone: {error.strerror}: {path}"
        raise _damaged(row, problem) from error
    found = _found(stream, expected)
    if found != expected:
        stream.close()
        problem = f"{path}: changed: expected {expected}, found {found}"
        raise _damaged(row, problem)
    return stream


def _found(stream: BufferedReader, expected: Written) -> Written:
    """Return size, rows and checksum of the open file.

    The rows are counted only if size and checksum equal those of `expected`. Otherwise the result
    has the number of rows in `expected`.
    """
    sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    found = Written(stream.tell(), expected.rows, sha256)
    stream.seek(0)
    if found == expected:
        found = replace(found, rows=int(pq.read_metadata(stream).num_rows))
        stream.seek(0)
    return found


def _rows(stream: BufferedReader) -> Iterator[tuple[bytes, int, bytes]]:
    with pq.ParquetFile(stream) as file:
        for batch in file.iter_batches(batch_size=_READ_ROWS):
            columns = [batch.column(index).to_pylist() for index in range(3)]
            yield from zip(*columns, strict=True)


def _damaged(row: ManifestRow, problem: str) -> DamagedResult:
    kept = "nothing was published, and no file was changed"
    step = (
        f"`inventory backfill discard {row.run.name} --yes` moves the run away, "
        "`inventory backfill run` computes it again"
    )
    return DamagedResult(problem, kept, step)
