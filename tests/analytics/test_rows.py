"""Records in Parquet: rows come back as they were written, bucket by bucket."""

from pathlib import Path
from zlib import crc32

from analytics.archive.rows import ArchiveRow, read, write_once


def a_row(offset: int, key: bytes | None = b"L|S", value: bytes | None = b"{}") -> ArchiveRow:
    return ArchiveRow(offset, 1_700_000_000_000 + offset, key, value, "sale_line", "c", 7, 9, "new")


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    rows = [
        a_row(0),
        a_row(1, key=None, value=None),
        a_row(5, key=b"\xff\x00", value=b"\x00 no json"),
        ArchiveRow(6, 0, b"", b"", None, None, None, None, "malformed"),
    ]
    path = tmp_path / "partition=0" / "seq.parquet"

    write_once(path, rows, topic="stock.events", partition=0)

    assert list(read(path)) == rows
    assert [entry.name for entry in path.parent.iterdir()] == ["seq.parquet"]


def test_buckets_split_the_rows_without_loss_and_keep_their_order(tmp_path: Path) -> None:
    rows = [a_row(number, key=f"L|S{number % 17}".encode()) for number in range(200)]
    path = tmp_path / "seq.parquet"
    write_once(path, rows, topic="stock.events", partition=0)

    parts = [list(read(path, bucket=bucket, buckets=3)) for bucket in range(3)]

    assert all(
        crc32(row.key or b"") % 3 == number for number, part in enumerate(parts) for row in part
    )
    assert sorted((row for part in parts for row in part), key=lambda row: row.offset) == rows
    assert all(part == sorted(part, key=lambda row: row.offset) for part in parts)
