"""Compare an archive that was written again with the files of the former one.

The former manifest may be lost or damaged, so nothing states what the former files held. Their
names state partition and offsets. This module compares the rows at these offsets in both archives.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from analytics.archive.checked import checked_rows
from analytics.archive.entries import ArchiveFile, broken
from analytics.archive.manifest import Manifest
from analytics.archive.names import HEAD, MANIFEST, present
from analytics.archive.rows import hash_of, read
from analytics.digest import add, as_hex, from_hex

EQUAL: Final = "equal"
DIFFERS: Final = "differs"
UNREADABLE: Final = "unreadable"
BEHIND: Final = "not written again yet"
_NAMED: Final = re.compile(r"seq-(\d{12})-(\d{12})\.parquet")
_PARTITION: Final = "partition="

Range = tuple[int, int]  # offsets [first, next)


@dataclass(frozen=True, slots=True)
class FormerPartition:
    """Files of one partition of a former archive.

    `ranges` are the offsets of its readable files, in order and without overlap. `records` is the
    number of records in these files, and `digest` is their digest. `problems` has one text for each
    unreadable file.
    """

    partition: int
    files: int
    records: int
    digest: int
    ranges: tuple[Range, ...]
    problems: tuple[str, ...]

    @property
    def end(self) -> int:
        """Return the offset after the last readable record; 0 if no file is readable."""
        return self.ranges[-1][1] if self.ranges else 0


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """One partition of both archives.

    `records` and `digest` are number and digest of the new archive's records at the offsets of the
    former files.
    """

    former: FormerPartition
    records: int
    digest: int
    verdict: str

    @property
    def is_equal(self) -> bool:
        """Return True if both archives hold the same records at all former offsets."""
        return self.verdict == EQUAL

    @property
    def differs(self) -> bool:
        """Return True if the present archive holds other records at the former offsets."""
        return self.verdict == DIFFERS

    def as_json(self) -> dict[str, Any]:
        """Return the comparison for scripts."""
        return {
            "partition": self.former.partition,
            "former_files": self.former.files,
            "former_records": self.former.records,
            "former_digest": as_hex(self.former.digest),
            "records": self.records,
            "digest": as_hex(self.digest),
            "verdict": self.verdict,
            "problems": list(self.former.problems),
        }


def has_files(directory: Path) -> bool:
    """Return True if a partition's directory has a file with the name of an archive file."""
    return any(_NAMED.fullmatch(path.name) for path in directory.glob(f"{_PARTITION}*/*"))


def refuse_lost_manifest(directory: Path) -> None:
    """Raise `BrokenArchive` if manifest and head are both missing, but archive files are there.

    Without this check such a directory would count as a new archive, and the archiver would delete
    the files. An empty manifest lists nothing, so it counts as missing. No crash leaves such a
    directory, because the archiver writes the first head before the first file.
    """
    manifest = present(directory, MANIFEST)
    is_listed = manifest.exists() and manifest.stat().st_size > 0
    if is_listed or present(directory, HEAD).exists() or not has_files(directory):
        return
    lost = (
        f"{MANIFEST} is empty and {HEAD} is" if manifest.exists() else f"{MANIFEST} and {HEAD} are"
    )
    problem = f"{directory}: {lost} missing, but archive files are there"
    raise broken(problem)


def former_partitions(directory: Path) -> Iterator[FormerPartition]:
    """Read every Parquet file of a former archive, also those that its manifest doesn't list.

    Yield one result for each partition, in order.
    """
    found = {
        int(path.name.removeprefix(_PARTITION)): path
        for path in directory.glob(f"{_PARTITION}*")
        if path.name.removeprefix(_PARTITION).isdecimal()
    }
    return (_former(number, found[number]) for number in sorted(found))


def compare(former: Iterable[FormerPartition], manifest: Manifest) -> Iterator[Rebuilt]:
    """Yield the comparison of each former partition with the archive of `manifest`.

    Raises:
        BrokenArchive: a file of the new archive is missing or was changed.
    """
    for one in former:
        records, digest = 0, 0
        for file in manifest.files(one.partition):
            more, part = _at_ranges(manifest, file, one.ranges)
            records, digest = records + more, add(digest, part)
        yield Rebuilt(one, records, digest, _verdict(one, manifest, records, digest))


def _former(number: int, directory: Path) -> FormerPartition:
    files, records, digest = 0, 0, 0
    ranges: list[Range] = []
    problems: list[str] = []
    for path in sorted(path for path in directory.rglob("*") if path.suffix == ".parquet"):
        files += 1
        try:
            found = _range(path, ranges[-1][1] if ranges else 0)
            more, part = _sum(path, found)
        except (ValueError, OSError, pa.ArrowException) as error:
            problems.append(f"{path}: {error!s:.120}")
            continue
        records, digest = records + more, add(digest, part)
        ranges.append(found)
    return FormerPartition(number, files, records, digest, _joined(ranges), tuple(problems))


def _range(path: Path, end: int) -> Range:
    """Return the offsets in the file's name.

    Raises:
        ValueError: the file is no archive file, or its offsets overlap the file before it.
    """
    named = _NAMED.fullmatch(path.name)
    if named is None:
        problem = "not the name of an archive file"
        raise ValueError(problem)
    first, following = int(named[1]), int(named[2]) + 1
    if not end <= first < following:
        problem = f"overlaps the file before it, which ends at offset {end}"
        raise ValueError(problem)
    return first, following


def _sum(path: Path, named: Range) -> tuple[int, int]:
    """Return number and digest of the file's rows.

    Raises:
        ValueError: a row lies outside of the named offsets.
    """
    records, digest = 0, 0
    for row in read(path):
        if not named[0] <= row.offset < named[1]:
            problem = f"holds offset {row.offset}, which its name excludes"
            raise ValueError(problem)
        records, digest = records + 1, add(digest, hash_of(row))
    return records, digest


def _joined(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Return the ranges with neighbours joined."""
    joined: list[Range] = []
    for first, following in ranges:
        if joined and joined[-1][1] == first:
            joined[-1] = joined[-1][0], following
        else:
            joined.append((first, following))
    return tuple(joined)


def _at_ranges(manifest: Manifest, file: ArchiveFile, ranges: tuple[Range, ...]) -> tuple[int, int]:
    """Return number and digest of the file's rows in `ranges`.

    Read the file only if the ranges cover a part of it.
    """
    if any(first <= file.first_offset and file.next_offset <= end for first, end in ranges):
        return file.rows, from_hex(file.digest)
    if not any(first < file.next_offset and file.first_offset < end for first, end in ranges):
        return 0, 0
    records, digest = 0, 0
    for row in checked_rows(manifest.storage, file.source):
        if any(first <= row.offset < end for first, end in ranges):
            records, digest = records + 1, add(digest, hash_of(row))
    return records, digest


def _verdict(former: FormerPartition, manifest: Manifest, records: int, digest: int) -> str:
    if manifest.next_offset(former.partition) < former.end:
        return BEHIND
    if (records, digest) != (former.records, former.digest):
        return DIFFERS
    return UNREADABLE if former.problems else EQUAL
