"""A worker stops if a source topic is not the one from which its state was folded."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from cdc.contracts.progress import HEADER, RING_HEADER
from cdc.contracts.topics import ON_HAND_CHANGELOG, STOCK_EVENTS
from streams.engine.memory import MemoryBroker
from streams.engine.mismatch import LogMismatch
from streams.engine.records import LogRecord
from streams.engine.restore import restore
from streams.engine.snapshot import Snapshot
from tests.golden.workers import kept
from tests.streams.lives import GENERATION, PARTITION
from tests.streams.test_engine import history, sold_history
from tests.streams.test_snapshot import everything, lived, restored, taken


def recreated(broker: MemoryBroker, sales: int) -> None:
    """Delete the source topic and create it again with `sales` other sales."""
    broker.delete(STOCK_EVENTS, PARTITION)
    for record in sold_history(sales).topics[STOCK_EVENTS, PARTITION]:
        broker.produce(STOCK_EVENTS, PARTITION, record.key, record.value)


def halts(broker: MemoryBroker, snapshot: Snapshot | None = None) -> str:
    with pytest.raises(LogMismatch) as halted:
        asyncio.run(restore(PARTITION, GENERATION, broker, snapshot))
    return str(halted.value)


@pytest.mark.parametrize("sales", [5, 6, 40])
def test_a_restore_halts_if_the_source_topic_was_recreated(sales: int) -> None:
    broker = sold_history(5)
    lived(broker)

    recreated(broker, sales)

    assert f"state comes from {STOCK_EVENTS}:0" in halts(broker)


def test_a_restore_from_a_snapshot_halts_if_the_source_topic_was_recreated(tmp_path: Path) -> None:
    broker = sold_history(5)
    snapshot = taken(broker, tmp_path)

    recreated(broker, 40)

    assert f"state comes from {STOCK_EVENTS}:0" in halts(broker, snapshot)


def streamed(sales: int, gap_us: int) -> MemoryBroker:
    """Return a broker with `sales` folded sales of one key, `gap_us` apart."""
    broker = history([("sale", 0, 1, gap_us)] * sales)
    lived(broker)
    return broker


@pytest.mark.parametrize("first", range(1, 6))
def test_a_restore_halts_if_records_of_the_dedupe_ring_are_truncated(first: int) -> None:
    broker = streamed(6, gap_us=1_000_000)

    broker.cut(STOCK_EVENTS, PARTITION, first)

    assert f"begins at offset {first}: it was truncated" in halts(broker)


def test_a_restore_takes_the_dedupe_ring_from_the_snapshot(tmp_path: Path) -> None:
    broker = sold_history(5)
    snapshot = taken(broker, tmp_path)
    whole = restored(broker)

    broker.cut(STOCK_EVENTS, PARTITION, 3)

    assert everything(restored(broker, snapshot)) == everything(whole)


def test_a_restore_does_not_need_source_records_older_than_the_dedupe_ring() -> None:
    broker = streamed(9, gap_us=100_000_000)  # the ring's 120 s contain the last two
    whole = restored(broker)

    for first in (5, whole.progress().ring_from):
        broker.cut(STOCK_EVENTS, PARTITION, first)
        assert everything(restored(broker)) == everything(whole)

    broker.cut(STOCK_EVENTS, PARTITION, first + 1)
    assert "it was truncated" in halts(broker)


def test_a_restore_halts_if_a_ring_record_before_a_clock_change_is_truncated() -> None:
    """Postgres' clock was set back and forth. So the ring has the first change, not the second."""
    steps_us = (0, -3_600_000_000, 3_600_000_000, 0, 1_000_000)
    broker = history([("sale", 0, 1, gap_us) for gap_us in steps_us])
    lived(broker)
    assert everything(restored(broker))

    broker.cut(STOCK_EVENTS, PARTITION, 1)

    assert "begins at offset 1: it was truncated" in halts(broker)


def test_a_restore_without_ring_header_needs_the_whole_source_topic() -> None:
    broker = streamed(9, gap_us=100_000_000)
    whole = restored(broker)
    levels = broker.topics[ON_HAND_CHANGELOG, PARTITION]
    headers = tuple(header for header in levels[-1].headers if header[0] != RING_HEADER)
    levels[-1] = replace(levels[-1], headers=headers)

    assert everything(restored(broker)) == everything(whole)

    broker.cut(STOCK_EVENTS, PARTITION, 1)
    assert "begins at offset 1: it was truncated" in halts(broker)


def test_a_restore_halts_if_unread_source_records_are_truncated() -> None:
    broker = streamed(3, gap_us=1_000_000)
    for record in sold_history(9).topics[STOCK_EVENTS, PARTITION]:
        broker.produce(STOCK_EVENTS, PARTITION, record.key, record.value)

    broker.cut(STOCK_EVENTS, PARTITION, 7)

    assert "has offsets 7..13, but the state continues at 3" in halts(broker)


def test_a_restore_continues_from_progress_of_version_1_without_topic_id() -> None:
    broker = sold_history(5)
    lived(broker)
    levels = broker.topics[ON_HAND_CHANGELOG, PARTITION]
    last = levels[-1]
    told = next(row for row in kept("progress", 1) if b'"next_offset":6,' in row)
    levels[-1] = LogRecord(last.offset, last.key, last.value, ((HEADER, told),))

    found = restored(broker)

    assert found.next_offset == 6
    assert found.progress().source_topic_id == f"{STOCK_EVENTS}:0"


def test_a_restore_halts_if_the_state_is_of_another_generation() -> None:
    """A position with a lower generation is never newer, so the worker would skip all records."""
    broker = sold_history(5)
    lived(broker)

    with pytest.raises(
        LogMismatch, match=r"generation 1, but this worker is of generation 9"
    ) as halted:
        asyncio.run(restore(PARTITION, 9, broker))

    assert halted.value.repair == "inventory down && inventory up --detach"
