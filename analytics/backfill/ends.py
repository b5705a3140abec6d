"""Find the end offset of each partition for a run, from any form of `--until`.

A broker is needed for the present end of the log, and for records that are not archived yet.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from analytics import kafka
from analytics.archive.checked import checked_content, checked_rows
from analytics.archive.complete import Report, archive_until, no_report
from analytics.archive.manifest import Manifest, open_manifest
from analytics.archive.writer import HEARTBEAT_TABLE
from analytics.backfill.plan import UnknownRun, ends_of_run
from analytics.damage import Damage
from cdc.contracts.partition import partition_of
from cdc.contracts.times import time_text, us_of
from cdc.contracts.topics import STOCK_EVENTS
from cdc.settings import Connections

ARCHIVED: Final = "archived"
Until = str | Mapping[int, int] | None


class NoBroker(Damage):
    """The run needs records that only a broker has."""


def history(
    settings: Connections, until: Until, *, runs: Path, report: Report = no_report
) -> tuple[Manifest, dict[int, int]]:
    """Return the manifest and the end offset of each partition.

    First archive the records before these ends that are not archived yet (decision 0040). `report`
    gets the progress of archiving.

    | `until` | end of each partition |
    |---|---|
    | offsets by partition | these offsets |
    | a run's name, `last` | the ends of that run |
    | `archived` | after the last archived record that is not a heartbeat; no broker is asked |
    | a time: `2026-03-02` or `2026-03-02T06:00` | before the first commit at or after this time |
    | None | after the last committed record that is not a heartbeat |

    With a named archive no broker is used, so None means `archived`.

    Raises:
        NoArchive: the named archive doesn't exist, or its server can't be used.
        UnknownRun: no such run exists and the text is not a time, another release wrote the run, or
            nothing is archived.
        NoBroker: records are needed that are not archived, and `settings` name no broker.
        ArchiveBehind: the archive did not reach the offsets in time.
    """
    if until is None and not settings.archive:
        return _committed(settings, report)
    if until in (None, ARCHIVED):
        manifest = open_manifest(settings.archive_location)
        return manifest, _fact_ends(manifest, settings)
    if isinstance(until, str):
        at_us = time_us(until)
        if at_us is not None:
            return _before(settings, at_us, report)
        until = ends_of_run(runs, until)
    ends, manifest = dict(until), open_manifest(settings.archive_location)
    if not manifest.covers(ends):
        _refuse_without_broker(settings, manifest)
        manifest = archive_until(settings, ends, report=report)
        # The archive is complete. Offsets between its last record and an end hold no record.
        ends = {number: min(end, manifest.next_offset(number)) for number, end in ends.items()}
    return manifest, ends


def time_us(text: str) -> int | None:
    """Return an ISO 8601 time in µs since 1970 UTC; None for other text. Default zone: UTC."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return us_of(at if at.tzinfo else at.replace(tzinfo=UTC))


def ends_before(manifest: Manifest, partitions: int, at_us: int) -> dict[int, int]:
    """Return per partition the offset of the first archived record committed at or after `at_us`.

    Without such a record, return the end of the partition's archived records.
    """
    return {number: _end_before(manifest, number, at_us) for number in range(partitions)}


def _end_before(manifest: Manifest, number: int, at_us: int) -> int:
    for file in manifest.files(number):
        if file.newest_commit_us is None or file.newest_commit_us < at_us:
            continue
        content = pa.BufferReader(checked_content(manifest.storage, file.source))
        columns = pq.read_table(content, columns=["offset", "commit_us"]).to_pydict()
        for offset, commit_us in zip(columns["offset"], columns["commit_us"], strict=True):
            if commit_us is not None and commit_us >= at_us:
                return int(offset)
    return manifest.next_offset(number)


def _before(settings: Connections, at_us: int, report: Report) -> tuple[Manifest, dict[int, int]]:
    manifest = open_manifest(settings.archive_location)
    numbers = range(_partitions(settings, manifest))
    newest = [
        max((file.newest_commit_us or 0 for file in manifest.files(number)), default=0)
        for number in numbers
    ]
    # Without a broker a partition without archived records counts as empty.
    known = newest if _has_broker(settings) else [at for at in newest if at]
    reached_us = min(known, default=0)
    if reached_us < at_us:
        manifest, _ = _committed(settings, report)
    return manifest, ends_before(manifest, len(numbers), at_us)


def _committed(settings: Connections, report: Report) -> tuple[Manifest, dict[int, int]]:
    _refuse_without_broker(settings, open_manifest(settings.archive_location))
    ends = kafka.end_offsets(settings.kafka_bootstrap, STOCK_EVENTS, settings.partitions)
    manifest = archive_until(settings, ends, report=report)
    return manifest, _fact_ends(manifest, settings)


def _refuse_without_broker(settings: Connections, manifest: Manifest) -> None:
    if not _has_broker(settings):
        newest = max((file.newest_commit_us or 0 for file in manifest.all_files()), default=0)
        why = (
            "no command adds records to a named archive"
            if settings.archive
            else "no stack runs here"
        )
        problem = (
            f"{manifest.storage} ends at {time_text(newest)} UTC; newer records are needed, but "
            f"{why}"
        )
        archived = "add `--until archived`"
        step = archived if settings.archive else f"start a stack with `inventory up`, or {archived}"
        raise NoBroker(problem, "nothing was computed", step)


def _has_broker(settings: Connections) -> bool:
    return bool(settings.kafka_bootstrap) and not settings.archive


def _partitions(settings: Connections, manifest: Manifest) -> int:
    """Return the number of partitions of the archived topic.

    Without a named archive, return the number in the settings. A named archive may come from a
    topic with another number of partitions:
    - Its files have more partitions than the settings: return the number of the files.
    - Its files have fewer, but its keys are distributed over as many partitions as in the settings:
      return the number in the settings. The last partitions have no records yet.
    - Its files have fewer, and its keys are distributed otherwise: return the number of the files.
    """
    named = max((file.partition + 1 for file in manifest.all_files()), default=0)
    is_less = settings.archive and 0 < named < settings.partitions
    if is_less and not _is_hashed_over(manifest, settings.partitions):
        return named
    return max(named, settings.partitions) if settings.archive else settings.partitions


def _is_hashed_over(manifest: Manifest, partitions: int) -> bool:
    """Return True if the archived keys were distributed over `partitions` partitions.

    Only the first file of each partition is checked.
    """
    first = {file.partition: file for file in reversed(manifest.all_files())}
    return all(
        partition_of(row.key, partitions) == number
        for number, file in first.items()
        for row in checked_rows(manifest.storage, file.source)
        if row.key is not None and row.table not in (None, HEARTBEAT_TABLE)
    )


def _fact_ends(manifest: Manifest, settings: Connections) -> dict[int, int]:
    ends = {number: manifest.fact_end(number) for number in range(_partitions(settings, manifest))}
    if not any(ends.values()):
        problem = f"{manifest.storage}: no record is archived"
        step = "`inventory backfill run` without --until archives the log of a running stack"
        raise UnknownRun(problem, "nothing was computed", step)
    return ends
