"""The ring of a restored partition equals that of one pass, even if clocks were set back."""

import asyncio
import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from cdc.contracts.state import encode_state
from cdc.contracts.topics import STOCK_EVENTS
from inventory.model.ids import InvKey
from streams.engine import loop, rings
from streams.engine.loop import handle_chunk
from streams.engine.memory import MemoryBroker
from streams.engine.mismatch import LogMismatch, OldRecords
from streams.engine.restore import restore
from streams.engine.snapshot import load, save
from streams.exit_codes import NEW_GENERATION
from tests.streams import facts
from tests.streams.facts import DAY_0_US
from tests.streams.lives import GENERATION, PARTITION, Crashes, expected, live, source_of
from tests.streams.test_engine import HOUR_US, Step, history

SECOND_US = 1_000_000
BACK_AND_ON: list[Step] = [
    ("sale", 0, 1, 0),
    ("sale", 0, 2, HOUR_US),
    ("sale", 1, 3, -HOUR_US),
    ("sale", 1, 4, SECOND_US),
]
BACK_AND_FORTH: list[Step] = [
    ("sale", 0, 1, 0),
    ("sale", 0, 2, HOUR_US),
    ("sale", 1, 3, -HOUR_US),
    ("sale", 1, 4, HOUR_US + SECOND_US),
]


@pytest.mark.parametrize("topic_ms", [0, DAY_0_US // 1000, 2 * DAY_0_US // 1000])
@pytest.mark.parametrize("plan", [BACK_AND_ON, BACK_AND_FORTH])
def test_a_resent_record_is_recognised_after_a_restart_though_the_clock_was_set_back(
    plan: list[Step], topic_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rings, "LOOK_BACK", 1)
    broker = history([*plan, ("resend", 0, 3, 0)])
    place = STOCK_EVENTS, PARTITION
    broker.topics[place] = [replace(record, at_ms=topic_ms) for record in broker.topics[place]]
    wanted = expected(source_of(broker))
    before_the_last_chunk = Crashes(frozenset({13}))

    owned = asyncio.run(live(broker, before_the_last_chunk, itertools.repeat(2), iter([0])))

    assert owned.published[InvKey("S1|A")].resent == 1
    assert {key: encode_state(state) for key, state in owned.published.items()} == wanted.states


def test_the_restored_ring_has_records_from_before_the_clock_was_set_back() -> None:
    """The clock is set back 1 h, five thousand sales follow, and it is set forward 1 h.

    The first record lies within 120 s of the newest one. A search by commit time would miss it.
    """
    while_it_was_back: list[Step] = [("sale", 1, 1, -HOUR_US), *[("sale", 1, 1, 0)] * 5_000]
    plan: list[Step] = [("sale", 0, 1, 0), *while_it_was_back, ("sale", 1, 1, HOUR_US + SECOND_US)]
    broker = history(plan)
    *before, last = broker.topics[STOCK_EVENTS, PARTITION]
    before = [replace(record, at_ms=record.at_ms - HOUR_US // 1000) for record in before]
    broker.topics[STOCK_EVENTS, PARTITION] = [*before, last]
    asyncio.run(live(broker, Crashes(), itertools.repeat(len(plan)), iter(())))
    first = before[0]

    broker.produce(STOCK_EVENTS, PARTITION, first.key, first.value)
    owned = asyncio.run(live(broker, Crashes(), itertools.repeat(9), iter(())))

    assert owned.published[InvKey("S1|A")].resent == 1


def written(*changes: tuple[str, int | None, int, int]) -> MemoryBroker:
    """Return a broker with changes, each given as (op, id of the row, LSN, second)."""
    broker = MemoryBroker()
    for op, row_id, lsn, second in changes:
        at_us = DAY_0_US + second * SECOND_US
        after = None if row_id is None else facts.sale(id_=row_id, key="S1|A", at_us=at_us)
        value = facts.change("sale_line", op=op, after=after, lsn=lsn, commit_us=at_us)
        broker.produce(STOCK_EVENTS, PARTITION, b"S1|A", value)
    return broker


AGAIN = (("c", 1, 1, 0), ("r", 2, 5, 1), ("r", 2, 5, 100), ("c", 3, 9, 150))


@pytest.mark.parametrize("recent", [1, 1_000])
@pytest.mark.parametrize("end", range(1, 5))
def test_the_restored_ring_keeps_the_first_of_two_equal_snapshot_rows(
    recent: int, end: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rings, "LOOK_BACK", recent)
    broker = written(*AGAIN[:end])
    owned = asyncio.run(live(broker, Crashes(), itertools.repeat(9), iter(())))

    again = asyncio.run(restore(PARTITION, GENERATION, broker))

    assert again.partition.ring.identities() == owned.partition.ring.identities()
    assert again.progress() == owned.progress()


def test_a_snapshot_file_stores_a_truncate_in_its_dedupe_ring(tmp_path: Path) -> None:
    """A truncate has no row, so its identity has no number."""
    broker = written(("c", 1, 1, 0), ("t", None, 2, 1), ("c", 3, 9, 2))
    owned = asyncio.run(live(broker, Crashes(), itertools.repeat(9), iter(())))
    save(owned, tmp_path)

    base = load(tmp_path, PARTITION, GENERATION)
    again = asyncio.run(restore(PARTITION, GENERATION, broker, base))

    members = owned.partition.ring.identities()
    assert [identity[1] for _, identity, _ in members] == [1, None, 3]
    assert again.partition.ring.identities() == members


def test_a_restore_halts_if_a_ring_record_before_an_undecodable_one_is_truncated() -> None:
    broker = history(
        [("sale", 0, 1, 0), ("garbage", 0, 1, -HOUR_US), ("sale", 1, 2, HOUR_US + SECOND_US)]
    )
    asyncio.run(live(broker, Crashes(), itertools.repeat(3), iter(())))

    broker.cut(STOCK_EVENTS, PARTITION, 1)

    with pytest.raises(LogMismatch, match="begins at offset 1"):
        asyncio.run(restore(PARTITION, GENERATION, broker))


def test_a_restored_database_stops_the_worker_with_a_new_generation_as_repair(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A rebuild would stop at the same record."""
    monkeypatch.setattr(loop, "REFUSED_IN_A_ROW", 2)
    hour = HOUR_US // SECOND_US
    broker = written(("c", 1, 9_000, hour), ("c", 2, 1_000, 0), ("c", 3, 1_001, 1))

    async def fold() -> None:
        owned = await restore(PARTITION, GENERATION, broker)
        await handle_chunk(source_of(broker), owned, broker.writer(PARTITION))

    with pytest.raises(OldRecords, match="2 records in a row are older") as stopped:
        asyncio.run(fold())

    assert stopped.value.repair.startswith(NEW_GENERATION)
