"""`_head.json`: the valid length of an archive's manifest and each partition's next offset.

The hash chain of the lines can't reveal that the last lines are missing, but the head can. The
archiver replaces the head after each line: it writes a temporary file, flushes and renames it. So
the head is at most one line behind the manifest and never ahead of it.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analytics.archive.names import HEAD
from analytics.archive.storage import Location, Storage, read_document, storage_of
from cdc.contracts.versions import UnreadableRecord, built, document_of, known

KIND: Final = "archive_head"


@dataclass(frozen=True, slots=True)
class Head:
    """The valid part of a manifest: its length in bytes and its SHA-256.

    `partitions` maps each partition to its next offset and the hash of its last line.
    """

    bytes: int
    sha256: str
    partitions: dict[int, tuple[int, str]]

    def next_offsets(self) -> dict[int, int]:
        """Return the next offset of each partition."""
        return {number: next_offset for number, (next_offset, _hash) in self.partitions.items()}


def read_head(archive: Location | Storage) -> Head | None:
    """Return the head, or None if there is no file.

    Raises:
        BrokenArchive: the file differs from the bytes that `write_head` writes.
    """
    storage = storage_of(archive)
    try:
        content = read_document(storage, HEAD)
        head = built(KIND, document_of(KIND, content), _head)
    except FileNotFoundError:
        return None
    except UnreadableRecord as error:
        problem = f"{storage.at(HEAD)}: {error}"
        raise storage.broken(problem) from error
    if content != _encoded(head):
        problem = f"{storage.at(HEAD)}: changed after it was written"
        raise storage.broken(problem)
    return head


def write_head(directory: Path, head: Head) -> None:
    """Replace the head atomically. A crash leaves the former head."""
    temporary = directory / f"{HEAD}.tmp"
    with temporary.open("wb") as stream:
        stream.write(_encoded(head))
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(directory / HEAD)


def _encoded(head: Head) -> bytes:
    row = {
        "schema": known(KIND)[-1],
        "bytes": head.bytes,
        "sha256": head.sha256,
        "partitions": {
            str(number): {"next_offset": next_offset, "hash": hashed}
            for number, (next_offset, hashed) in head.partitions.items()
        },
    }
    return json.dumps(row, indent=1).encode() + b"\n"


def _head(row: dict[str, Any]) -> Head:
    partitions = {
        int(number): (int(end["next_offset"]), str(end["hash"]))
        for number, end in row["partitions"].items()
    }
    return Head(int(row["bytes"]), str(row["sha256"]), partitions)
