"""Read the files of a former archive without its manifest, which may be damaged.

The name of each file has the partition and the offsets of its records.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from analytics.archive.entries import broken
from analytics.archive.names import HEAD, MANIFEST, present
from analytics.archive.rows import hash_of, read
from analytics.digest import add

_NAMED: Final = re.compile(r"seq-(\d{12})-(\d{12})\.parquet")
_PARTITION: Final = "partition="
Range = tuple[int, int]  # offsets [first, next)


@dataclass(frozen=True, slots=True)
class FormerPartition:
    """Files of one partition of a former archive.

    `ranges` are the offsets of its readable files, in order and without overlap. `records` is the
    number of records in these files, and `digest` covers the same records. `problems` has one text
    for each unreadable file.
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


def has_files(directory: Path) -> bool:
    """Return True if a partition's directory has a file with the name of an archive file."""
    return any(_NAMED.fullmatch(path.name) for path in directory.glob(f"{_PARTITION}*/*"))


def refuse_lost_manifest(directory: Path) -> None:
    """Raise `BrokenArchive` if manifest and head are both missing, but archive files are there.

    Without this check the directory would count as a new archive, and the archiver would delete
    the files. An empty manifest lists nothing, so it counts as missing. No crash leaves files
    without a head, because the archiver writes the first head before the first file.
    """
    manifest = present(directory, MANIFEST)
    is_listed = manifest.exists() and manifest.stat().st_size > 0
    if is_listed or present(directory, HEAD).exists() or not has_files(directory):
        return
    lost = (
        f"{MANIFEST} is empty and {HEAD} is missing"
        if manifest.exists()
        else f"{MANIFEST} and {HEAD} are missing"
    )
    problem = f"{directory} has archive files, but {lost}"
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
        ValueError: the file has another form of name, its last offset is below its first, or its
            first offset is below `end`. The previous readable file ends at `end`.
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
        ValueError: a row lies outside of `named`, the offsets in the file's name.
    """
    records, digest = 0, 0
    for row in read(path):
        if not named[0] <= row.offset < named[1]:
            problem = f"holds offset {row.offset}, which is outside the range in the file's name"
            raise ValueError(problem)
        records, digest = records + 1, add(digest, hash_of(row))
    return records, digest


def _joined(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Merge adjacent ranges: [0, 5) and [5, 9) become [0, 9)."""
    joined: list[Range] = []
    for first, following in ranges:
        if joined and joined[-1][1] == first:
            joined[-1] = joined[-1][0], following
        else:
            joined.append((first, following))
    return tuple(joined)
