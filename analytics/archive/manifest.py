"""Which archive files exist: one JSON line per file, appended after the file is safely on disk.

Readers follow the manifest only. A crash between the file and its line leaves an orphan that the
next run writes again under the same name; a crash inside the line leaves a torn tail that is cut.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from cdc.contracts.versions import known

SCHEMA: Final = known("archive_file")[-1]
MANIFEST: Final = "manifest.jsonl"


class BrokenArchive(RuntimeError):
    """The archive contradicts itself or the topic; nothing may be computed from it."""


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """One Parquet file: records [first_offset, next_offset) of one partition, offset-sorted."""

    file: str  # relative to the archive
    generation: int
    partition: int
    first_offset: int
    next_offset: int
    rows: int
    digest: str
    newest_commit_us: int | None  # of the partition, up to and including this file
    highest_lsn: int | None  # likewise
    streamed: bool  # whether the partition's snapshot phase is over, likewise
    fact_end: int  # offset after the partition's last record that is no heartbeat, up to here
    schema: int = SCHEMA


class Manifest:
    """The files of one archive, in the order in which they were written."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._path = directory / MANIFEST
        self._files: dict[int, list[ArchiveFile]] = {}
        self._read_to = 0
        self.refresh()

    def files(self, partition: int) -> tuple[ArchiveFile, ...]:
        """Files of the partition in offset order, without gap or overlap."""
        return tuple(self._files.get(partition, ()))

    def all_files(self) -> tuple[ArchiveFile, ...]:
        """Every file, by partition and offset."""
        return tuple(file for part in sorted(self._files) for file in self._files[part])

    def next_offset(self, partition: int) -> int:
        """Offset of the first record of the partition that is not archived."""
        files = self._files.get(partition)
        return files[-1].next_offset if files else 0

    def fact_end(self, partition: int) -> int:
        """Offset after the last archived record that can change a key: heartbeats can't."""
        files = self._files.get(partition)
        return files[-1].fact_end if files else 0

    def covers(self, ends: Mapping[int, int]) -> bool:
        """Whether every record before the given end offsets is archived."""
        return all(self.next_offset(partition) >= end for partition, end in ends.items())

    def refresh(self) -> None:
        """Take in lines appended since the last look; an unfinished last line waits."""
        if not self._path.exists():
            return
        with self._path.open("rb") as stream:
            stream.seek(self._read_to)
            content = stream.read()
        whole = content.rfind(b"\n") + 1
        for line in content[:whole].splitlines():
            self._take(_parsed(line, self._path))
        self._read_to += whole

    def append(self, file: ArchiveFile) -> None:
        """List `file`; it must already be on disk under its final name."""
        self._check(file)
        line = json.dumps(asdict(file), sort_keys=True, separators=(",", ":")) + "\n"
        with self._path.open("ab") as stream:
            stream.write(line.encode())
            stream.flush()
            os.fsync(stream.fileno())
        self._read_to += len(line.encode())
        self._files.setdefault(file.partition, []).append(file)

    def cut_torn_tail(self) -> None:
        """Remove a line that a crash left unfinished; only the archiver may call this."""
        if self._path.exists() and self._path.stat().st_size > self._read_to:
            with self._path.open("r+b") as stream:
                stream.truncate(self._read_to)

    def _take(self, file: ArchiveFile) -> None:
        self._check(file)
        self._files.setdefault(file.partition, []).append(file)

    def _check(self, file: ArchiveFile) -> None:
        expected = self.next_offset(file.partition)
        known = self._files.get(file.partition)
        if known and file.first_offset < expected:
            problem = (
                f"{self._path}: {file.file} starts at {file.first_offset}, but partition "
                f"{file.partition} is archived up to {expected}"
            )
            raise BrokenArchive(problem)


def _parsed(line: bytes, path: Path) -> ArchiveFile:
    try:
        row: dict[str, Any] = json.loads(line)
        if row["schema"] != SCHEMA:
            problem = f"{path}: schema {row['schema']!r} is not known here, {SCHEMA} is"
            raise BrokenArchive(problem)
        return ArchiveFile(**row)
    except (ValueError, TypeError, KeyError) as error:
        problem = f"{path}: not an archive line: {line!r:.120}: {error}"
        raise BrokenArchive(problem) from error
