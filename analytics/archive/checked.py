"""Archive files checked against the manifest before any row is used.

A file is read once into memory, hashed, and decoded from the same bytes. So its content can't
change between check and use. A file of the archiver holds at most 20,000 rows (some megabytes), a
merged one 64 to 256 MiB.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa

from analytics.archive.entries import KEPT, UNLISTED, BrokenArchive, Source, broken
from analytics.archive.manifest import Manifest
from analytics.archive.rows import ArchiveRow, count_of, read

_OWN: Final = re.compile(r"seq-(\d{12})-\d{12}(\.\d+\.tmp|\.parquet)")


def checked_rows(
    directory: Path, source: Source, *, bucket: int = 0, buckets: int = 1
) -> Iterator[ArchiveRow]:
    """Yield the rows of one listed file in offset order, or of one key bucket if `buckets` > 1.

    Raises:
        BrokenArchive: the file is missing, or its content differs from the manifest.
    """
    content = pa.BufferReader(checked_content(directory, source))
    try:
        if count_of(content) != source.rows:
            raise _differs(directory, source, f"{count_of(content)} rows, expected {source.rows}")
        at = source.first_offset - 1
        for row in read(content, bucket=bucket, buckets=buckets):
            if not at < row.offset < source.next_offset:
                raise _differs(directory, source, f"offset {row.offset} after {at}")
            at = row.offset
            yield row
    except pa.ArrowException as error:
        raise _differs(directory, source, f"no Parquet file: {error!s:.120}") from error


def checked_content(directory: Path, source: Source) -> bytes:
    """Return the bytes of a listed file.

    Raises:
        BrokenArchive: the file is missing, unreadable, or of another size or checksum.
    """
    try:
        content = (directory / source.file).read_bytes()
    except FileNotFoundError as error:
        raise _missing(directory, source, error) from error
    except OSError as error:
        raise _differs(directory, source, error.strerror or str(error)) from error
    if len(content) != source.bytes:
        raise _differs(directory, source, f"{len(content)} bytes, expected {source.bytes}")
    found = hashlib.sha256(content).hexdigest()
    if found != source.sha256:
        problem = f"sha256 {found:.12}…, expected {source.sha256:.12}…"
        raise _differs(directory, source, problem)
    return content


def refuse_missing(manifest: Manifest) -> None:
    """Raise `BrokenArchive` unless each listed file exists in its listed size. Read no content."""
    for file in manifest.all_files():
        path = manifest.directory / file.file
        try:
            size = path.stat().st_size
        except OSError as error:
            raise _differs(manifest.directory, file.source, error.strerror or "") from error
        if size != file.bytes:
            problem = f"{size} bytes, expected {file.bytes}"
            raise _differs(manifest.directory, file.source, problem)


def refuse_damaged(manifest: Manifest, ends: Mapping[int, int]) -> None:
    """Raise `BrokenArchive` unless each file with records before `ends` has its listed checksum."""
    for number, end in sorted(ends.items()):
        for file in manifest.files(number):
            if file.first_offset < end:
                checked_content(manifest.directory, file.source)


def refuse_unlisted(manifest: Manifest) -> None:
    """Raise `BrokenArchive` if a partition's directory holds a file that no line lists.

    The archiver writes a file before its line. So a file after the last line's offset is allowed.
    """
    for path in unlisted(manifest):
        problem = f"{path}: no line of the manifest lists this file"
        raise BrokenArchive(problem, "it was not read", f"`{UNLISTED}` moves it away")


def unlisted(manifest: Manifest) -> Iterator[Path]:
    """Yield the partitions' files that no line lists, except files after the last listed offset."""
    return (path for path in _unlisted(manifest) if not _is_ahead(manifest, path))


def remove_unlisted(manifest: Manifest) -> None:
    """Delete unlisted files after the last listed offset, left by a killed archiver.

    The archiver reads their records from the topic again.
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
    return named[2] != ".parquet" or int(named[1]) >= manifest.next_offset(int(number))


def _missing(directory: Path, source: Source, error: OSError) -> BrokenArchive:
    """Return the error of a missing file: merged into another one, or lost."""
    if source.file in {file.file for file in Manifest(directory).all_files()}:
        return _differs(directory, source, error.strerror or str(error))
    problem = (
        f"{directory / source.file} ({source.position_text}): no line lists this file any more: "
        "the archive was compacted after this plan was made"
    )
    return BrokenArchive(problem, KEPT, "start the same command again: it makes a new plan")


def _differs(directory: Path, source: Source, problem: str) -> BrokenArchive:
    return broken(f"{directory / source.file} ({source.position_text}): {problem}")
