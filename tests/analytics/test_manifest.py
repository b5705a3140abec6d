"""The archive's file list: a hash chain per partition, with its end in the head file."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from analytics.archive.entries import file_name
from analytics.archive.manifest import ArchiveFile, BrokenArchive, Manifest
from analytics.archive.names import HEAD, MANIFEST


def a_file(first: int, end: int, *, partition: int = 0) -> ArchiveFile:
    return ArchiveFile(
        file=file_name(partition, first, end),
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
        bytes=1,
        sha256="0" * 64,
    )


def plain(files: tuple[ArchiveFile, ...]) -> list[ArchiveFile]:
    """Return the files without the chain fields that the manifest has set."""
    return [replace(file, previous_next_offset=0, previous_hash="") for file in files]


def test_a_reopened_manifest_lists_the_same_files(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.append(a_file(0, 10))
    manifest.append(a_file(0, 4, partition=3))
    manifest.append(a_file(10, 20))

    again = Manifest(tmp_path)

    assert plain(again.files(0)) == [a_file(0, 10), a_file(10, 20)]
    assert again.next_offset(3) == 4
    assert again.covers({0: 20, 3: 4})
    assert not again.covers({0: 21})


def test_a_line_torn_by_a_crash_is_not_read_and_is_cut_by_the_archiver(tmp_path: Path) -> None:
    Manifest(tmp_path).append(a_file(0, 10))
    with (tmp_path / MANIFEST).open("a") as stream:
        stream.write('{"file": "partition=0/seq-10')

    restarted = Manifest(tmp_path)
    restarted.recover()
    restarted.append(a_file(10, 12))

    assert plain(Manifest(tmp_path).files(0)) == [a_file(0, 10), a_file(10, 12)]


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


def test_a_manifest_line_after_the_head_is_ignored_and_cut_by_the_archiver(tmp_path: Path) -> None:
    """After a crash between line and head, the archiver reads the records of the line again."""
    manifest = Manifest(tmp_path)
    manifest.append(a_file(0, 10))
    head = (tmp_path / HEAD).read_bytes()
    manifest.append(a_file(10, 20))
    (tmp_path / HEAD).write_bytes(head)

    restarted = Manifest(tmp_path)
    assert restarted.next_offset(0) == 10
    assert restarted.behind_head() > 0
    restarted.recover()
    assert restarted.behind_head() == 0
    restarted.append(a_file(10, 12))

    assert plain(Manifest(tmp_path).files(0)) == [a_file(0, 10), a_file(10, 12)]


def three(directory: Path) -> tuple[Path, list[str]]:
    """Return a manifest of three files of partition 3, and its lines."""
    manifest = Manifest(directory)
    for first in (0, 10, 20):
        manifest.append(a_file(first, first + 10, partition=3))
    return directory / MANIFEST, (directory / MANIFEST).read_text().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("order", "problem"),
    [
        (
            (0, 2),
            r"line 2: partition 3, .* follows offset 20, .* ends at 10. So a line of offsets 10",
        ),
        (
            (0, 1),
            r"lines are missing. Next offsets in the head: \{3: 30\}, in the manifest: \{3: 20\}",
        ),
        ((0, 0, 1, 2), r"line 2: partition 3, .* follows offset 0, .* ends at 10. So a line of"),
        ((0, 2, 1), r"line 2: partition 3, .* follows offset 20, .* ends at 10"),
        ((1, 2), r"line 1: partition 3, .* follows offset 10, .* ends at 0"),
        (
            (),
            r"last lines are missing. Next offsets in the head: \{3: 30\}, in the manifest: \{\}",
        ),
    ],
)
def test_a_line_removed_doubled_or_moved_is_refused_with_partition_and_offsets(
    tmp_path: Path, order: tuple[int, ...], problem: str
) -> None:
    path, lines = three(tmp_path)
    path.write_text("".join(lines[number] for number in order))

    with pytest.raises(BrokenArchive, match=problem) as refused:
        Manifest(tmp_path)

    assert str(path) in str(refused.value)
    assert "nothing was computed or published" in str(refused.value)
    assert "`inventory backfill rearchive --yes`" in str(refused.value)


@pytest.mark.parametrize(
    ("number", "problem"),
    [(0, r"line 2: .* up to offset 10, but found .* was changed"), (2, "head")],
)
def test_a_changed_but_well_formed_manifest_line_is_refused(
    tmp_path: Path, number: int, problem: str
) -> None:
    path, lines = three(tmp_path)
    lines[number] = lines[number].replace('"rows":10', '"rows":11')
    path.write_text("".join(lines))

    with pytest.raises(BrokenArchive, match=problem):
        Manifest(tmp_path)


@pytest.mark.parametrize("name", [HEAD, MANIFEST])
def test_a_removed_head_or_manifest_is_refused(tmp_path: Path, name: str) -> None:
    three(tmp_path)
    (tmp_path / name).unlink()

    with pytest.raises(BrokenArchive, match=f"{name}: missing"):
        Manifest(tmp_path)


def test_a_manifest_reader_stops_if_the_head_moved_back(tmp_path: Path) -> None:
    manifest, reader = Manifest(tmp_path), Manifest(tmp_path)
    manifest.append(a_file(0, 10))
    former = (tmp_path / HEAD).read_bytes()
    manifest.append(a_file(10, 20))
    reader.refresh()
    (tmp_path / HEAD).write_bytes(former)

    with pytest.raises(BrokenArchive, match=r"covers .* bytes, but covered .* before"):
        reader.refresh()
