"""A sink that crashes between writing rows and writing offsets, or before the commit of both."""

from collections.abc import Sequence

import psycopg
import pytest

from cdc.contracts.decisions import encode_reorder
from cdc.contracts.state import encode_level
from cdc.contracts.topics import ON_HAND_CHANGELOG, REORDER_EVENTS
from streams.sinks.actuator import Actuator
from streams.sinks.positions import read_positions
from streams.sinks.process import Sink
from streams.sinks.projector import Projector
from streams.sinks.source import SinkRecord
from tests.cdc.test_records import REORDER
from tests.ledger.inbox import state

KEY = REORDER.at.inv_key.encode()
LEVEL = SinkRecord(ON_HAND_CHANGELOG, 0, 7, b"L|S", encode_level(state(), ()))
DECISION = SinkRecord(REORDER_EVENTS, 0, 7, KEY, encode_reorder(REORDER))
STOCK, PROPOSALS = "read_model.stock", "app.reorder_proposal"


class Crash(Exception):
    """Simulated crash of the process."""


def attempt(sinks: psycopg.Connection, sink: Sink, batch: Sequence[SinkRecord], *, dies: bool):
    sink.topics(sinks)
    with sinks.transaction():
        sink.write(sinks, batch)
        if dies:
            raise Crash


def rows_of(sinks: psycopg.Connection, table: str) -> int:
    found = sinks.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 -- a constant
    assert found is not None
    return int(found[0])


@pytest.mark.parametrize(
    ("sink", "record", "table"),
    [(Projector, LEVEL, STOCK), (Actuator, DECISION, PROPOSALS)],
)
def test_a_sink_commits_rows_and_offsets_together_or_not_at_all(
    sinks: psycopg.Connection, sink: type[Sink], record: SinkRecord, table: str
) -> None:
    with pytest.raises(Crash):
        attempt(sinks, sink(), [record], dies=True)
    assert rows_of(sinks, table) == 0
    assert record.offset + 1 not in read_positions(sinks, sink().name).values()

    attempt(sinks, sink(), [record], dies=False)
    assert rows_of(sinks, table) == 1
    assert read_positions(sinks, sink().name)[record.topic, 0] == record.offset + 1


@pytest.mark.parametrize(
    ("sink", "record", "table"),
    [(Projector, LEVEL, STOCK), (Actuator, DECISION, PROPOSALS)],
)
def test_a_sink_that_writes_a_batch_again_changes_nothing(
    sinks: psycopg.Connection, sink: type[Sink], record: SinkRecord, table: str
) -> None:
    attempt(sinks, sink(), [record], dies=False)
    before = sinks.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 -- a constant

    attempt(sinks, sink(), [record], dies=False)

    same = [column for column in range(len(before[0])) if not hasattr(before[0][column], "tzinfo")]
    after = sinks.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 -- a constant
    assert [[row[n] for n in same] for row in after] == [[row[n] for n in same] for row in before]
