"""Moving an archive away takes its lock, or leaves it where it is."""

from pathlib import Path

from analytics.archive.follow import only_archiver
from analytics.archive.move_away import move_archive_away


def test_an_archive_without_archiver_moves_at_the_first_try(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()

    assert move_archive_away(archive, timeout_s=0) == tmp_path / "former" / "archive-1"
    assert not archive.exists()


def test_an_archive_whose_archiver_keeps_the_lock_stays(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()

    with only_archiver(archive):
        assert move_archive_away(archive, timeout_s=0) is None

    assert archive.exists()
    assert not (archive / "aside").exists()
