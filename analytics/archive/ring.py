"""The dedupe ring of a partition as the archive's own files give it, without the broker."""

from collections.abc import Sequence
from contextlib import suppress

from analytics.archive.checked import checked_rows
from analytics.archive.manifest import ArchiveFile, Manifest
from analytics.archive.rows import RESENT
from cdc.contracts.decode import Malformed, decode
from inventory.dedupe import HORIZON_US, Ring


def ring_at(
    manifest: Manifest, partition: int, end: int, *, newest_commit_us: int | None, streamed: bool
) -> Ring:
    """The ring behind the records before `end`, which is archived.

    `newest_commit_us` and `streamed` are what it knows there; they say which files are read.
    """
    files = [file for file in manifest.files(partition) if file.first_offset < end]
    ring = Ring()
    first = _first_remembered(files, newest_commit_us, streamed=streamed)
    if first > 0:
        known = files[first - 1]
        ring.resume(
            newest_commit_us=known.newest_commit_us,
            highest_lsn=known.highest_lsn,
            streamed=known.streamed,
        )
    for file in files[first:]:
        for row in checked_rows(manifest.directory, file.source):
            if row.offset >= end:
                return ring
            with suppress(Malformed):  # it is no member, whatever earlier code took it for
                record = decode(row.key, row.value, offset=row.offset)
                if row.admission == RESENT:  # its first coming may lie in a file before these
                    ring.take_again(record)
                else:
                    ring.replay(record)
    return ring


def _first_remembered(
    files: Sequence[ArchiveFile], newest_commit_us: int | None, *, streamed: bool
) -> int:
    """Index of the first file that may hold members of a ring that knows so much besides them.

    Commit times up to an earlier file lie before the horizon, so its records are forgotten. While
    the snapshot lasts nothing is.
    """
    if not streamed or newest_commit_us is None:
        return 0
    horizon_us = newest_commit_us - HORIZON_US
    return next(
        number
        for number, file in enumerate(files)
        if file.newest_commit_us is not None and file.newest_commit_us >= horizon_us
    )
