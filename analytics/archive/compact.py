"""Merge small archive files into large ones. Readers see either the former archive or the new one.

The archiver of a quiet shop writes a file every ten minutes to an hour. An archiver that catches up
writes 20,000 records a file. A recomputation opens, checks and decodes each file, so many small
files make it slow.

The new archive is written beside the former one. It has the merged files, hard links to the other
files, a manifest with its own hash chain, and a head. Then the kernel exchanges the two directories
in one step. So a crash leaves a complete archive at the archive's path, and the next call of
`compact` deletes the other directory. Changing the present manifest in place is not safe, because
manifest and head are two files. A crash between their writes would leave an archive that no reader
accepts.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from analytics.archive.checked import checked_content, refuse_missing, remove_unlisted
from analytics.archive.entries import ArchiveFile, file_name
from analytics.archive.follow import only_archiver
from analytics.archive.former import refuse_lost_manifest
from analytics.archive.manifest import Manifest
from analytics.archive.move_away import move_directory_away
from analytics.archive.names import SOURCE
from analytics.archive.rows import merge_once
from analytics.damage import Damage
from analytics.digest import as_hex, from_hex, total
from analytics.exchange import exchange
from cdc.disk import sync_directory

_MIB: Final = 1 << 20
BESIDE: Final = "archive-compacting"

Progress = Callable[[str], None]


class NotExchanged(Damage):
    """The file system can't exchange two directories."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a merge: a merged file is full at `least` bytes and never exceeds `most` bytes.

    The `newest` files of each partition are not merged. A starting archiver reads the files with
    records of the last two minutes for its dedupe ring. If these files are small, it reads less.
    """

    least: int = 64 * _MIB
    most: int = 256 * _MIB
    newest: int = 8


@dataclass(frozen=True, slots=True)
class Compaction:
    """The result of a merge: numbers of files and merged records, and the former archive.

    `former` is the directory of the former archive; None if there was nothing to merge.
    """

    files_before: int
    files_after: int
    records: int
    seconds: float
    former: Path | None


def compact(
    archive: Path, limits: Limits | None = None, progress: Progress = lambda _text: None
) -> Compaction:
    """Merge small files of the archive. Return the numbers of files and records.

    The caller holds the archive's lock.

    Raises:
        BrokenArchive: manifest, head and files disagree.
        NotExchanged: the file system can't exchange directories. Nothing was changed.
    """
    began = time.monotonic()
    refuse_lost_manifest(archive)
    manifest = Manifest(archive)
    manifest.recover()
    refuse_missing(manifest)
    remove_unlisted(manifest)
    found = [group for part in _partitions(manifest) for group in groups(part, limits or Limits())]
    before, merged = len(manifest.all_files()), [group for group in found if len(group) > 1]
    beside = archive.with_name(BESIDE)
    shutil.rmtree(beside, ignore_errors=True)  # left by a call that was killed
    if not merged:
        return Compaction(before, before, 0, time.monotonic() - began, None)
    with _deleted_after_a_failure(beside):
        _write(manifest, beside, found, progress)
    with only_archiver(beside):  # after the exchange this is the lock at the archive's path
        with _deleted_after_a_failure(beside):
            _exchange(archive, beside)
        sync_directory(archive.parent)  # from here on, `beside` is the former archive
        former = move_directory_away(beside, archive.parent / "former", name=archive.name)
    records = sum(file.rows for group in merged for file in group)
    return Compaction(before, len(found), records, time.monotonic() - began, former)


def groups(files: Sequence[ArchiveFile], limits: Limits) -> Iterator[list[ArchiveFile]]:
    """Yield groups of consecutive files. `compact` merges each group into one file.

    A group may have only one file. `compact` leaves such a file as it is.
    """
    group: list[ArchiveFile] = []
    oldest = len(files) - limits.newest
    for number, file in enumerate(files):
        size = sum(each.bytes for each in group)
        is_full = size >= limits.least or size + file.bytes > limits.most
        if group and (is_full or number >= oldest or file.bytes >= limits.least):
            yield group
            group = []
        group.append(file)
    if group:
        yield group


@contextmanager
def _deleted_after_a_failure(beside: Path) -> Iterator[None]:
    """Delete the new archive if the `with` block fails, because it may need much disk space."""
    try:
        yield
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def _partitions(manifest: Manifest) -> list[tuple[ArchiveFile, ...]]:
    numbers = {file.partition for file in manifest.all_files()}
    return [manifest.files(number) for number in sorted(numbers)]


def _write(
    manifest: Manifest, beside: Path, found: Sequence[list[ArchiveFile]], progress: Progress
) -> None:
    beside.mkdir(mode=0o700)
    if (manifest.directory / SOURCE).exists():
        shutil.copy2(manifest.directory / SOURCE, beside / SOURCE)
    written = Manifest(beside)
    written.recover()
    for number, group in enumerate(found, 1):
        if len(group) > 1:
            written.append(_merged(manifest.directory, beside, group))
            progress(f"{number} of {len(found)} files: {len(group)} merged")
        else:
            _link(manifest.directory, beside, group[0])
            written.append(group[0])
    refuse_missing(Manifest(beside))


def _merged(archive: Path, beside: Path, group: Sequence[ArchiveFile]) -> ArchiveFile:
    first, last = group[0], group[-1]
    name = file_name(first.partition, first.first_offset, last.next_offset)
    contents = (checked_content(archive, file.source) for file in group)
    rows, size, sha256 = merge_once(beside / name, contents)
    expected = sum(file.rows for file in group)
    if rows != expected:
        problem = f"{beside / name}: {rows} rows written, expected {expected}"
        raise NotExchanged(problem, "the archive was not changed", "start the same command again")
    return replace(
        last,  # its newest_commit_us, highest_lsn and fact_end include all records before it
        file=name,
        first_offset=first.first_offset,
        rows=rows,
        digest=as_hex(total(from_hex(file.digest) for file in group)),
        bytes=size,
        sha256=sha256,
    )


def _link(archive: Path, beside: Path, file: ArchiveFile) -> None:
    target = beside / file.file
    target.parent.mkdir(exist_ok=True)
    os.link(archive / file.file, target)


def _exchange(left: Path, right: Path) -> None:
    """Exchange two directories atomically."""
    try:
        exchange(left, right)
    except OSError as error:
        problem = f"{left}: its file system can't exchange two directories: {error.strerror}"
        step = "keep the home on a local disk, such as ext4, XFS or Btrfs, to compact its archive"
        raise NotExchanged(problem, "the archive was not changed", step) from error
