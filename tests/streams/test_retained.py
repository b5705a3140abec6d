"""A restore stops if window rows are missing. The level record states how many there must be."""

from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG
from inventory.model.ids import InvKey
from streams.engine.memory import MemoryBroker
from streams.engine.mismatch import LogMismatch
from tests.streams.lives import PARTITION
from tests.streams.test_engine import Step, history
from tests.streams.test_snapshot import everything, lived, restored, taken

WINDOWS = SALES_WINDOWS_CHANGELOG, PARTITION
LEVELS = ON_HAND_CHANGELOG, PARTITION
DAY_MS = 86_400_000
WINDOW_US = 600_000_000
SALES: list[Step] = [("sale", 0, 1, WINDOW_US)] * 4


def sold() -> MemoryBroker:
    """Return a broker with four window rows of one key, each written by its own chunk."""
    broker = history(SALES)
    lived(broker, size=1)
    assert len(broker.topics[WINDOWS]) == 4
    return broker


def halts(broker: MemoryBroker) -> str:
    with pytest.raises(LogMismatch) as halted:
        restored(broker)
    return str(halted.value)


def test_truncated_window_rows_halt_a_restore() -> None:
    broker = sold()

    broker.cut(*WINDOWS, broker.topics[WINDOWS][2].offset)

    assert "has 2 of the 4 rows of S1|A: it was truncated" in halts(broker)


@pytest.mark.parametrize("lost", range(3))
def test_a_single_missing_window_row_halts_a_restore(lost: int) -> None:
    broker = sold()

    del broker.topics[WINDOWS][lost]

    assert "has 3 of the 4 rows" in halts(broker)


def test_a_restore_halts_if_all_earlier_window_rows_are_missing() -> None:
    broker = sold()

    broker.topics[WINDOWS].clear()

    assert "has 1 of the 4 rows" in halts(broker)


def test_a_missing_window_row_that_the_level_includes_does_not_halt_a_restore() -> None:
    broker = sold()
    whole = restored(broker)

    del broker.topics[WINDOWS][3]

    assert everything(restored(broker)) == everything(whole)


def test_compaction_and_expiry_remove_no_required_window_row() -> None:
    broker = history([*SALES, ("sale", 0, 1, 100 * 3_600_000_000), *SALES])
    lived(broker, size=1)
    whole = restored(broker)

    for topic in (ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG):
        broker.compact(topic, PARTITION)

    assert everything(restored(broker)) == everything(whole)


def test_a_restore_does_not_need_window_rows_older_than_the_snapshot(tmp_path: Path) -> None:
    broker = sold()
    snapshot = taken(broker, tmp_path)
    whole = restored(broker)

    broker.cut(*WINDOWS, snapshot.positions[SALES_WINDOWS_CHANGELOG])

    with capture_logs() as logs:
        assert everything(restored(broker, snapshot)) == everything(whole)
    assert not [entry for entry in logs if entry["event"] == "snapshot discarded"]


def test_a_restore_does_not_require_window_rows_beyond_the_retention_time() -> None:
    broker = history([*SALES, ("sale", 1, 1, WINDOW_US)])
    lived(broker, size=1)
    levels = broker.topics[LEVELS]
    broker.cut(*WINDOWS, broker.topics[WINDOWS][2].offset)

    levels[-1] = replace(levels[-1], at_ms=389 * DAY_MS)
    assert "has 2 of the 4 rows" in halts(broker)

    levels[-1] = replace(levels[-1], at_ms=390 * DAY_MS)
    assert len(restored(broker).published[InvKey("S1|A")].windows) == 2


def test_a_level_of_an_earlier_release_without_row_count_is_restored() -> None:
    broker = sold()
    levels = broker.topics[LEVELS]
    levels[:] = [
        replace(r, headers=tuple(h for h in r.headers if h[0] != "retained")) for r in levels
    ]
    broker.cut(*WINDOWS, broker.topics[WINDOWS][2].offset)

    assert len(restored(broker).published[InvKey("S1|A")].windows) == 2


def test_window_rows_without_their_level_halt_a_restore() -> None:
    """After a tombstone, compaction deletes the level, and later the tombstone itself."""
    broker = sold()
    other = history([("sale", 1, 1, WINDOW_US)])
    lived(other, size=1)
    kept = [record for record in broker.topics[LEVELS] if record.headers][-1]
    foreign = replace(other.topics[LEVELS][-1], offset=kept.offset, headers=kept.headers)

    broker.topics[LEVELS] = [foreign]

    assert "has no level of S1|A" in halts(broker)


def test_a_restore_without_levels_replays_from_the_first_record() -> None:
    broker = sold()

    broker.topics[LEVELS].clear()

    assert restored(broker).next_offset == 0
