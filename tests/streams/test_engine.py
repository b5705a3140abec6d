"""Laws W4 and W8 on the engine: outputs are equal for any crash, replay, gap or chunk size."""

import asyncio
import itertools
import json
from collections.abc import Collection
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdc.contracts.rejects import decode_late, decode_rejection
from cdc.contracts.state import decode_window, encode_changed, encode_state
from cdc.contracts.topics import (
    ON_HAND_CHANGELOG,
    PRICE_EVENTS,
    REORDER_EVENTS,
    SALES_WINDOWS_CHANGELOG,
    STOCK_EVENTS,
    STOCK_LATE,
    STOCK_REJECTED,
)
from inventory.model.arithmetic import window_start
from inventory.model.state import KeyState
from streams.engine import effects, loop
from streams.engine.loop import Gap, handle_chunk, republish_open
from streams.engine.memory import MemoryBroker
from streams.engine.mismatch import LogMismatch
from streams.engine.records import Fenced
from streams.engine.restore import restore
from tests.streams import facts, lives
from tests.streams.lives import PARTITION, Crashes, Expected, expected, live, source_of

KEYS = ("S1|A", "S1|B", "S2|A")
HOUR_US = 3_600_000_000
GAPS_US = (0, 1_000_000, 30_000_000, 700_000_000, 30 * HOUR_US)

Step = tuple[str, int, int, int]
steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["sale", "sale", "sale", "return", "old_sale", "count", "delete", "range", "resend",
             "beat", "garbage", "wrong_key", "zero"]
        ),
        st.integers(0, len(KEYS) - 1),
        st.integers(1, 9),
        st.sampled_from(GAPS_US),
    ),
    min_size=1,
    max_size=40,
).filter(lambda plan: sum(step[0] == "garbage" for step in plan) <= 5)  # fmt: skip


class Till:
    """Writer of a history into the topic of a memory broker."""

    def __init__(self) -> None:
        self.broker = MemoryBroker()
        self.now_us = facts.DAY_0_US + 9 * HOUR_US
        self.ids = itertools.count(1)
        self.lsns = itertools.count(1_000)
        self.sales: dict[str, list[dict[str, Any]]] = {}
        self.sent: list[tuple[bytes, bytes]] = []

    def produce(self, key: str, value: bytes | None) -> None:
        self.broker.produce(
            STOCK_EVENTS, PARTITION, key.encode(), value, at_ms=self.now_us // 1000 + 5
        )

    def change(self, table: str, key: str, **images: Any) -> None:
        value = facts.change(
            table,
            lsn=next(self.lsns),
            commit_us=self.now_us,
            **images,
        )
        self.sent.append((key.encode(), value))
        self.produce(key, value)

    def sell(self, key: str, units: int, at_us: int) -> None:
        image = facts.sale(
            id_=next(self.ids), key=key, units=units, amount=units * 100, at_us=at_us
        )
        self.sales.setdefault(key, []).append(image)
        self.change("sale_line", key, after=image)

    def play(self, step: Step) -> None:
        what, number, units, gap_us = step
        self.now_us += gap_us
        key = KEYS[number]
        match what:
            case "sale":
                self.sell(key, units, self.now_us - 1_000_000)
            case "return":
                self.sell(key, -units, self.now_us - 2_000_000)
            case "old_sale":
                self.sell(key, units, self.now_us - units * 20 * HOUR_US)
            case "zero":
                self.sell(key, 0, self.now_us)
            case "count":
                image = facts.count(
                    id_=next(self.ids),
                    key=key,
                    units=units * 3,
                    at_us=self.now_us - units * HOUR_US,
                )
                self.change("stock_count", key, after=image)
            case "range":
                image = facts.ranged(id_=number + 1, key=key, at_us=self.now_us)
                self.change("item_location", key, after=image)
            case _:
                self.play_odd(what, key, units)

    def play_odd(self, what: str, key: str, units: int) -> None:
        match what:
            case "delete" if self.sales.get(key):
                self.change("sale_line", key, op="d", before=self.sales[key].pop())
            case "resend" if self.sent:
                again, value = self.sent[-min(units, len(self.sent))]
                self.produce(again.decode(), value)
            case "beat":
                image = facts.heartbeat(number=0, beat=next(self.ids), at_us=self.now_us)
                self.change("pipeline_heartbeat", "~heartbeat|0", op="u", after=image)
            case "garbage":
                self.produce(key, b"\x00garbage" if units % 2 else None)
            case "wrong_key":
                image = facts.sale(id_=next(self.ids), key=key, at_us=self.now_us)
                self.change("sale_line", "S9|Z", after=image)
            case _:
                pass  # there is no row yet to delete or to send again


def history(plan: list[Step]) -> MemoryBroker:
    till = Till()
    for step in plan:
        till.play(step)
    return till.broker


def check(broker: MemoryBroker, published: dict[str, bytes], wanted: Expected) -> None:
    """Assert that the outputs equal those of an uninterrupted fold, and none is missing."""
    assert published == wanted.states
    rejections = [decode_rejection(v) for v in broker.values(STOCK_REJECTED, PARTITION)]
    assert {r.origin.id: r.reason for r in rejections} == wanted.rejected
    late = [decode_late(v) for v in broker.values(STOCK_LATE, PARTITION)]
    assert {x.origin.id: (x.units, x.amount_minor) for x in late} == wanted.late
    decided: dict[str, set[int]] = {}
    for topic in (REORDER_EVENTS, PRICE_EVENTS):
        for value in broker.values(topic, PARTITION):
            event = json.loads(value)
            decided.setdefault(event["id"], set()).add(event["revision"])
    assert decided.keys() == wanted.revisions.keys()
    for identifier, revisions in decided.items():
        assert revisions <= wanted.revisions[identifier]
        assert max(revisions) == max(wanted.revisions[identifier])


@pytest.mark.domain("9 W4 *", "9 W14 *")
@settings(deadline=None, max_examples=150)
@given(
    plan=steps,
    crash_at=st.frozensets(st.integers(1, 120), max_size=6),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=8),
    committed=st.lists(st.integers(0, 45), min_size=7, max_size=7),
)
def test_crashes_and_wrong_group_offsets_change_no_output(
    plan: list[Step], crash_at: frozenset[int], sizes: list[int], committed: list[int]
) -> None:
    broker = history(plan)
    wanted = expected(source_of(broker))

    owned = asyncio.run(live(broker, Crashes(crash_at), itertools.cycle(sizes), iter(committed)))

    check(broker, {k: encode_state(s) for k, s in owned.published.items()}, wanted)
    again = asyncio.run(restore(PARTITION, lives.GENERATION, broker))
    check(broker, {k: encode_state(s) for k, s in again.published.items()}, wanted)


@settings(deadline=None, max_examples=40)
@given(plan=steps, size=st.integers(1, 9))
def test_compacted_changelogs_restore_the_same_state_and_the_same_ring(
    plan: list[Step], size: int
) -> None:
    broker = history(plan)
    owned = asyncio.run(live(broker, Crashes(), itertools.repeat(size), iter(())))
    broker.compact(ON_HAND_CHANGELOG, PARTITION)
    broker.compact(SALES_WINDOWS_CHANGELOG, PARTITION)

    again = asyncio.run(restore(PARTITION, lives.GENERATION, broker))

    assert {k: encode_state(s) for k, s in again.published.items()} == {
        k: encode_state(s) for k, s in owned.published.items()
    }
    assert again.next_offset <= owned.next_offset
    if again.next_offset == owned.next_offset:
        was, now = owned.partition.ring, again.partition.ring
        assert set(now.identities()) == set(was.identities())
        assert (now.newest_commit_us, now.highest_lsn) == (was.newest_commit_us, was.highest_lsn)


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_a_window_that_expires_in_the_chunk_that_fills_it_is_still_written(size: int) -> None:
    till = Till()
    starts = set()
    for gap_us in (HOUR_US, HOUR_US, 120 * HOUR_US):
        till.play(("sale", 0, 2, gap_us))
        starts.add(window_start(till.now_us - 1_000_000))

    asyncio.run(live(till.broker, Crashes(), itertools.repeat(size), iter(())))

    rows = [decode_window(v)[1] for v in till.broker.values(SALES_WINDOWS_CHANGELOG, PARTITION)]
    assert {(row.start_us, row.sold_units) for row in rows} == {(start, 2) for start in starts}


def sold_history(sales: int) -> MemoryBroker:
    till = Till()
    till.play(("range", 0, 1, 0))
    for _ in range(sales):
        till.play(("sale", 0, 1, 1_000_000))
    return till.broker


def test_a_crash_between_any_two_effects_of_a_chunk_changes_no_result() -> None:
    plan: list[Step] = [
        ("range", 0, 1, 0),
        ("count", 0, 2, 1_000_000),
        ("sale", 0, 3, 1_000_000),
        ("garbage", 1, 1, 0),
        ("sale", 0, 3, 1_000_000),
        ("old_sale", 0, 9, 90 * HOUR_US),
        ("sale", 1, 3, 1_000_000),
    ]
    rehearsal = Crashes()
    asyncio.run(live(history(plan), rehearsal, itertools.repeat(4), iter(())))

    for effect in range(1, rehearsal.seen + 1):
        broker = history(plan)
        wanted = expected(source_of(broker))
        owned = asyncio.run(
            live(broker, Crashes(frozenset({effect})), itertools.repeat(4), iter([0]))
        )
        check(broker, {k: encode_state(s) for k, s in owned.published.items()}, wanted)


def test_a_chunk_sends_rejections_then_levels_then_window_rows_and_decisions() -> None:
    plan: list[Step] = [
        ("range", 0, 1, 0),
        ("count", 0, 1, 1_000_000),
        ("sale", 0, 1, 1_000_000),
        ("garbage", 0, 1, 0),
    ]
    crashes = Crashes()

    asyncio.run(live(history(plan), crashes, itertools.repeat(9), iter(())))

    topics = [effect.removeprefix("send ") for effect in crashes.effects if "send" in effect]
    assert topics == [
        STOCK_REJECTED,
        ON_HAND_CHANGELOG,
        SALES_WINDOWS_CHANGELOG,
        REORDER_EVENTS,
    ] or topics[:2] == [STOCK_REJECTED, ON_HAND_CHANGELOG]


def test_a_fenced_worker_writes_nothing() -> None:
    broker = sold_history(3)

    async def zombie() -> None:
        owned = await restore(PARTITION, lives.GENERATION, broker)
        writer = broker.writer(PARTITION)
        broker.writer(PARTITION)
        with pytest.raises(Fenced):
            await handle_chunk(source_of(broker), owned, writer)
        assert owned.published == {}

    asyncio.run(zombie())

    assert broker.values(ON_HAND_CHANGELOG, PARTITION) == []


def test_folding_a_chunk_yields_to_other_tasks_after_its_time_slice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def turns(slice_s: float) -> int:
        monkeypatch.setattr(loop, "SLICE_S", slice_s)
        broker = sold_history(4 * loop.CLOCK_EVERY)
        owned = await restore(PARTITION, lives.GENERATION, broker)
        folding = asyncio.create_task(
            handle_chunk(source_of(broker), owned, broker.writer(PARTITION))
        )
        seen = set()
        while not folding.done():
            await asyncio.sleep(0)
            seen.add(owned.next_offset)
        return len(seen)

    assert asyncio.run(turns(0.0)) > 4
    assert asyncio.run(turns(3_600.0)) <= 2


def test_encoding_a_chunk_yields_to_other_tasks_between_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoded: list[str] = []

    def encode(state: KeyState, starts: Collection[int]) -> tuple[bytes, dict[int, bytes]]:
        encoded.append(state.key)
        return encode_changed(state, starts)

    async def seen_meanwhile() -> set[int]:
        broker = history([("sale", number, 1, 0) for number in range(len(KEYS))])
        owned = await restore(PARTITION, lives.GENERATION, broker)
        folding = asyncio.create_task(
            handle_chunk(source_of(broker), owned, broker.writer(PARTITION))
        )
        seen = set()
        while not folding.done():
            await asyncio.sleep(0)
            seen.add(len(encoded))
        return seen

    monkeypatch.setattr(loop, "SLICE_S", 0.0)
    monkeypatch.setattr(loop, "CLOCK_EVERY", 1)
    monkeypatch.setattr(effects, "encode_changed", encode)

    assert asyncio.run(seen_meanwhile()) >= {1, 2, 3}


def test_a_gap_is_refused_before_anything_is_folded() -> None:
    broker = sold_history(3)

    async def jump() -> None:
        owned = await restore(PARTITION, lives.GENERATION, broker)
        with pytest.raises(Gap, match="expected offset 0, got 2"):
            await handle_chunk(source_of(broker)[2:], owned, broker.writer(PARTITION))
        assert owned.next_offset == 0

    asyncio.run(jump())


def test_a_topic_that_ends_before_the_state_is_refused() -> None:
    broker = sold_history(3)
    asyncio.run(live(broker, Crashes(), itertools.repeat(9), iter(())))
    del broker.topics[STOCK_EVENTS, PARTITION][2:]

    with pytest.raises(LogMismatch, match="new generation"):
        asyncio.run(restore(PARTITION, lives.GENERATION, broker))


def test_open_decisions_are_sent_again_and_closed_ones_are_not() -> None:
    plan: list[Step] = [("count", 0, 1, 0), ("range", 0, 1, 1_000_000), ("sale", 0, 1, 1_000_000)]
    broker = history(plan)

    async def again() -> tuple[int, int]:
        owned = await live(broker, Crashes(), itertools.repeat(9), iter(()))
        sent = await republish_open(owned, broker.writer(PARTITION))
        return sent, len(owned.open_keys)

    sent, open_keys = asyncio.run(again())

    assert (sent, open_keys) == (1, 1)
    events = [json.loads(value) for value in broker.values(REORDER_EVENTS, PARTITION)]
    assert [(e["id"], e["revision"], e["status"]) for e in events] == [
        ("R:S1|A:1-1", 1, "open"),
        ("R:S1|A:1-1", 1, "open"),
    ]


def test_an_oversized_rejected_value_is_truncated_with_a_note() -> None:
    broker = MemoryBroker()
    broker.produce(STOCK_EVENTS, PARTITION, b"S1|A", b"x" * 600_000)

    asyncio.run(live(broker, Crashes(), itertools.repeat(9), iter(())))

    rejection = decode_rejection(broker.values(STOCK_REJECTED, PARTITION)[0])
    assert rejection.value == b"x" * 500_000
    assert "first 500000 of 600000 bytes" in rejection.detail
