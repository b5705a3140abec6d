"""Forged records that Postgres can't have written: each is rejected, and stops no process."""

import asyncio
from typing import Any

import psycopg
import pytest

from cdc.contracts.topics import STOCK_EVENTS
from streams.engine.loop import handle_chunk
from streams.engine.memory import MemoryBroker
from streams.engine.records import SourceRecord
from streams.engine.restore import restore
from streams.sinks.actuator import Actuator
from streams.sinks.projector import Projector
from streams.sinks.source import SinkRecord
from tests.streams import facts

AT_US = facts.DAY_0_US
BEAT_KEY = "~heartbeat|0"
POLICY = facts.ranged(id_=1, at_us=AT_US)
COUNT = facts.count(id_=1, at_us=AT_US, units=3)
SALE = facts.sale(id_=1, at_us=AT_US + facts.SECOND_US)
NEED = f"R:{facts.KEY}:1-1"


def decision(**columns: Any) -> dict[str, Any]:
    word = {"reorder_id": NEED, "action": "reject"}
    return facts.row(id_=1, at_us=AT_US, **word, **columns)


def price(**columns: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"price_minor": 999, "floor_minor": 0, "kind": "manual", "step": 0}
    return facts.row(id_=1, at_us=AT_US, effective_from=facts.iso(AT_US), **row | columns)


def beat(**columns: Any) -> dict[str, Any]:
    return facts.heartbeat(number=0, beat=1, at_us=AT_US) | columns


FORGED: list[tuple[str, str, dict[str, Any], int]] = [
    ("item_location", facts.KEY, {**POLICY, "id": 2, "supplier": "a\0b"}, AT_US),
    ("reorder_decision", facts.KEY, decision(reason="a\0b"), AT_US),
    ("price_change", facts.KEY, price(step=2**31), AT_US),
    ("pipeline_heartbeat", BEAT_KEY, beat(beat=2**63), AT_US),
    ("pipeline_heartbeat", BEAT_KEY, beat(beat="1"), AT_US),
    ("pipeline_heartbeat", BEAT_KEY, beat(), 2**63),
    ("sale_line", facts.KEY, facts.sale(id_=2, at_us=AT_US), 2**63),
]
STRANGE: list[tuple[str, str, dict[str, Any], int]] = [
    ("reorder_decision", facts.KEY, decision(reason="\x01\uffff\U0010ffff"), AT_US),
    ("price_change", facts.KEY, price(step=-(2**31)), AT_US),
    ("pipeline_heartbeat", BEAT_KEY, beat(beat=None), AT_US),
    ("pipeline_heartbeat", BEAT_KEY, beat(beat=2**53 - 1), AT_US),
]


def written_after(table: str, key: str, row: dict[str, Any], commit_us: int) -> list[SinkRecord]:
    """Return a worker's output for four records: a policy, a count, this row, and a sale."""
    log = [("item_location", facts.KEY, POLICY, AT_US), ("stock_count", facts.KEY, COUNT, AT_US)]
    log += [(table, key, row, commit_us), ("sale_line", facts.KEY, SALE, AT_US + facts.SECOND_US)]
    chunk = [
        SourceRecord(at, of.encode(), facts.change(name, after=image, lsn=at, commit_us=when))
        for at, (name, of, image, when) in enumerate(log)
    ]
    broker = MemoryBroker()
    for source in chunk:
        broker.produce(STOCK_EVENTS, 0, source.key, source.value)

    async def work() -> None:
        await handle_chunk(chunk, await restore(0, 1, broker), broker.writer(0))

    asyncio.run(work())
    return [
        SinkRecord(topic, 0, record.offset, record.key, record.value, record.headers)
        for (topic, _), records in broker.topics.items()
        for record in records
    ]


@pytest.mark.parametrize(
    ("record", "rejected"),
    [*((record, 1) for record in FORGED), *((record, 0) for record in STRANGE)],
    ids=range(len(FORGED) + len(STRANGE)),
)
def test_sinks_can_store_the_output_of_workers_for_forged_records(
    sinks: psycopg.Connection, record: tuple[str, str, dict[str, Any], int], rejected: int
) -> None:
    written = written_after(*record)
    with sinks.transaction(force_rollback=True):
        sinks.execute("DELETE FROM read_model.rejected; DELETE FROM read_model.heartbeat")
        for sink in (Projector(), Actuator()):
            topics = sink.topics(sinks)
            sink.write(sinks, [found for found in written if found.topic in topics])

        stock = sinks.execute("SELECT on_hand_units FROM read_model.stock").fetchall()
        refused = sinks.execute("SELECT count(*) FROM read_model.rejected").fetchone()
    assert (stock, refused) == ([(2,)], (rejected,))
