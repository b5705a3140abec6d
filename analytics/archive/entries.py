"""One line of an archive's manifest: its fields, its JSON form, and the error `BrokenArchive`."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final, get_type_hints

from analytics.damage import Damage
from cdc.contracts.versions import UnreadableRecord, built, document_of, known

KIND: Final = "archive_file"
SCHEMA: Final = known(KIND)[-1]
FORMER_SCHEMA: Final = 1
REARCHIVE: Final = "inventory backfill rearchive --yes"
KEPT: Final = "no file was changed, nothing was computed or published"
UNLISTED: Final = "inventory backfill clean --yes"
STEP: Final = f"`{REARCHIVE}` moves the archive away and writes it again from stock.events"
FORMER: Final = (
    "this line is of an earlier release (schema 1). Such a line has no checksum and no hash of the "
    "previous line, so damage can't be detected"
)


class BrokenArchive(Damage):
    """The archive contradicts itself or the topic. No command may compute from such an archive."""


def broken(problem: str) -> BrokenArchive:
    """Return the error for a damaged archive of this stack.

    Its text has the problem, what was kept, and the next step.
    """
    return BrokenArchive(problem, KEPT, STEP)


@dataclass(frozen=True, slots=True)
class Source:
    """The fields of one archive file that a reader needs to check it."""

    file: str  # relative to the archive
    partition: int
    first_offset: int
    next_offset: int
    rows: int
    bytes: int
    sha256: str

    @property
    def position_text(self) -> str:
        """Return partition and offsets, for messages."""
        return f"stock.events[{self.partition}]@{self.first_offset} to {self.next_offset}"


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """One Parquet file: records [first_offset, next_offset) of one partition, sorted by offset.

    `previous_next_offset` and `previous_hash` are the `next_offset` and the hash of the partition's
    previous line. They are 0 and "" in the partition's first line.
    """

    file: str  # relative to the archive
    generation: int
    partition: int
    first_offset: int
    next_offset: int
    rows: int
    digest: str
    newest_commit_us: int | None  # newest commit (µs) of the partition up to next_offset
    highest_lsn: int | None  # highest LSN of the partition up to next_offset
    streamed: bool  # True if a change (op c, u, d) before next_offset ended Debezium's snapshot
    fact_end: int  # offset after the last record before next_offset that is not a heartbeat
    bytes: int = 0
    sha256: str = ""
    previous_next_offset: int = 0
    previous_hash: str = ""
    schema: int = SCHEMA

    @property
    def source(self) -> Source:
        """Return the fields with which a reader checks the file."""
        return Source(
            file=self.file,
            partition=self.partition,
            first_offset=self.first_offset,
            next_offset=self.next_offset,
            rows=self.rows,
            bytes=self.bytes,
            sha256=self.sha256,
        )

    @property
    def expected_name(self) -> str:
        """Return the only valid name for a file with these offsets."""
        return file_name(self.partition, self.first_offset, self.next_offset)


def file_name(partition: int, first_offset: int, next_offset: int) -> str:
    """Return a file's path in the archive: `partition=3/seq-000000000400-000000000799.parquet`."""
    return f"partition={partition}/seq-{first_offset:012d}-{next_offset - 1:012d}.parquet"


def line_of(file: ArchiveFile) -> bytes:
    """Return the manifest line of `file`: JSON without the newline."""
    return json.dumps(asdict(file), sort_keys=True, separators=(",", ":")).encode()


def parsed(
    line: bytes, position: str, damaged: Callable[[str], BrokenArchive] = broken
) -> ArchiveFile:
    """Parse a manifest line of any released schema. Return the file that the line lists.

    Raises:
        BrokenArchive: the line is malformed, or of an unknown schema. `damaged` builds the error.
    """
    try:
        row: dict[str, Any] = document_of(KIND, line)
        return built(KIND, row, _typed)
    except UnreadableRecord as error:
        problem = f"{position}: not an archive line: {line!r:.120}: {error}"
        raise damaged(problem) from error


def _typed(row: dict[str, Any]) -> ArchiveFile:
    file = ArchiveFile(**row)
    for name, kind in get_type_hints(ArchiveFile).items():
        if not isinstance(getattr(file, name), kind):
            problem = f"{name} is {getattr(file, name)!r}"
            raise TypeError(problem)
    return file
