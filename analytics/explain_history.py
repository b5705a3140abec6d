"""A key's archived log: the offsets of its rows, a former state, and its late window changes.

One pass over the key's archived records with the workers' own fold finds all three. The facts in
Postgres give what was true at a business time. Only the log gives what was known at that time, and
a window as it was before a late change.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

from analytics.archive.checked import checked_rows
from analytics.archive.manifest import ArchiveFile, Manifest, open_manifest
from analytics.archive.rows import MALFORMED
from cdc.contracts.decode import decode
from cdc.settings import Connections
from inventory.fold.record import Applied, FoldResult, fold
from inventory.log.dedupe import Admission
from inventory.model.record import Record
from inventory.model.state import KeyState, WindowRow

RowOffsets = dict[tuple[str, int], list[int]]


@dataclass(frozen=True, slots=True)
class Revision:
    """A closed window after one late change, and the row that changed it."""

    offset: int
    table: str
    id: int
    op: str
    start_us: int
    sold_units: int
    returned_units: int
    revenue_minor: int
    late_lines: int
    window_revision: int


@dataclass(frozen=True, slots=True)
class History:
    """Offsets of each row's changes, late window changes in log order, and the requested state.

    Without a requested time, `state` is the newest state. Otherwise it is the newest state whose
    stream time is not after the requested time. It is None if there was no such state, or if
    nothing is archived.
    """

    row_offsets: RowOffsets
    revisions: tuple[Revision, ...]
    state: KeyState | None


def history_of(
    settings: Connections, key: str, number: int, *, until_us: int | None = None
) -> History:
    """Fold all archived records of `key`. Return offsets, late changes and the state at `until_us`.

    `until_us` is compared with the key's stream time, which follows the commit times of a live key
    and the business times of a replayed key.
    """
    row_offsets: RowOffsets = {}
    revisions: list[Revision] = []
    state: KeyState | None = None
    then: KeyState | None = None
    for record, admission, generation in _records(settings, key, number):
        table, row_id = record.table, _row_id(record)
        if row_id is not None:
            row_offsets.setdefault((table, row_id), []).append(record.offset)
        folded = fold(state, record, admission, generation)
        revisions += _revisions(record, row_id, state, folded)
        state = folded.state
        if until_us is None or _clock_us(state) <= until_us:
            then = state
    return History(row_offsets, tuple(revisions), then)


def _records(
    settings: Connections, key: str, number: int
) -> Iterator[tuple[Record, Admission, int]]:
    """Yield the key's archived records in log order, each with its verdict and generation."""
    manifest = open_manifest(settings.archive_location)
    for file in manifest.files(number):
        for record, admission in _of_file(manifest, file, key.encode()):
            yield record, admission, file.generation


def _of_file(
    manifest: Manifest, file: ArchiveFile, key: bytes
) -> Iterator[tuple[Record, Admission]]:
    found = checked_rows(manifest.storage, file.source, bucket=crc32(key), buckets=1 << 32)
    for row in found:
        if row.key == key and row.admission != MALFORMED:
            record = decode(row.key, row.value, offset=row.offset)
            yield record, Admission[row.admission.upper()]


def _row_id(record: Record) -> int | None:
    image = record.after if isinstance(record.after, dict) else record.before
    return image.get("id", 0) if isinstance(image, dict) else None


def _clock_us(state: KeyState | None) -> int:
    known = None if state is None else state.stream_time_us
    return 0 if known is None else known


def _revisions(
    record: Record, row_id: int | None, before: KeyState | None, folded: FoldResult
) -> Iterator[Revision]:
    if not isinstance(folded, Applied):
        return
    for start_us in folded.windows_changed:
        after = folded.state.windows.get(start_us)
        was = None if before is None else before.windows.get(start_us)
        if after is not None and after.window_revision > (was.window_revision if was else 0):
            yield _revision(record, row_id or 0, after)


def _revision(record: Record, row_id: int, row: WindowRow) -> Revision:
    return Revision(
        offset=record.offset,
        table=record.table,
        id=row_id,
        op=record.op,
        start_us=row.start_us,
        sold_units=row.sold_units,
        returned_units=row.returned_units,
        revenue_minor=row.revenue_minor,
        late_lines=row.late_lines,
        window_revision=row.window_revision,
    )
