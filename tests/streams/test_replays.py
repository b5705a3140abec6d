"""A worker that reads handled records again sends the output of their keys again."""

import asyncio
import itertools
import json

import pytest

from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG
from streams.engine import records
from streams.engine.loop import handle_chunk
from streams.engine.records import SourceRecord, with_small_replays
from streams.engine.restore import restore
from tests.streams import lives
from tests.streams.lives import PARTITION, Crashes, live, source_of
from tests.streams.test_engine import HOUR_US, history


@pytest.mark.domain("4 worker replay")
def test_a_replay_sends_the_level_and_all_window_rows_of_its_key_again() -> None:
    broker = history([("range", 0, 1, 0), *[("sale", 0, 1, HOUR_US)] * 3])
    asyncio.run(live(broker, Crashes(), itertools.repeat(1), iter(())))
    windows = broker.values(SALES_WINDOWS_CHANGELOG, PARTITION)
    last_level = json.loads(broker.values(ON_HAND_CHANGELOG, PARTITION)[-1])
    assert (len(windows), len(last_level["rows"])) == (3, 1)

    async def replay() -> None:
        owned = await restore(PARTITION, lives.GENERATION, broker)
        effects = await handle_chunk(source_of(broker)[-1:], owned, broker.writer(PARTITION))
        assert effects.replayed == 1

    asyncio.run(replay())

    rows = [json.loads(content)["row"] for content in windows]
    again = broker.values(SALES_WINDOWS_CHANGELOG, PARTITION)[3:]
    assert [json.loads(content)["row"] for content in again] == rows
    level = json.loads(broker.values(ON_HAND_CHANGELOG, PARTITION)[-1])
    assert level == last_level | {"rows": rows}


def test_a_replay_sends_the_output_of_a_key_once_for_all_its_records() -> None:
    broker = history([("range", 0, 1, 0), *[("sale", 0, 1, HOUR_US)] * 4])
    asyncio.run(live(broker, Crashes(), itertools.repeat(2), iter(())))
    source = source_of(broker)

    async def levels_sent() -> list[int]:
        owned = await restore(PARTITION, lives.GENERATION, broker)
        writer, sent = broker.writer(PARTITION), []
        for offset in (1, 2, 3):
            before = len(broker.values(ON_HAND_CHANGELOG, PARTITION))
            effects = await handle_chunk(source[offset : offset + 1], owned, writer)
            assert effects.replayed == 1
            sent.append(len(broker.values(ON_HAND_CHANGELOG, PARTITION)) - before)
        return sent

    assert asyncio.run(levels_sent()) == [1, 0, 0]


def test_replayed_records_are_folded_in_small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "REPLAYED_AT_ONCE", 3)
    chunk = [SourceRecord(offset, b"k", b"v") for offset in range(10, 20)]

    def sizes(restored_offset: int) -> list[int]:
        pieces = list(with_small_replays(chunk, restored_offset))
        assert [record for piece in pieces for record in piece] == chunk
        return [len(piece) for piece in pieces]

    assert sizes(10) == [10]
    assert sizes(11) == [3, 7]
    assert sizes(14) == [3, 3, 4]
    assert sizes(99) == [3, 3, 3, 1]
