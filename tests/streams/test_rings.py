"""The ring of a restored partition is that of one pass, whatever the clocks have done."""

import asyncio
import itertools
from dataclasses import replace

import pytest

from cdc.contracts.state import encode_state
from cdc.contracts.topics import STOCK_EVENTS
from streams.engine.mismatch import LogMismatch
from streams.engine.restore import restore
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


@pytest.mark.parametrize("broker_ms", [0, DAY_0_US // 1000, 2 * DAY_0_US // 1000])
@pytest.mark.parametrize("plan", [BACK_AND_ON, BACK_AND_FORTH])
def test_a_resent_record_is_recognised_after_a_restart_though_the_clock_was_set_back(
    plan: list[Step], broker_ms: int
) -> None:
    broker = history([*plan, ("resend", 0, 3, 0)])
    place = STOCK_EVENTS, PARTITION
    broker.topics[place] = [replace(record, at_ms=broker_ms) for record in broker.topics[place]]
    wanted = expected(source_of(broker))
    before_the_last_chunk = Crashes(frozenset({13}))

    owned = asyncio.run(live(broker, before_the_last_chunk, itertools.repeat(2), iter([0])))

    assert owned.published["S1|A"].resent == 1
    assert {key: encode_state(state) for key, state in owned.published.items()} == wanted.states


def test_thousands_of_old_records_hide_none_from_before_the_clock_was_set_back() -> None:
    """All within the ring's two minutes: back by an hour, ten thousand sales, forward again.

    The broker's clock, by which a restore once searched, was an hour behind until then.
    """
    while_it_was_back: list[Step] = [("sale", 1, 1, -HOUR_US), *[("sale", 1, 1, 0)] * 10_000]
    plan: list[Step] = [("sale", 0, 1, 0), *while_it_was_back, ("sale", 1, 1, HOUR_US + SECOND_US)]
    broker = history(plan)
    *before, last = broker.topics[STOCK_EVENTS, PARTITION]
    before = [replace(record, at_ms=record.at_ms - HOUR_US // 1000) for record in before]
    broker.topics[STOCK_EVENTS, PARTITION] = [*before, last]
    asyncio.run(live(broker, Crashes(), itertools.repeat(len(plan)), iter(())))
    first = before[0]

    broker.produce(STOCK_EVENTS, PARTITION, first.key, first.value)
    owned = asyncio.run(live(broker, Crashes(), itertools.repeat(9), iter(())))

    assert owned.published["S1|A"].resent == 1


def test_garbage_says_nothing_about_a_record_that_was_cut_off_before_it() -> None:
    broker = history(
        [("sale", 0, 1, 0), ("garbage", 0, 1, -HOUR_US), ("sale", 1, 2, HOUR_US + SECOND_US)]
    )
    asyncio.run(live(broker, Crashes(), itertools.repeat(3), iter(())))

    broker.cut(STOCK_EVENTS, PARTITION, 1)

    with pytest.raises(LogMismatch, match="begins at 1"):
        asyncio.run(restore(PARTITION, GENERATION, broker))
