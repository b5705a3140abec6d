"""Rebuild a partition's dedupe ring from the archive's files, without the broker."""

from collections.abc import Sequence
from contextlib import suppress

from analytics.archive.checked import checked_rows
from analytics.archive.manifest import ArchiveFile, Manifest
from analytics.archive.rows import RESENT
from cdc.contracts.decode import Malformed, decode
from inventory.log.dedupe import HORIZON_US, Ring


def ring_at(
    manifest: Manifest, partition: int, end: int, *, newest_commit_us: int | None, streamed: bool
) -> Ring:
    """Return the dedupe ring after all records before offset `end`, which must be archived.

    `newest_commit_us` and `streamed` are the ring's values at `end`: its newest commit time, and
    True if Debezium's snapshot is over. These values determine the oldest file to read.
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
        for row in checked_rows(manifest.storage, file.source):
            if row.offset >= end:
                return ring
            with suppress(Malformed):  # the ring holds no malformed records
                record = decode(row.key, row.value, offset=row.offset)
                if row.admission == RESENT:  # the first delivery may be in an earlier file
                    ring.note_resent(record)
                else:
                    ring.replay(record)
    return ring


def _first_remembered(
    files: Sequence[ArchiveFile], newest_commit_us: int | None, *, streamed: bool
) -> int:
    """Return the index of the first file that may hold records whose identities the ring keeps.

    The ring keeps the identities of records committed in the last two minutes before
    `newest_commit_us`. Until Debezium's snapshot is over, the ring keeps all: the index is 0.
    """
    if not streamed or newest_commit_us is None:
        return 0
    horizon_us = newest_commit_us - HORIZON_US
    return next(
        number
        for number, file in enumerate(files)
        if file.newest_commit_us is not None and file.newest_commit_us >= horizon_us
    )
