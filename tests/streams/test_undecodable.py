"""A worker rejects an undecodable record. Too many among the last thousand stop it."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from cdc.contracts.topics import STOCK_EVENTS, STOCK_REJECTED
from streams.engine.loop import handle_chunk
from streams.engine.memory import MemoryBroker
from streams.engine.records import SourceRecord
from streams.engine.restore import restore
from streams.engine.snapshot import Snapshot, load, save
from streams.engine.store import OwnedPartition
from streams.engine.undecodable import SchemaBreak, Undecodable
from tests.streams import facts
from tests.streams.lives import GENERATION, PARTITION, source_of

MOST = 10  # of 1,000


def topic(*bad: int, records: int) -> MemoryBroker:
    """Return a partition of sales with undecodable records at the offsets `bad`."""
    broker = MemoryBroker()
    for offset in range(records):
        at_us = facts.DAY_0_US + offset * 1_000_000
        sale = facts.sale(id_=offset + 1, key="S1|A", units=1, amount=100, at_us=at_us)
        change = facts.change("sale_line", after=sale, lsn=1_000 + offset, commit_us=at_us)
        value = b"?" if offset in bad else change
        broker.produce(STOCK_EVENTS, PARTITION, b"S1|A", value, at_ms=at_us // 1000)
    return broker


def chunks(broker: MemoryBroker, start: int, size: int) -> Iterator[Sequence[SourceRecord]]:
    source = source_of(broker)
    for begin in range(start, len(source), size):
        yield source[begin : begin + size]


def live(broker: MemoryBroker, size: int, snapshot: Snapshot | None = None) -> OwnedPartition:
    """Run a worker from the last run's end to the topic's end or the halt. Return its partition."""

    async def fold() -> OwnedPartition:
        owned = await restore(PARTITION, GENERATION, broker, snapshot)
        writer = broker.writer(PARTITION)
        for chunk in chunks(broker, owned.next_offset, size):
            await handle_chunk(chunk, owned, writer)
        return owned

    return asyncio.run(fold())


def rejected(broker: MemoryBroker) -> int:
    return len(broker.topics[STOCK_REJECTED, PARTITION])


@pytest.mark.parametrize("size", [7, 1_000, 5_000])
def test_few_undecodable_records_are_rejected_without_stopping_the_worker(size: int) -> None:
    broker = topic(*range(100, 100 + MOST), 1_100, records=1_101)

    owned = live(broker, size)

    assert owned.next_offset == 1_101
    assert rejected(broker) == MOST + 1


@pytest.mark.parametrize(("size", "last"), [(1, 10), (7, 500), (9, 999), (5_000, 999)])
def test_scattered_undecodable_records_above_the_limit_stop_the_worker(
    size: int, last: int
) -> None:
    broker = topic(*range(MOST), last, records=1_001)

    with pytest.raises(SchemaBreak) as stopped:
        live(broker, size)

    assert str(stopped.value).startswith(
        f"{STOCK_EVENTS}[{PARTITION}]: 11 of the last 1000 records up to offset {last} can't be "
        "decoded as Debezium's envelope (limit 1 %); the last one: "
    )


def test_a_restarted_worker_stops_at_the_same_undecodable_record() -> None:
    broker = topic(*range(1, MOST + 1), 20, records=40)
    for _life in range(3):
        with pytest.raises(SchemaBreak, match="up to offset 20 "):
            live(broker, size=1)

    assert rejected(broker) == MOST


def test_a_snapshot_stores_which_records_were_undecodable(tmp_path: Path) -> None:
    broker = topic(*range(1, MOST + 1), records=900)
    save(live(broker, size=90), tmp_path)
    snapshot = load(tmp_path, PARTITION, GENERATION)
    assert snapshot is not None
    broker.produce(STOCK_EVENTS, PARTITION, b"S1|A", b"?")

    with pytest.raises(SchemaBreak, match="up to offset 900 "):
        live(broker, 1, snapshot)


def test_undecodable_records_between_snapshot_and_progress_are_counted(tmp_path: Path) -> None:
    broker = topic(*range(1, MOST), 30, records=20)
    save(live(broker, size=1), tmp_path)
    for record in topic(0, records=2).topics[STOCK_EVENTS, PARTITION]:
        broker.produce(STOCK_EVENTS, PARTITION, record.key, record.value)
    live(broker, size=1)

    owned = live(broker, 1, load(tmp_path, PARTITION, GENERATION))

    assert owned.undecodable.offsets == (*range(1, MOST), 20)


def counted(permille: int, offsets: Iterable[int]) -> int:
    """Return how many undecodable records a worker reads until it stops, or 0 if it never stops."""
    known = Undecodable(PARTITION)
    known.permille = permille
    for number, offset in enumerate(offsets, 1):
        try:
            known.add(offset, "?")
        except SchemaBreak:
            return number
    return 0


def test_the_limit_of_undecodable_records_can_be_raised() -> None:
    assert counted(0, range(5)) == 1
    assert counted(10, range(5_000)) == 11
    assert counted(999, range(5_000)) == 1_000
    assert counted(1_000, range(5_000)) == 0
