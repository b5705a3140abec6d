"""A restore discards a snapshot that contradicts the changelogs. The loss costs only time."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

from structlog.testing import capture_logs

from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG, STOCK_EVENTS
from streams.engine.memory import MemoryBroker
from streams.engine.snapshot import Snapshot, load, save
from tests.streams.lives import GENERATION, PARTITION, expected, source_of
from tests.streams.test_engine import history, sold_history
from tests.streams.test_snapshot import (
    chunk_after_chunk,
    documents,
    everything,
    lived,
    restored,
    taken,
)


def contradicted(broker: MemoryBroker, snapshot: Snapshot) -> str:
    """Return the reason for discarding the snapshot. Assert that the restore is correct anyway."""
    with capture_logs() as logs:
        warm = restored(broker, snapshot)
    assert everything(warm) == everything(restored(broker))
    found = [entry for entry in logs if entry["event"] == "snapshot discarded"]
    assert len(found) == 1, json.dumps(logs, default=str)
    return str(found[0]["reason"])


def test_a_snapshot_ahead_of_the_changelog_is_discarded(tmp_path: Path) -> None:
    broker = sold_history(12)
    snapshot = taken(broker, tmp_path)
    ahead = {topic: offset + 50 for topic, offset in snapshot.positions.items()}

    assert "the snapshot was taken at" in contradicted(broker, replace(snapshot, positions=ahead))


def test_a_snapshot_of_a_deleted_changelog_is_discarded(tmp_path: Path) -> None:
    snapshot = taken(sold_history(12), tmp_path)

    assert "has offsets 0..0" in contradicted(sold_history(12), snapshot)


def test_a_snapshot_with_offsets_later_than_its_content_is_discarded(
    tmp_path: Path,
) -> None:
    broker = sold_history(30)
    source = broker.topics[STOCK_EVENTS, PARTITION]
    broker.topics[STOCK_EVENTS, PARTITION] = source[:9]
    snapshot = taken(broker, tmp_path)
    broker.topics[STOCK_EVENTS, PARTITION] = source
    claimed = lived(broker).positions

    assert "has the progress" in contradicted(broker, replace(snapshot, positions=claimed))


def rebuilt(broker: MemoryBroker) -> None:
    """Delete both changelogs."""
    for topic in (ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG):
        broker.delete(topic, PARTITION)


def test_a_snapshot_of_changelogs_recreated_is_discarded(tmp_path: Path) -> None:
    """A rebuild with other chunk sizes keeps the levels' offsets, but moves window rows."""
    in_window, next_window = ("sale", 0, 1, 1_000_000), ("sale", 0, 1, 600_000_000)
    broker = history(
        [
            ("range", 0, 1, 0),
            *(in_window, in_window, in_window),
            *(next_window, in_window),
            *(next_window, in_window),
            *(next_window, next_window),
        ]
    )
    whole = broker.topics[STOCK_EVENTS, PARTITION]
    broker.topics[STOCK_EVENTS, PARTITION] = whole[:8]
    asyncio.run(chunk_after_chunk(broker, [3, 2, 2, 1], [3], tmp_path))
    snapshot = load(tmp_path, PARTITION, GENERATION)
    assert snapshot is not None

    rebuilt(broker)
    asyncio.run(chunk_after_chunk(broker, [4, 2, 1, 1], [], tmp_path / "none"))
    broker.topics[STOCK_EVENTS, PARTITION] = whole
    asyncio.run(chunk_after_chunk(broker, [1], [], tmp_path / "none"))

    assert "deleted and recreated" in contradicted(broker, snapshot)
    assert documents(restored(broker, snapshot)) == expected(source_of(broker)).states


def test_a_snapshot_saved_after_a_restore_serves_the_next_restart(tmp_path: Path) -> None:
    """The second file has the progress of the changelog, not that of the first file."""
    broker = sold_history(12)
    broker.produce(STOCK_EVENTS, PARTITION, b"S1|A", b"no change event")
    save(lived(broker, 13), tmp_path)  # the last record is a separate chunk
    snapshot = load(tmp_path, PARTITION, GENERATION)
    assert snapshot is not None
    save(restored(broker, snapshot), tmp_path)

    twice = restored(broker, load(tmp_path, PARTITION, GENERATION))

    assert snapshot.progress.next_offset > snapshot.changelog_next_offset
    assert twice.restored_records == 0


def test_a_snapshot_is_discarded_if_the_broker_lost_the_end_of_the_changelog(
    tmp_path: Path,
) -> None:
    """The offset exists again, but the changelog has another progress there."""
    broker = sold_history(12)
    source = broker.topics[STOCK_EVENTS, PARTITION]
    broker.topics[STOCK_EVENTS, PARTITION] = source[:9]
    snapshot = taken(broker, tmp_path)
    broker.topics[STOCK_EVENTS, PARTITION] = source[:6]
    rebuilt(broker)
    lived(broker, 2)
    ids = {topic: broker.topic_id(topic) for topic in snapshot.topic_ids}

    assert "has the progress" in contradicted(broker, replace(snapshot, topic_ids=ids))


def test_a_snapshot_is_discarded_if_no_changelog_progress_is_near_its_offset(
    tmp_path: Path,
) -> None:
    broker = sold_history(12)
    snapshot = taken(broker, tmp_path)
    at = snapshot.positions[ON_HAND_CHANGELOG]
    records = broker.topics[ON_HAND_CHANGELOG, PARTITION]
    broker.topics[ON_HAND_CHANGELOG, PARTITION] = [
        replace(record, offset=record.offset + 1_000) for record in records
    ]
    there = {**snapshot.positions, ON_HAND_CHANGELOG: at + 500}

    assert "has no progress" in contradicted(broker, replace(snapshot, positions=there))


def test_a_snapshot_that_is_newer_than_its_changelogs_is_discarded(
    tmp_path: Path,
) -> None:
    broker = sold_history(12)
    ahead = taken(broker, tmp_path)
    old = sold_history(12)
    source = old.topics[STOCK_EVENTS, PARTITION]
    old.topics[STOCK_EVENTS, PARTITION] = source[:6]
    lived(old)
    back = {topic: min(2, offset) for topic, offset in ahead.positions.items()}

    assert contradicted(old, replace(ahead, positions=back))
