"""The id of the topic from which an archive was made, as the broker assigned it.

A deleted and recreated topic has the same name and, after a while, the same offsets. An archive
that continued from the new topic would join two histories. An archive of an earlier release has no
id. Its last records identify the topic instead: the topic must hold the same bytes at the same
offsets.
"""

import json
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from analytics import kafka
from analytics.archive.checked import checked_rows
from analytics.archive.entries import broken
from analytics.archive.manifest import Manifest
from analytics.archive.names import SOURCE, present
from analytics.archive.storage import Location, Storage, read_document, storage_of
from analytics.archive.writer import Arrival, arrival
from cdc.contracts.topics import STOCK_EVENTS
from cdc.contracts.versions import UnreadableRecord, built, document_of, known
from cdc.settings import Connections

KIND: Final = "archive_source"
_ID: Final = "topic_id"


def source_id(archive: Location | Storage) -> str | None:
    """Return the id of the archived topic, or None for an archive of an earlier release.

    Raises:
        BrokenArchive: the file with the id is malformed, or of an unknown schema.
    """
    storage = storage_of(archive)
    try:
        row = document_of(KIND, read_document(storage, SOURCE), default_version=1)
        return built(KIND, row, lambda found: str(found[_ID]))
    except FileNotFoundError:
        return None
    except UnreadableRecord as error:
        problem = f"{storage.at(SOURCE)}: {error}"
        raise storage.broken(problem) from error


def refuse_other_log(settings: Connections, next_offsets: Mapping[int, int]) -> None:
    """Raise `BrokenArchive` unless the broker's topic continues the archive at `next_offsets`.

    The topic must be the archived one. The next offset of each partition must be in the topic or at
    its end. If the archive has no topic id, write the id after the check: the id makes later checks
    cheaper.
    """
    directory = settings.archive_dir
    topic_id = kafka.topic_id(settings.kafka_bootstrap, STOCK_EVENTS)
    refuse_other_source(directory, topic_id)
    _refuse_other_offsets(settings, next_offsets)
    if source_id(directory) is None:
        _refuse_other_records(settings)
        write_source_id(directory, topic_id)


def refuse_other_source(directory: Path, topic_id: str) -> None:
    """Raise `BrokenArchive` if the archive has the id of another topic."""
    known = source_id(directory)
    if known not in (None, topic_id):
        problem = (
            f"{directory} was written from {STOCK_EVENTS} with id {known}, but the broker's "
            f"topic has id {topic_id}: the topic was deleted and recreated"
        )
        raise broken(problem)


def _refuse_other_offsets(settings: Connections, next_offsets: Mapping[int, int]) -> None:
    topic = settings.kafka_bootstrap, STOCK_EVENTS, settings.partitions
    first, end = kafka.start_offsets(*topic), kafka.end_offsets(*topic)
    for number, expected in next_offsets.items():
        if not first[number] <= expected <= end[number]:
            problem = (
                f"{STOCK_EVENTS}[{number}] holds offsets {first[number]} to {end[number]}, but "
                f"the archive continues at {expected}: the topic was truncated or recreated"
            )
            raise broken(problem)


def _refuse_other_records(settings: Connections) -> None:
    """Raise `BrokenArchive` unless the topic holds each partition's last archived record.

    A record contains its times and its LSN, so no other history has the same record.
    """
    archived = _last_records(Manifest(settings.archive_dir))
    tail = kafka.Tail(
        settings.kafka_bootstrap,
        STOCK_EVENTS,
        settings.partitions,
        {number: last.offset for number, last in archived.items()},
    )
    ends = {number: last.offset + 1 for number, last in archived.items()}
    found = {
        message.partition(): arrival(message)
        for message in tail.read_until(ends, deadline=time.monotonic() + kafka.TIMEOUT_S)
        if message.error() is None
    }
    for number, last in archived.items():
        if found.get(number) != last:
            problem = (
                f"{settings.archive_dir} ends with another record at {STOCK_EVENTS}[{number}]"
                f"@{last.offset} than the broker's topic: the topic was deleted and recreated"
            )
            raise broken(problem)


def _last_records(manifest: Manifest) -> dict[int, Arrival]:
    """Return the last archived record of each partition that has archived records."""
    newest = {file.partition: file for file in manifest.all_files()}  # all_files is in offset order
    found: dict[int, Arrival] = {}
    for number, file in newest.items():
        [row] = deque(checked_rows(manifest.storage, file.source), maxlen=1)
        found[number] = Arrival(row.offset, row.kafka_timestamp_ms, row.key, row.value)
    return found


def write_source_id(directory: Path, topic_id: str) -> None:
    """Write the topic id into the archive, unless the archive already has an id."""
    if source_id(directory) is not None:
        return
    path = directory / SOURCE
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(_encoded(topic_id))
    temporary.replace(path)


def refuse_changed_source(directory: Path) -> None:
    """Raise `BrokenArchive` unless `_source.json` has the bytes that `write_source_id` writes."""
    path = present(directory, SOURCE)
    found = source_id(directory)
    if found is None or path.read_bytes() != _encoded(found):
        problem = f"{path}: changed after it was written"
        raise broken(problem)


def _encoded(topic_id: str) -> bytes:
    return json.dumps({"schema": known(KIND)[-1], "topic": STOCK_EVENTS, _ID: topic_id}).encode()
