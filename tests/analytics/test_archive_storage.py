"""An archive at any URL of fsspec, here in memory, without a server."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from analytics.archive.checked import checked_rows, refuse_missing
from analytics.archive.entries import BrokenArchive
from analytics.archive.manifest import Manifest, open_manifest
from analytics.archive.names import HEAD, MANIFEST, former_name
from analytics.archive.storage import Directory, NoArchive, location_of, storage_of
from analytics.engines.access import WithAccess
from analytics.engines.unit import ArchiveUnit, units_of
from tests.analytics.histories import archived, generate

PLACE = "/bucket/archive"
URL = f"memory:/{PLACE}"


@pytest.fixture(name="manifest")
def an_archive(tmp_path: Path) -> Manifest:
    return archived(tmp_path / "archive", generate(seed=6, records=80))


@pytest.fixture(name="files")
def a_copy(manifest: Manifest) -> Iterator[MemoryFileSystem]:
    """Copy the archive into memory, with the names of the first release."""
    system = MemoryFileSystem()
    for path in manifest.directory.rglob("*"):
        if path.is_file():
            name = former_name(str(path.relative_to(manifest.directory)))
            system.pipe_file(f"{PLACE}/{name}", path.read_bytes())
    yield system
    system.rm(PLACE, recursive=True)


@pytest.mark.usefixtures("files")
def test_rows_at_a_url_are_those_of_the_directory(manifest: Manifest) -> None:
    found = open_manifest(URL)

    refuse_missing(found)
    assert found.all_files() == manifest.all_files()
    for file in manifest.all_files():
        of_url = list(checked_rows(found.storage, file.source))
        assert of_url == list(checked_rows(manifest.storage, file.source)) != []


def test_a_refresh_reads_only_the_new_lines_of_the_manifest(
    manifest: Manifest, files: MemoryFileSystem
) -> None:
    reader, known = open_manifest(URL), manifest.path.read_bytes()
    later = archived(manifest.directory, generate(seed=6, records=120))
    unread = b"x" * len(known) + later.path.read_bytes()[len(known) :]

    files.pipe_file(f"{PLACE}/{MANIFEST}", unread)
    files.pipe_file(f"{PLACE}/{HEAD}", (manifest.directory / HEAD).read_bytes())
    reader.refresh()

    assert reader.all_files() == later.all_files() != manifest.all_files()


def test_a_missing_file_is_named_before_any_row_is_read(
    manifest: Manifest, files: MemoryFileSystem
) -> None:
    file = manifest.all_files()[1]
    files.rm(f"{PLACE}/{file.file}")

    with pytest.raises(BrokenArchive, match=f"{URL}/{file.file} .*: No such file") as refused:
        refuse_missing(open_manifest(URL))
    assert "copy the archive again" in refused.value.step


@pytest.mark.usefixtures("files")
def test_an_archive_at_a_url_is_only_read() -> None:
    with pytest.raises(NoArchive, match="can only be read"):
        open_manifest(URL).recover()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("s3a://bucket/archive/", "s3://bucket/archive"),
        ("s3n://bucket", "s3://bucket"),
        ("file:///srv/an%20archive", "file:///srv/an%20archive"),
        ("/srv/archive", "file:///srv/archive"),
        ("gs://bucket/archive", "gs://bucket/archive"),
    ],
)
def test_a_normalized_archive_address_opens_the_same_storage(text: str, address: str) -> None:
    found = storage_of(text)

    assert found.address == address
    assert storage_of(location_of(found.address)) == found


def test_the_archive_path_of_the_stack_survives_the_address_round_trip(tmp_path: Path) -> None:
    found = storage_of(tmp_path)

    assert found == Directory(tmp_path)
    assert storage_of(location_of(found.address)) == found


@pytest.mark.parametrize(
    ("archive", "expected"),
    [("/srv/archive", None), ("file:///srv/archive", None), ("s3://bucket/archive", "hidden")],
)
def test_a_shipped_task_has_the_credentials_only_for_an_archive_at_a_url(
    manifest: Manifest, monkeypatch: pytest.MonkeyPatch, archive: str, expected: str | None
) -> None:
    [unit, *_] = units_of(manifest, {0: manifest.next_offset(0)}, buckets=1)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    task = WithAccess(secret_of_executor, [replace(unit, archive=archive)])
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    assert "hidden" not in repr(task)
    assert task(unit) == expected


def secret_of_executor(_unit: ArchiveUnit) -> str | None:
    return os.environ.get("AWS_SECRET_ACCESS_KEY")
