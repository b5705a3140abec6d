"""Check archive files against the manifest before any row is used.

A file is read once into memory, hashed, and decoded from the same bytes. So its content can't
change between check and use. A file of the archiver holds at most 20,000 rows (some megabytes).
`compact` makes files of 64 to 256 MiB where there is enough data.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa

from analytics.archive.entries import KEPT, UNLISTED, BrokenArchive, Source
from analytics.archive.manifest import Manifest
from analytics.archive.rows import ArchiveRow, count_of, read
from analytics.archive.storage import Location, Storage, storage_of

_OWN: Final = re.compile(r"seq-(\d{12})-\d{12}\.parquet|\.?seq-\d{12}-\d{12}\.\d+\.tmp")


def checked_rows(
    archive: Location | Storage, source: Source, *, bucket: int = 0, buckets: int = 1
) -> Iterator[ArchiveRow]:
    """Yield the rows of one file that the manifest lists, in offset order.

    If `buckets` > 1, yield only the rows of key bucket `bucket`.

    Raises:
        BrokenArchive: the file is missing, or its content differs from the manifest.
    """
    storage = storage_of(archive)
    content = pa.BufferReader(checked_content(storage, source))
    try:
        if count_of(content) != source.rows:
            raise _differs(storage, source, f"{count_of(content)} rows, expected {source.rows}")
        at = source.first_offset - 1
        for row in read(content, bucket=bucket, buckets=buckets):
            if not at < row.offset < source.next_offset:
                raise _differs(storage, source, f"offset {row.offset} after {at}")
            at = row.offset
            yield row
    except pa.ArrowException as error:
        raise _differs(storage, source, f"not a valid Parquet file: {error!s:.120}") from error


def checked_content(archive: Location | Storage, source: Source) -> bytes:
    """Return the bytes of a listed file.

    Raises:
        BrokenArchive: the file is missing, unreadable, or of another size or checksum.
        NoArchive: the server of the archive's URL can't be used.
    """
    storage = storage_of(archive)
    try:
        content = storage.read(source.file)
    except FileNotFoundError as error:
        raise _missing(storage, source, error) from error
    except OSError as error:
        raise _differs(storage, source, error.strerror or str(error)) from error
    if len(content) != source.bytes:
        raise _differs(storage, source, f"{len(content)} bytes, expected {source.bytes}")
    found = hashlib.sha256(content).hexdigest()
    if found != source.sha256:
        problem = f"sha256 {found:.12}…, expected {source.sha256:.12}…"
        raise _differs(storage, source, problem)
    return content


def refuse_missing(manifest: Manifest) -> None:
    """Raise `BrokenArchive` if a listed file is missing or has another size. Read no content."""
    size_of = manifest.storage.sizes()
    for file in manifest.all_files():
        try:
            size = size_of(file.file)
        except OSError as error:
            raise _differs(manifest.storage, file.source, error.strerror or "") from error
        if size != file.bytes:
            problem = f"{size} bytes, expected {file.bytes}"
            raise _differs(manifest.storage, file.source, problem)


def refuse_damaged(manifest: Manifest, ends: Mapping[int, int]) -> None:
    """Raise `BrokenArchive` unless each file with records before `ends` has its listed checksum."""
    for number, end in sorted(ends.items()):
        for file in manifest.files(number):
            if file.first_offset < end:
                checked_content(manifest.storage, file.source)


def refuse_unlisted(manifest: Manifest) -> None:
    """Raise `BrokenArchive` if a partition's directory holds a file that no manifest line lists.

    The archiver writes a file first and then the line that lists it. So a file of the archiver is
    allowed if its records follow the last listed record of the partition.
    """
    for path in unlisted(manifest):
        problem = f"{path}: no line of the manifest lists this file"
        raise BrokenArchive(problem, "it was not read", f"`{UNLISTED}` moves it away")


def unlisted(manifest: Manifest) -> Iterator[Path]:
    """Yield the files in the partitions' directories that no manifest line lists.

    Leave out a file of the archiver whose records follow the partition's last listed record.
    """
    return (path for path in _unlisted(manifest) if not _is_ahead(manifest, path))


def remove_unlisted(manifest: Manifest) -> None:
    """Delete the unlisted files that a killed archiver has left after the last listed offset.

    The archiver reads the records of these files from the topic again.
    """
    for path in _unlisted(manifest):
        if _is_ahead(manifest, path):
            path.unlink()


def _unlisted(manifest: Manifest) -> Iterator[Path]:
    listed = {manifest.directory / file.file for file in manifest.all_files()}
    for path in sorted(manifest.directory.glob("partition=*/**/*")):
        if path not in listed:
            yield path


def _is_ahead(manifest: Manifest, path: Path) -> bool:
    named = _OWN.fullmatch(path.name)
    number = path.parent.name.removeprefix("partition=")
    if named is None or not number.isdecimal() or path.parent.parent != manifest.directory:
        return False
    return named[1] is None or int(named[1]) >= manifest.next_offset(int(number))


def _missing(storage: Storage, source: Source, error: OSError) -> BrokenArchive:
    """Return the error for a missing file: `compact` has merged it, or it is lost."""
    if source.file in {file.file for file in Manifest(storage).all_files()}:
        return _differs(storage, source, error.strerror or str(error))
    problem = (
        f"{storage.at(source.file)} ({source.position_text}): the manifest no longer lists this "
        "file, because the archive was compacted after this plan was made"
    )
    return BrokenArchive(problem, KEPT, "start the same command again: it makes a new plan")


def _differs(storage: Storage, source: Source, problem: str) -> BrokenArchive:
    return storage.broken(f"{storage.at(source.file)} ({source.position_text}): {problem}")
