"""Properties of a log that readers must handle: order, equal LSNs, crashes (docs/domain.md 10)."""

import asyncio
import itertools
from dataclasses import replace

import pytest

from cdc.contracts.state import decode_window, encode_state
from cdc.contracts.topics import SALES_WINDOWS_CHANGELOG
from inventory.model.ids import InvKey
from inventory.model.record import Record
from tests.inventory.builders import KEY, MONDAY_US, sale
from tests.regressions.shop import fold_all
from tests.streams.lives import PARTITION, Crashes, live
from tests.streams.test_engine import HOUR_US, Step, history

OTHER = "LONDON|22423"
NOON_US = MONDAY_US + 12 * HOUR_US


def sold(offset: int, row_id: int, *, lsn: int, key: str = KEY, op: str = "c") -> Record:
    row = {"recorded_at": NOON_US, **sale(row_id, 1, NOON_US, amount=100)}
    before, after = (row, None) if op == "d" else (None, row)
    return Record(offset, key, "sale_line", op, before, after, lsn, NOON_US)


SALES: list[Step] = [
    ("sale", 0, 2, HOUR_US // 60),
    ("sale", 0, 3, HOUR_US // 60),
    ("sale", 0, 1, HOUR_US),
    ("count", 0, 4, 1_000_000),
    ("old_sale", 0, 1, 0),
    ("sale", 0, 2, 30 * HOUR_US),
]


@pytest.mark.parametrize("killed_at", range(1, 12))
def test_faust_193_faust_pr_412_windows_survive_a_killed_worker(killed_at: int) -> None:
    whole = asyncio.run(live(history(SALES), Crashes(), itertools.repeat(2), iter(())))

    crashes = Crashes(frozenset({killed_at}))
    killed = asyncio.run(live(history(SALES), crashes, itertools.repeat(2), iter([0])))

    kept = killed.published
    assert len(whole.published[InvKey("S1|A")].windows) > 1
    assert {key: encode_state(state) for key, state in kept.items()} == {
        key: encode_state(state) for key, state in whole.published.items()
    }


def test_sql_flow_pr_234_a_window_is_one_row_at_any_speed() -> None:
    tables = []
    for size in (1, 2, 3, 6):
        broker = history(SALES)
        asyncio.run(live(broker, Crashes(), itertools.repeat(size), iter(())))
        rows = [decode_window(value) for value in broker.values(SALES_WINDOWS_CHANGELOG, PARTITION)]
        tables.append({(key, row.start_us): row for key, row, _ in rows})
    assert len(tables[0]) > 1
    assert all(table == tables[0] for table in tables)


def test_materialize_5262_materialize_5668_interleaved_transactions_both_count() -> None:
    """The first transaction commits last, so its lower LSNs come later in the log."""
    records = [sold(0, 1, lsn=900), sold(1, 2, lsn=500), sold(2, 3, lsn=901), sold(3, 4, lsn=501)]

    partition, results = fold_all(records)

    assert {result.verdict for result in results} == {"applied"}
    assert partition.states[InvKey(KEY)].on_hand_units == -4


@pytest.mark.domain("4 two rows that look alike")
def test_materialize_7557_debezium_dbz_1554_fifty_rows_of_one_copy_all_count() -> None:
    records = [sold(offset, 1 + offset, lsn=77) for offset in range(50)]

    partition, _ = fold_all([*records, *(replace(r, offset=50 + r.offset) for r in records)])

    state = partition.states[InvKey(KEY)]
    assert (state.on_hand_units, state.resent) == (-50, 50)


@pytest.mark.domain("2.2 change of inv_key")
def test_materialize_pr_13261_a_changed_key_is_right_under_both_keys() -> None:
    """Delete and insert of one update carry the same row number and the same LSN."""
    records = [
        sold(0, 1, lsn=10),
        sold(1, 1, lsn=20, op="d"),
        sold(2, 1, lsn=20, key=OTHER),
    ]

    partition, results = fold_all(records)

    assert {result.verdict for result in results} == {"applied"}
    assert partition.states[InvKey(KEY)].on_hand_units == 0
    assert partition.states[InvKey(OTHER)].on_hand_units == -1


@pytest.mark.domain("2.2 r *")
def test_materialize_14211_a_snapshot_in_mid_stream_doubles_nothing() -> None:
    records = [sold(offset, 1 + offset, lsn=10 + offset) for offset in range(3)]
    again = [replace(record, offset=3 + record.offset, op="r", lsn=99) for record in records]

    partition, results = fold_all([*records, *again])

    assert [result.verdict for result in results[3:]] == ["rejected:snapshot_after_start"] * 3
    assert partition.states[InvKey(KEY)].on_hand_units == -3
