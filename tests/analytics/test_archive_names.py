"""An archive's documents have names that Spark skips. Those of the first release are renamed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow.dataset import dataset

from analytics.archive.checked import checked_rows, remove_unlisted, unlisted
from analytics.archive.entries import BrokenArchive
from analytics.archive.follow import only_archiver
from analytics.archive.manifest import Manifest
from analytics.archive.names import (
    FLUSH,
    HEAD,
    LOCK,
    MANIFEST,
    RELEASE_REQUEST,
    SOURCE,
    former_name,
)
from analytics.archive.rows import ArchiveRow
from analytics.archive.source import refuse_changed_source, source_id, write_source_id
from analytics.archive.writer import open_writers
from analytics.backfill.publish_refusals import refuse_tail
from analytics.locks import exclusive
from deploy.stack.home import PROJECT
from tests.analytics.histories import PARTITIONS, archived, feed, generate

DOCUMENTS = (SOURCE, MANIFEST, HEAD)
HISTORY = generate(seed=4, records=60)
ID = "id-of-the-topic"
# Arguments: an archive, and the number of the rename before which the process is killed.
KILLED = """
import os
import signal
import sys
from itertools import count
from pathlib import Path
from analytics.archive.manifest import Manifest

rename, numbers = Path.rename, count(1)

def renamed(path, target):
    if next(numbers) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(path, target)

Path.rename = renamed
Manifest(Path(sys.argv[1])).recover()
"""


@pytest.fixture(name="former")
def an_archive_of_the_first_release(tmp_path: Path) -> Path:
    archive = tmp_path / "archive"
    archived(archive, HISTORY)
    write_source_id(archive, ID)
    for name in DOCUMENTS:
        (archive / name).rename(archive / former_name(name))
    (archive / former_name(LOCK)).rmdir()
    for name in (FLUSH, LOCK, RELEASE_REQUEST):
        (archive / name).unlink(missing_ok=True)
        (archive / former_name(name)).touch()
    return archive


def rows(archive: Path) -> list[ArchiveRow]:
    files = Manifest(archive).all_files()
    return [row for file in files for row in checked_rows(archive, file.source)]


def names(archive: Path) -> set[str]:
    return {path.name for path in archive.iterdir() if path.is_file()}


def test_readers_accept_archive_files_with_the_names_of_the_first_release(former: Path) -> None:
    assert len(rows(former)) == sum(len(part) for part in HISTORY.log.values())
    assert source_id(former) == ID
    refuse_changed_source(former)
    refuse_tail(Manifest(former), 0.0)
    assert names(former) == {
        former_name(name) for name in (*DOCUMENTS, FLUSH, LOCK, RELEASE_REQUEST)
    }


def test_the_archiver_renames_files_of_the_first_release_and_continues(former: Path) -> None:
    before = rows(former)

    for writer in open_writers(former, partitions=PARTITIONS, generation=1):
        feed(writer, HISTORY.log[writer.partition], roll_every=37)

    assert names(former) == set(DOCUMENTS)
    assert rows(former) == before
    assert source_id(former) == ID


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_archiver_killed_between_two_renames_leaves_a_readable_archive(
    former: Path, number: int
) -> None:
    before = rows(former)
    command = [sys.executable, "-c", KILLED, str(former), str(number)]
    done = subprocess.run(command, cwd=PROJECT, check=False)  # noqa: S603 -- a program of this module

    assert done.returncode == -signal.SIGKILL
    assert len(names(former) & set(DOCUMENTS)) == number - 1
    assert rows(former) == before
    assert source_id(former) == ID

    Manifest(former).recover()
    Manifest(former).recover()  # an archiver calls it at each start

    assert names(former) == set(DOCUMENTS)
    assert rows(former) == before
    assert source_id(former) == ID


def test_a_reader_follows_an_archive_that_is_renamed_meanwhile(former: Path) -> None:
    reader, writer = Manifest(former), Manifest(former)
    writer.recover()
    later = generate(seed=4, records=90)
    for one in open_writers(former, partitions=PARTITIONS, generation=1):
        feed(one, later.log[one.partition], roll_every=37)

    reader.refresh()

    assert reader.all_files() == Manifest(former).all_files()
    assert len(reader.all_files()) > len(writer.all_files())


def test_an_archive_with_old_and_new_name_of_one_file_is_refused(former: Path) -> None:
    (former / HEAD).write_bytes((former / former_name(HEAD)).read_bytes())

    with pytest.raises(BrokenArchive, match=r"head\.json: an earlier release wrote this file"):
        Manifest(former).recover()


def test_an_archiver_respects_the_lock_of_a_first_release_archiver(former: Path) -> None:
    with exclusive(former / former_name(LOCK)) as is_held:
        assert is_held
        with only_archiver(former) as mine:
            assert not mine

    with only_archiver(former) as mine:
        assert mine
        Manifest(former).recover()


def test_first_release_code_cannot_lock_an_archive_with_current_names(former: Path) -> None:
    """Old code would see an empty archive, and delete the files as not listed in a manifest."""
    Manifest(former).recover()
    Manifest(former).recover()

    with pytest.raises(IsADirectoryError), exclusive(former / former_name(LOCK)):
        pass
    with only_archiver(former) as mine:
        assert mine


def test_unfinished_files_of_either_release_are_hidden_or_deleted(former: Path) -> None:
    left = ("seq-000000000900-000000000999.17.tmp", ".seq-000000000900-000000000999.17.tmp")
    for name in left:
        (former / "partition=0" / name).write_bytes(b"half a file")
    manifest = Manifest(former)

    assert list(unlisted(manifest)) == []
    remove_unlisted(manifest)

    assert {path.suffix for path in (former / "partition=0").iterdir()} == {".parquet"}


def test_arrow_reads_the_directory_as_one_data_set_with_its_partitions(former: Path) -> None:
    Manifest(former).recover()
    (former / "partition=0" / ".seq-000000000900-000000000999.17.tmp").write_bytes(b"half a file")

    found = dataset(former, partitioning="hive").to_table()

    assert found.num_rows == len(rows(former))
    assert sorted(found["partition"].unique().to_pylist()) == sorted(
        {file.partition for file in Manifest(former).all_files()}
    )
