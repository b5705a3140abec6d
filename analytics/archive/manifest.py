"""The list of archive files: one JSON line per file, appended after the file is flushed to disk.

Each line names the next offset and the hash of its partition's previous line. So a removed,
repeated, moved or changed line breaks the chain. The chain can't reveal lines missing at its end.

`_head.json`, the head, states the manifest's valid length and is replaced after each line. Readers
use only the lines that the head covers. A crash before the head is replaced leaves bytes that the
old head doesn't cover. Readers ignore these bytes, and the next archiver truncates them.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from analytics.archive.entries import (
    FORMER,
    FORMER_SCHEMA,
    KEPT,
    ArchiveFile,
    BrokenArchive,
    line_of,
    parsed,
)
from analytics.archive.head import Head, read_head, write_head
from analytics.archive.names import HEAD, MANIFEST, present, use_present_names
from analytics.archive.storage import (
    Directory,
    Location,
    NoArchive,
    Storage,
    read_document,
    storage_of,
)


class Manifest:
    """The files of one archive, by partition and in offset order."""

    def __init__(self, archive: Location | Storage) -> None:
        self.storage = storage_of(archive)
        self._files: dict[int, list[ArchiveFile]] = {}
        self._hashes: dict[int, str] = {}
        self._content = hashlib.sha256()
        self._lines = 0
        self._read_to = 0
        self.refresh()

    @property
    def directory(self) -> Path:
        """Return the local directory, for programs that write.

        Raises:
            NoArchive: the archive is at a URL.
        """
        if isinstance(self.storage, Directory):
            return self.storage.path
        problem = f"{self.storage}: an archive at a URL can only be read"
        raise NoArchive(problem, "no file was changed", "use the archive of the stack")

    @property
    def path(self) -> Path:
        """Return the local file of the manifest."""
        return present(self.directory, MANIFEST)

    def files(self, partition: int) -> tuple[ArchiveFile, ...]:
        """Return the partition's files in offset order. No record is missing or in two files.

        Offsets between two files had no record, for example those of transaction markers.
        """
        return tuple(self._files.get(partition, ()))

    def all_files(self) -> tuple[ArchiveFile, ...]:
        """Return every file, sorted by partition and offset."""
        return tuple(file for part in sorted(self._files) for file in self._files[part])

    def next_offset(self, partition: int) -> int:
        """Return the offset of the partition's first record that is not archived."""
        files = self._files.get(partition)
        return files[-1].next_offset if files else 0

    def fact_end(self, partition: int) -> int:
        """Return the offset after the last archived record that is not a heartbeat."""
        files = self._files.get(partition)
        return files[-1].fact_end if files else 0

    def covers(self, ends: Mapping[int, int]) -> bool:
        """Return True if every record before the given end offsets is archived."""
        return all(self.next_offset(partition) >= end for partition, end in ends.items())

    def refresh(self) -> None:
        """Read the lines that the head covers now and that were not read before.

        Raises:
            BrokenArchive: manifest and head differ, or a line doesn't continue its partition.
        """
        head = read_head(self.storage)
        if head is None:
            self._refuse_without_head()
            return
        self._take_lines(self._read(head.bytes))
        self._compare(head)

    def append(self, file: ArchiveFile) -> ArchiveFile:
        """Append the line of `file`, which must already be on disk.

        Return `file` with its chain fields. `previous_next_offset` and `previous_hash` are set
        here, because the caller can't know them.
        """
        listed = replace(
            file,
            previous_next_offset=self.next_offset(file.partition),
            previous_hash=self._hashes.get(file.partition, ""),
        )
        self._check(listed)
        line = line_of(listed)
        with self.path.open("ab") as stream:
            stream.write(line + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
        self._take(listed, line)
        write_head(self.directory, self._head())
        return listed

    def recover(self) -> None:
        """Prepare the archive for new lines. Only the holder of the archive's lock may call this.

        Rename the files of the first release to their present names. Truncate the bytes that the
        head doesn't cover: the topic still has the records that these bytes list. Write the first
        head of a new archive.
        """
        use_present_names(self.directory)
        if self.path.exists() and self.path.stat().st_size > self._read_to:
            with self.path.open("r+b") as stream:
                stream.truncate(self._read_to)
        if read_head(self.storage) is None:
            write_head(self.directory, self._head())

    def behind_head(self) -> int:
        """Return the number of bytes in the manifest that its head doesn't cover."""
        return self.path.stat().st_size - self._read_to if self.path.exists() else 0

    def _read(self, end: int) -> bytes:
        if end < self._read_to:
            problem = (
                f"{self.storage.at(HEAD)} covers {end} bytes, but covered {self._read_to} before"
            )
            raise self.storage.broken(problem)
        try:
            return read_document(self.storage, MANIFEST, self._read_to, end)
        except FileNotFoundError as error:
            if not end:
                return b""
            problem = f"{self._name}: missing, but {HEAD} covers {end} bytes of it"
            raise self.storage.broken(problem) from error

    def _take_lines(self, content: bytes) -> None:
        *lines, rest = content.split(b"\n")
        for line in lines:
            file = parsed(line, self._position(), self.storage.broken)
            self._refuse_former(file)
            self._check(file)
            self._take(file, line)
        if rest:
            problem = f"{self._position()}: ends in the middle of a line: {rest!r:.120}"
            raise self.storage.broken(problem)

    def _take(self, file: ArchiveFile, line: bytes) -> None:
        self._files.setdefault(file.partition, []).append(file)
        self._hashes[file.partition] = hashlib.sha256(line).hexdigest()
        self._content.update(line + b"\n")
        self._lines += 1
        self._read_to += len(line) + 1

    def _check(self, file: ArchiveFile) -> None:
        """Raise `BrokenArchive` unless the line of `file` continues the lines of its partition.

        The line must name the next offset and the hash of the partition's previous line. Its first
        offset must be at or after that next offset, and its file name must fit its offsets.
        """
        end, known = self.next_offset(file.partition), self._hashes.get(file.partition, "")
        position = f"{self._position()}: partition {file.partition}, {file.file}"
        if file.previous_next_offset != end:
            problem = (
                f"{position}: follows offset {file.previous_next_offset}, but the previous line "
                f"ends at {end}. So a line of offsets {min(end, file.previous_next_offset)} to "
                f"{max(end, file.previous_next_offset)} was removed, doubled or moved"
            )
            raise self.storage.broken(problem)
        if file.previous_hash != known:
            problem = (
                f"{position}: expected the hash {file.previous_hash!r:.14} of the previous line, "
                f"up to offset {end}, but found {known!r:.14}: that line was changed"
            )
            raise self.storage.broken(problem)
        self._check_offsets(file, position, end)

    def _check_offsets(self, file: ArchiveFile, position: str, end: int) -> None:
        is_ordered = end <= file.first_offset < file.next_offset
        if not is_ordered:
            problem = (
                f"{position} holds offsets {file.first_offset} to {file.next_offset}, but "
                f"partition {file.partition} is archived up to {end}"
            )
            raise self.storage.broken(problem)
        if file.file != file.expected_name:
            problem = f"{position}: expected the name {file.expected_name}"
            raise self.storage.broken(problem)

    def _compare(self, head: Head) -> None:
        if self._read_to != head.bytes:
            problem = (
                f"{self._name} has {self._read_to} bytes, but {HEAD} covers {head.bytes}: "
                "the last lines are missing. Next offsets in the head: "
                f"{head.next_offsets()}, in the manifest: {self._head().next_offsets()}"
            )
            raise self.storage.broken(problem)
        if head != self._head():
            problem = (
                f"{self._name}: the {self._lines} lines don't fit {HEAD}, so a line or the head "
                f"was changed. Next offsets in the head: {head.next_offsets()}, in the manifest: "
                f"{self._head().next_offsets()}"
            )
            raise self.storage.broken(problem)

    def _head(self) -> Head:
        ends = {
            number: (self.next_offset(number), hashed) for number, hashed in self._hashes.items()
        }
        return Head(self._read_to, self._content.hexdigest(), dict(sorted(ends.items())))

    def _refuse_without_head(self) -> None:
        try:
            line, _, _ = read_document(self.storage, MANIFEST).partition(b"\n")
        except FileNotFoundError:
            return
        if not line:
            return
        self._refuse_former(parsed(line, self._position(), self.storage.broken))
        problem = f"{self.storage.at(HEAD)}: missing, so the end of {MANIFEST} is unknown"
        raise self.storage.broken(problem)

    def _refuse_former(self, file: ArchiveFile) -> None:
        if file.schema == FORMER_SCHEMA:
            problem = f"{self._position()}: {FORMER}"
            raise self.storage.broken(problem)

    @property
    def _name(self) -> str:
        return self.storage.at(MANIFEST)

    def _position(self) -> str:
        return f"{self._name} line {self._lines + 1}"


def open_manifest(archive: Location) -> Manifest:
    """Return the manifest of the stack's archive (a Path), or of a named archive (a str).

    Raises:
        NoArchive: the named archive doesn't exist or lists no file.
        BrokenArchive: the archive is damaged.
    """
    found = Manifest(archive)
    if isinstance(archive, str) and not found.all_files():
        problem = f"{found.storage}: not an archive: the directory or its {HEAD} is missing"
        step = "name the directory that holds _manifest.jsonl, or copy the archive to it"
        raise NoArchive(problem, KEPT, step)
    return found


__all__ = ["ArchiveFile", "BrokenArchive", "Manifest", "open_manifest"]
