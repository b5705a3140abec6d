"""The restore of a partition from its two changelogs and the recent part of its source topic.

A snapshot only shortens the restore. If the changelogs contradict the snapshot, the restore reads
the complete changelogs.

Faust's own recovery is not used. It waits for the record at the last offset. So it never ends if
that offset has a transaction marker or its record was compacted away. Here a reader ends when its
position reaches the end.
"""

import structlog

from cdc.contracts.progress import Progress, progress_in
from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG, STOCK_EVENTS
from cdc.contracts.versions import UnreadableRecord
from inventory.errors import BrokenInvariant
from inventory.fold.partition import Partition
from streams.engine.assembly import Assembly
from streams.engine.mismatch import (
    REPAIR,
    LogMismatch,
    Topics,
    refuse_other_generation,
    refuse_other_source,
    refuse_truncated_levels,
    refuse_unfinished,
)
from streams.engine.records import Fenced, Log
from streams.engine.rings import rebuild_ring
from streams.engine.snapshot import Snapshot
from streams.engine.store import OwnedPartition

CHANGELOGS = (ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG)
# Number of offsets, at the end of a range, in which to search for the newest progress. Each chunk
# writes a progress with its last level.
TAIL = 64
START = Progress(0, None, None, streamed=False)

logger = structlog.get_logger(__name__)


async def restore(
    number: int, generation: int, log: Log, snapshot: Snapshot | None = None
) -> OwnedPartition:
    """Return the partition with the state after its last acknowledged chunk.

    Initialise the partition's producer first. From then on the former owner can't write to the
    changelogs. A snapshot that contradicts the changelogs is discarded with a logged warning.

    Raises:
        LogMismatch: the state comes from another source topic, the source topic lacks the state's
            next offset, or a changelog is truncated or of another generation.
        UnreadableRecord: a changelog record has an unknown version.
        BrokenInvariant: the changelogs contradict each other.
        Fenced: another worker wrote to the changelogs during the restore.
    """
    names = (*CHANGELOGS, STOCK_EVENTS)
    ids = await log.topic_ids(names)
    topics = Topics(ids, {topic: await log.bounds(topic, number) for topic in names})
    refuse_truncated_levels(number, topics.bounds[ON_HAND_CHANGELOG][0])
    owned = None
    if snapshot is not None:
        problem = await _contradiction(snapshot, topics, log)
        if problem is None:
            try:
                owned = await _restored(number, generation, log, topics, snapshot)
            except (BrokenInvariant, LogMismatch) as error:
                problem = str(error)
        if problem is not None:
            logger.warning("snapshot discarded", partition=number, reason=problem)
    if owned is None:
        owned = await _restored_from_start(number, generation, log, topics)
    owned.topic_ids = dict(ids)
    return owned


async def _restored_from_start(
    number: int, generation: int, log: Log, topics: Topics
) -> OwnedPartition:
    try:
        return await _restored(number, generation, log, topics, None)
    except (BrokenInvariant, LogMismatch) as error:
        await _refuse_overtaken(number, topics, log, error)
        raise


async def _refuse_overtaken(number: int, topics: Topics, log: Log, seen: Exception) -> None:
    """Raise `Fenced` if a changelog grew during the restore. The growth explains the error `seen`.

    This process has written nothing yet. So another worker has initialised a newer producer.
    """
    for topic in CHANGELOGS:
        _, end = await log.bounds(topic, number)
        if end != topics.bounds[topic][1]:
            problem = (
                f"partition {number}: another worker has written to {topic} during the restore: "
                f"the topic ended at {topics.bounds[topic][1]}, and now it ends at {end}"
            )
            raise Fenced(problem) from seen


async def _contradiction(snapshot: Snapshot, topics: Topics, log: Log) -> str | None:
    """Return the reason why the snapshot doesn't belong to these changelogs, or None if it does."""
    for topic in CHANGELOGS:
        # Comparing positions alone is not enough. If a changelog was rebuilt with other chunk
        # sizes, it may have the same progress at the same offset and still other window rows.
        if snapshot.topic_ids.get(topic) != topics.ids[topic]:
            return f"{topic} was deleted and recreated since the snapshot was taken"
        first, end = topics.bounds[topic]
        position = snapshot.positions.get(topic, -1)
        if not first <= position <= end:
            return f"{topic} has offsets {first}..{end}, the snapshot was taken at {position}"
    at = snapshot.positions[ON_HAND_CHANGELOG]
    first, _ = topics.bounds[ON_HAND_CHANGELOG]
    newest = await newest_progress(snapshot.number, max(first, at - TAIL), at, log)
    if newest is None:
        return f"{ON_HAND_CHANGELOG} has no progress in the {TAIL} offsets before {at}"
    # A topic has the same id after the broker has lost its last records. So compare the progress
    # too.
    if newest.next_offset != snapshot.changelog_next_offset:
        return (
            f"{ON_HAND_CHANGELOG} has the progress {newest.next_offset} before offset {at}, "
            f"but the snapshot was taken at progress {snapshot.changelog_next_offset}"
        )
    return None


async def newest_progress(number: int, start: int, end: int, log: Log) -> Progress | None:
    """Return the last progress in the offsets [start, end) of the level changelog, or None.

    A progress names the next source offset to fold. Each chunk that changes a key writes one with
    its last level.
    """
    newest = None
    async for batch in log.read(ON_HAND_CHANGELOG, number, start, end):
        for record in batch:
            newest = progress_in(record.headers) or newest
    return newest


async def _restored(
    number: int, generation: int, log: Log, topics: Topics, base: Snapshot | None
) -> OwnedPartition:
    assembly = Assembly(number) if base is None else Assembly(number, base.cold, base.open_keys)
    for topic in reversed(CHANGELOGS):
        first, end = topics.bounds[topic]
        start = first if base is None else base.positions[topic]
        await _read(topic, number, (start, end), log, assembly)
    refuse_unfinished(number, assembly.progress)
    refuse_other_generation(number, generation, assembly.generation)
    progress = assembly.progress or (START if base is None else base.progress)
    refuse_other_source(number, progress, topics)
    partition = Partition(generation)
    cold = await assembly.states(progress.next_offset)
    undecodable = await rebuild_ring(partition.ring, number, progress, log, base)
    owned = OwnedPartition(number, partition, progress, cold, assembly.open_keys)
    owned.undecodable.remember(undecodable)
    owned.changelog_end = topics.bounds[ON_HAND_CHANGELOG][1]
    owned.positions = {topic: topics.bounds[topic][1] for topic in CHANGELOGS}
    owned.restored_records = assembly.records
    if base is not None and assembly.progress is None:
        owned.changelog_next_offset = base.changelog_next_offset
    return owned


async def _read(
    topic: str, number: int, offsets: tuple[int, int], log: Log, assembly: Assembly
) -> None:
    """Add every record of the changelog's partition to `assembly`.

    Raises:
        UnreadableRecord: names the position of a record that this code can't read.
        LogMismatch: a record is a tombstone. No worker writes tombstones. Compaction
            removes all earlier records of a tombstone's key.
    """
    async for batch in log.read(topic, number, *offsets):
        for record in batch:
            if record.value is None:
                problem = (
                    f"{topic}[{number}]@{record.offset} is a tombstone, which no worker writes; "
                    f"{REPAIR}"
                )
                raise LogMismatch(problem)
            try:
                if topic == ON_HAND_CHANGELOG:
                    assembly.add_level(record.value, record.headers, record.at_ms)
                else:
                    assembly.add_window(record.value)
            except UnreadableRecord as unreadable:
                raise unreadable.at(topic, number, record.offset) from unreadable
