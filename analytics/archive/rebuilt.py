"""Compare an archive that was written again with the files of the former one.

The former manifest may be lost or damaged, so no list states the content of the former files. But
the name of each file states its partition and offsets. This module compares the rows at these
offsets in both archives.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from analytics.archive.checked import checked_rows
from analytics.archive.entries import ArchiveFile
from analytics.archive.former import FormerPartition, Range
from analytics.archive.manifest import Manifest
from analytics.archive.rows import hash_of
from analytics.digest import add, as_hex, from_hex

EQUAL: Final = "equal"
DIFFERS: Final = "differs"
UNREADABLE: Final = "unreadable"
BEHIND: Final = "not written again yet"


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The comparison of one partition in the former and in the new archive.

    `records` counts the new archive's records at the offsets that the former files cover. `digest`
    is the digest of these records. `verdict` is `EQUAL`, `DIFFERS`, `UNREADABLE` or `BEHIND`.
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
        """Return True if the new archive holds other records at the former offsets."""
        return self.verdict == DIFFERS

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as a JSON object."""
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


def compare(former: Iterable[FormerPartition], manifest: Manifest) -> Iterator[Rebuilt]:
    """Compare each former partition with the same partition of the new archive. Yield the results.

    `former` are the partitions of the former archive. `manifest` lists the files of the new one.

    Raises:
        BrokenArchive: a file of the new archive is missing or was changed.
    """
    for one in former:
        records, digest = 0, 0
        for file in manifest.files(one.partition):
            more, part = _at_ranges(manifest, file, one.ranges)
            records, digest = records + more, add(digest, part)
        yield Rebuilt(one, records, digest, _verdict(one, manifest, records, digest))


def _at_ranges(manifest: Manifest, file: ArchiveFile, ranges: tuple[Range, ...]) -> tuple[int, int]:
    """Return number and digest of the file's rows in `ranges`.

    If one range covers all offsets of the file, take number and digest from the manifest. Read the
    file only if the ranges cover some of its offsets, but no range covers all.
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
