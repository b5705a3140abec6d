"""Compacted archives: the same records and results, and one complete archive after any crash."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from analytics.archive import compact as compaction
from analytics.archive.checked import (
    checked_rows,
    refuse_damaged,
    refuse_missing,
    refuse_unlisted,
)
from analytics.archive.compact import BESIDE, Compaction, Limits, NotExchanged, compact, groups
from analytics.archive.entries import ArchiveFile, BrokenArchive
from analytics.archive.follow import only_archiver
from analytics.archive.manifest import Manifest
from analytics.archive.names import LOCK, former_name
from analytics.archive.rows import ArchiveRow
from analytics.archive.source import source_id, write_source_id
from analytics.archive.writer import open_writers
from analytics.engines.failure import UnitFailed
from analytics.engines.task import attempt, recompute
from analytics.engines.unit import units_of
from deploy.cli.main import app
from tests.analytics.histories import PARTITIONS, Generated, archived, feed, generate

pytestmark = pytest.mark.engines

ALL = Limits(least=1 << 40, most=1 << 40, newest=1)


@pytest.fixture(name="history", scope="module")
def a_history() -> Generated:
    return generate(seed=13)


@pytest.fixture(name="archive")
def an_archive(tmp_path: Path, history: Generated) -> Path:
    archived(tmp_path / "archive", history, roll_every=20)
    write_source_id(tmp_path / "archive", "id-of-the-topic")
    return tmp_path / "archive"


def compacted(archive: Path, limits: Limits = ALL) -> Compaction:
    with only_archiver(archive):
        return compact(archive, limits)


def rows(archive: Path) -> list[list[ArchiveRow]]:
    manifest = Manifest(archive)
    return [
        [row for file in manifest.files(number) for row in checked_rows(archive, file.source)]
        for number in range(PARTITIONS)
    ]


def ends(archive: Path) -> dict[int, int]:
    manifest = Manifest(archive)
    return {number: manifest.next_offset(number) for number in range(PARTITIONS)}


def test_first_release_code_cannot_lock_a_compacted_archive(archive: Path) -> None:
    assert compacted(archive).former is not None

    assert (archive / former_name(LOCK)).is_dir()


def test_a_compacted_archive_has_the_same_records_and_a_valid_manifest(archive: Path) -> None:
    before, known = rows(archive), Manifest(archive).all_files()

    done = compacted(archive)

    manifest = Manifest(archive)
    assert [len(manifest.files(number)) for number in range(PARTITIONS)] == [2] * PARTITIONS
    assert (done.files_before, done.files_after) == (len(known), 2 * PARTITIONS)
    assert done.records == sum(file.rows for file in known) - sum(
        manifest.files(number)[-1].rows for number in range(PARTITIONS)
    )
    assert rows(archive) == before
    assert source_id(archive) == "id-of-the-topic"
    refuse_damaged(manifest, ends(archive))
    refuse_unlisted(manifest)
    assert done.former is not None
    assert Manifest(done.former).all_files() == known
    assert not archive.with_name(BESIDE).exists()


def test_a_recomputation_after_compaction_gives_the_same_digests(
    archive: Path, tmp_path: Path
) -> None:
    def digests(results: Path) -> list[tuple[object, ...]]:
        units = units_of(Manifest(archive), ends(archive), buckets=2)
        found = [recompute(unit, results) for unit in units]
        return [(row.states_digest, row.outputs_digest, row.records) for row in found]

    before = digests(tmp_path / "before")
    compacted(archive)

    assert digests(tmp_path / "after") == before


def test_an_archiver_continues_a_compacted_archive_with_equal_rows(
    tmp_path: Path, history: Generated
) -> None:
    half = Generated({number: part[: len(part) // 2] for number, part in history.log.items()})
    archived(tmp_path / "archive", half, roll_every=20)
    archived(tmp_path / "whole", history, roll_every=20)

    compacted(tmp_path / "archive")
    for writer in open_writers(tmp_path / "archive", partitions=PARTITIONS, generation=1):
        feed(writer, history.log[writer.partition], roll_every=20)

    assert rows(tmp_path / "archive") == rows(tmp_path / "whole")


def test_a_second_call_merges_nothing(archive: Path) -> None:
    compacted(archive)

    again = compacted(archive)

    assert (again.former, again.records) == (None, 0)


@pytest.mark.parametrize("step", ["merge_once", "_link", "refuse_missing", "_exchange"])
def test_a_crash_before_the_exchange_leaves_the_former_archive(
    archive: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    known = Manifest(archive).all_files()

    def crash(*_given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        # The first check for missing files concerns the former archive, the second the new one.
        proper, seen = refuse_missing, [0]

        def at_second(manifest: Manifest) -> None:
            seen[0] += 1
            proper(manifest) if seen[0] == 1 else crash()

        patch.setattr(compaction, step, at_second if step == "refuse_missing" else crash)
        with pytest.raises(KeyboardInterrupt):
            compacted(archive)

    assert not archive.with_name(BESIDE).exists()
    assert Manifest(archive).all_files() == known
    refuse_unlisted(Manifest(archive))
    assert compacted(archive).files_after == 2 * PARTITIONS


@pytest.mark.parametrize("step", ["sync_directory", "move_directory_away"])
def test_a_crash_after_the_exchange_leaves_the_new_archive(
    archive: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def crash(*_given: object, **_more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(compaction, step, crash)
        with pytest.raises(KeyboardInterrupt):
            compacted(archive)

    assert len(Manifest(archive).all_files()) == 2 * PARTITIONS
    refuse_damaged(Manifest(archive), ends(archive))
    assert archive.with_name(BESIDE).exists()
    assert compacted(archive).former is None
    assert not archive.with_name(BESIDE).exists()


def test_the_archive_is_unchanged_if_the_exchange_of_directories_fails(
    archive: Path, tmp_path: Path
) -> None:
    with pytest.raises(NotExchanged, match="No such file") as refused:
        compaction._exchange(archive, tmp_path / "missing")

    assert "the archive was not changed" in str(refused.value)


def test_a_plan_from_before_a_compaction_fails_with_a_request_for_a_new_plan(
    archive: Path, tmp_path: Path
) -> None:
    unit = units_of(Manifest(archive), ends(archive), buckets=1)[0]
    compacted(archive)

    found = attempt(unit, tmp_path / "results")

    assert isinstance(found, UnitFailed)
    assert "no longer lists this file, because the archive was compacted" in found.problem
    assert found.step == "start the same command again: it makes a new plan"

    file = Manifest(archive).files(0)[0]
    (archive / file.file).unlink()
    with pytest.raises(BrokenArchive, match="No such file or directory"):
        list(checked_rows(archive, file.source))


def test_a_damaged_file_is_not_merged(archive: Path) -> None:
    path = archive / Manifest(archive).files(1)[0].file
    path.write_bytes(path.read_bytes()[:-1] + b"x")

    with pytest.raises(BrokenArchive, match="sha256"):
        compacted(archive)

    assert len(Manifest(archive).files(1)) > 2


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([10, 10, 10, 10, 10], [[10, 10, 10], [10, 10]]),
        ([29, 1, 1, 1], [[29, 1], [1, 1]]),
        ([30, 10, 10, 30, 10], [[30], [10, 10], [30], [10]]),
        ([29, 22, 1], [[29], [22, 1]]),
        ([10], [[10]]),
        ([], []),
    ],
)
def test_files_are_grouped_by_size(
    archive: Path, sizes: list[int], expected: list[list[int]]
) -> None:
    file = Manifest(archive).all_files()[0]
    files = [replace(file, bytes=size) for size in sizes]

    found = groups(files, Limits(least=30, most=50, newest=0))

    assert [[each.bytes for each in group] for group in found] == expected


def test_the_newest_files_are_not_merged(archive: Path) -> None:
    files: list[ArchiveFile] = list(Manifest(archive).files(0))

    found = list(groups(files, Limits(least=1 << 40, most=1 << 40, newest=2)))

    assert [len(group) for group in found] == [len(files) - 2, 1, 1]


def test_the_command_prints_what_it_merged(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INVENTORY_HOME", str(archive.parent))

    done = CliRunner().invoke(app, ["backfill", "compact"])

    files = len(Manifest(archive).all_files())
    assert done.exit_code == 0, done.output
    assert f"files before, {files} now; " in done.output
    assert files < len(Manifest(archive.parent / "former" / "archive-1").all_files())


def test_a_held_archive_is_not_compacted(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INVENTORY_HOME", str(archive.parent))
    monkeypatch.setattr("deploy.cli.backfill.RELEASED_S", 0.2)

    with only_archiver(archive):
        refused = CliRunner().invoke(app, ["backfill", "compact"])

    assert "an archiver has held the lock of this archive for" in str(refused.exception)
    shutil.rmtree(archive)
    missing = CliRunner().invoke(app, ["backfill", "compact"])
    assert "nothing is archived yet" in str(missing.exception)
