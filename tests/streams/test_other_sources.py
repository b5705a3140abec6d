"""A source topic that is not the one of the state halts whoever would go on in it."""

import asyncio
from pathlib import Path

import pytest

from cdc.contracts.progress import HEADER
from cdc.contracts.topics import ON_HAND_CHANGELOG, STOCK_EVENTS
from streams.engine.memory import MemoryBroker
from streams.engine.mismatch import LogMismatch
from streams.engine.records import LogRecord
from streams.engine.restore import restore
from streams.engine.snapshot import Snapshot
from tests.golden.workers import kept
from tests.streams.lives import GENERATION, PARTITION
from tests.streams.test_engine import sold_history
from tests.streams.test_snapshot import lived, restored, taken


def made_anew(broker: MemoryBroker, sales: int) -> None:
    """Another source topic under the same name, with so many sales."""
    broker.delete(STOCK_EVENTS, PARTITION)
    for record in sold_history(sales).topics[STOCK_EVENTS, PARTITION]:
        broker.produce(STOCK_EVENTS, PARTITION, record.key, record.value)


def halts(broker: MemoryBroker, snapshot: Snapshot | None = None) -> str:
    with pytest.raises(LogMismatch) as halted:
        asyncio.run(restore(PARTITION, GENERATION, broker, snapshot))
    return str(halted.value)


@pytest.mark.parametrize("sales", [5, 6, 40])
def test_a_source_made_anew_halts_a_worker_that_never_saw_the_one_before(sales: int) -> None:
    broker = sold_history(5)
    lived(broker)

    made_anew(broker, sales)

    assert f"state comes from {STOCK_EVENTS}:0" in halts(broker)


def test_a_snapshot_does_not_hide_that_the_source_was_made_anew(tmp_path: Path) -> None:
    broker = sold_history(5)
    snapshot = taken(broker, tmp_path)

    made_anew(broker, 40)

    assert f"state comes from {STOCK_EVENTS}:0" in halts(broker, snapshot)


def test_progress_of_version_1_knows_no_topic_and_is_gone_on_from() -> None:
    broker = sold_history(5)
    lived(broker)
    levels = broker.topics[ON_HAND_CHANGELOG, PARTITION]
    last = levels[-1]
    told = next(row for row in kept("progress", 1) if b'"next_offset":6,' in row)
    levels[-1] = LogRecord(last.offset, last.key, last.value, ((HEADER, told),))

    found = restored(broker)

    assert found.next_offset == 6
    assert found.progress().source_topic_id == f"{STOCK_EVENTS}:0"
