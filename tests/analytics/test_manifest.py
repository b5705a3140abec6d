"""The archive's list of files: appended, never torn, without gap behind its own back."""

import json
from pathlib import Path

import pytest

from analytics.archive.manifest import MANIFEST, ArchiveFile, BrokenArchive, Manifest


def a_file(first: int, end: int, *, partition: int = 0) -> ArchiveFile:
    return ArchiveFile(
        file=f"partition={partition}/seq-{first}-{end - 1}.parquet",
        generation=1,
        partition=partition,
        first_offset=first,
        next_offset=end,
        rows=end - first,
        digest="0" * 32,
        newest_commit_us=end,
        highest_lsn=end,
        streamed=True,
        fact_end=end,
    )


def test_a_reopened_manifest_lists_the_same_files(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.append(a_file(0, 10))
    manifest.append(a_file(0, 4, partition=3))
    manifest.append(a_file(10, 20))

    again = Manifest(tmp_path)

    assert again.files(0) == (a_file(0, 10), a_file(10, 20))
    assert again.next_offset(3) == 4
    assert again.covers({0: 20, 3: 4})
    assert not again.covers({0: 21})


def test_a_line_torn_by_a_crash_is_not_read_and_is_cut_by_the_archiver(tmp_path: Path) -> None:
    Manifest(tmp_path).append(a_file(0, 10))
    with (tmp_path / MANIFEST).open("a") as stream:
        stream.write('{"file": "partition=0/seq-10')

    restarted = Manifest(tmp_path)
    restarted.cut_torn_tail()
    restarted.append(a_file(10, 12))

    assert Manifest(tmp_path).files(0) == (a_file(0, 10), a_file(10, 12))


def test_a_reader_sees_lines_that_are_appended_later(tmp_path: Path) -> None:
    reader, writer = Manifest(tmp_path), Manifest(tmp_path)
    writer.append(a_file(0, 10))

    reader.refresh()

    assert reader.next_offset(0) == 10


def test_overlapping_files_are_refused(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.append(a_file(0, 10))

    with pytest.raises(BrokenArchive, match="archived up to 10"):
        manifest.append(a_file(9, 12))


def test_a_line_of_another_schema_is_refused(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps({"schema": 99}) + "\n")

    with pytest.raises(BrokenArchive, match="schema 99"):
        Manifest(tmp_path)
