"""An archive is moved away under its lock. It stays if another process holds the lock."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from analytics.archive import move_away
from analytics.archive.checked import unlisted
from analytics.archive.compact import Limits, compact
from analytics.archive.follow import only_archiver
from analytics.archive.manifest import Manifest
from analytics.archive.move_away import move_archive_away, move_unlisted_away
from tests.analytics.histories import archived, generate


def test_an_archive_without_archiver_moves_at_the_first_try(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()

    assert move_archive_away(archive, timeout_s=0) == tmp_path / "former" / "archive-1"
    assert not archive.exists()


def test_a_locked_archive_is_not_moved_away(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()

    with only_archiver(archive):
        assert move_archive_away(archive, timeout_s=0) is None

    assert archive.exists()
    assert not (archive / "aside").exists()


def test_files_listed_by_a_concurrent_compaction_are_not_moved_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "archive"
    archived(archive, generate(seed=1, records=40), roll_every=5)

    def compacted_meanwhile(manifest: Manifest) -> Iterator[Path]:
        """Merge all files between the read of the manifest and the search for unlisted files."""
        with only_archiver(archive):
            assert compact(archive, Limits(1 << 40, 1 << 40, newest=0)).former is not None
        return unlisted(manifest)

    monkeypatch.setattr(move_away, "unlisted", compacted_meanwhile)

    assert move_unlisted_away(archive) == ()
    assert all((archive / file.file).exists() for file in Manifest(archive).all_files())
