"""The row of the archive and its Parquet form.

A row keeps the record's exact key and value bytes from the log. The archiver adds the dedupe
verdict: a recomputation of one key bucket can't derive it, because the verdict needs all records of
the partition in order. Table, op, LSN and commit time are copied into columns for queries and for
pruning.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq

from analytics.digest import row_hash
from inventory.model.value import value

MALFORMED: Final = "malformed"
RESENT: Final = "resent"
_BATCH_ROWS: Final = 8192
_ROW_GROUP: Final = 65_536

SCHEMA: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("kafka_timestamp_ms", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("key_crc32", pa.uint32()),
        ("table", pa.string()),
        ("op", pa.string()),
        ("lsn", pa.int64()),
        ("commit_us", pa.int64()),
        ("admission", pa.string()),
    ]
)


@value
class ArchiveRow:
    """One record of `stock.events`. A malformed one has no `table`, `op`, `lsn` and `commit_us`."""

    offset: int
    kafka_timestamp_ms: int
    key: bytes | None
    value: bytes | None
    table: str | None
    op: str | None
    lsn: int | None
    commit_us: int | None
    admission: str  # name of the dedupe verdict, lower case


_FIELDS: Final = tuple(field.name for field in fields(ArchiveRow))


def hash_of(row: ArchiveRow) -> int:
    """Return the hash of a row's offset, key, value and verdict."""
    place = row.offset.to_bytes(8, "little")
    return row_hash(place, row.key, row.value, row.admission.encode())


def write_once(
    path: Path, rows: Sequence[ArchiveRow], *, topic: str, partition: int
) -> tuple[int, str]:
    """Write `rows` under a temporary name, flush, and rename, so that readers see all or nothing.

    Return size and SHA-256 of the intended content, so that a later check reveals a bad disk.
    """
    buffer = pa.BufferOutputStream()
    pq.write_table(
        _table(rows, topic, partition), buffer, compression="zstd", row_group_size=_ROW_GROUP
    )
    return _replace(path, buffer.getvalue())


def merge_once(path: Path, contents: Iterable[bytes]) -> tuple[int, int, str]:
    """Write the rows of several files into one file, by the steps of `write_once`.

    Return the number of rows, the size and the SHA-256 of the new file.
    """
    buffer, rows, waiting = pa.BufferOutputStream(), 0, []
    with pq.ParquetWriter(buffer, SCHEMA, compression="zstd") as writer:
        for content in contents:
            with pq.ParquetFile(pa.BufferReader(content)) as file:
                waiting += file.iter_batches(batch_size=_BATCH_ROWS)
            if sum(batch.num_rows for batch in waiting) >= _ROW_GROUP:
                rows += _write_group(writer, waiting)
                waiting = []
        rows += _write_group(writer, waiting)
    return rows, *_replace(path, buffer.getvalue())


def _write_group(writer: Any, batches: Sequence[Any]) -> int:  # noqa: ANN401 -- pyarrow ships no types
    table = pa.Table.from_batches(batches, schema=SCHEMA)
    if table.num_rows:
        writer.write_table(table, row_group_size=_ROW_GROUP)
    return int(table.num_rows)


def _replace(path: Path, content: Any) -> tuple[int, str]:  # noqa: ANN401 -- pyarrow ships no types
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp")  # hidden from Spark
    with temporary.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)
    return content.size, hashlib.sha256(content).hexdigest()


def count_of(content: Any) -> int:  # noqa: ANN401 -- pyarrow ships no types
    """Return the number of rows that the metadata of a Parquet file states."""
    return int(pq.read_metadata(content).num_rows)


def read(content: Any, *, bucket: int = 0, buckets: int = 1) -> Iterator[ArchiveRow]:  # noqa: ANN401 -- pyarrow ships no types
    """Yield the rows of a file (path or content); if `buckets` > 1, only those of bucket `bucket`.

    A bucket is the CRC-32 of the key modulo `buckets`. The hash that chose the partition would put
    most keys of a partition into one bucket.

    Nothing is checked against the manifest. Readers of an archive use `checked_rows`.
    """
    with pq.ParquetFile(content) as file:
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=[*_FIELDS, "key_crc32"]):
            chosen = batch
            if buckets > 1:
                crc = batch.column("key_crc32").to_numpy().astype("int64")
                chosen = batch.filter(pa.array(crc % buckets == bucket))
            columns = [chosen.column(name).to_pylist() for name in _FIELDS]
            for values in zip(*columns, strict=True):
                yield ArchiveRow(*values)


def _table(rows: Sequence[ArchiveRow], topic: str, partition: int) -> Any:  # noqa: ANN401 -- pyarrow ships no types
    columns: dict[str, list[object]] = {
        name: [getattr(row, name) for row in rows] for name in _FIELDS
    }
    columns["topic"] = [topic] * len(rows)
    columns["partition"] = [partition] * len(rows)
    columns["key_crc32"] = [crc32(row.key or b"") for row in rows]
    return pa.table({field.name: columns[field.name] for field in SCHEMA}, schema=SCHEMA)
