"""What Postgres forgets before everything is captured anew, and how every key is asked again."""

from pathlib import Path

import psycopg
import pytest

from cdc.contracts.decisions import encode_reorder
from cdc.contracts.topics import REORDER_EVENTS
from deploy.errors import StackError
from deploy.stack.generation import generation_of
from deploy.stack.home import Home
from deploy.stack.recapture import _rows, conclude, refuse_too_many, settle
from streams.sinks.actuator import Actuator
from streams.sinks.source import SinkRecord
from tests.cdc.test_records import REORDER
from tests.ledger.postgres import Server
from tests.ledger.rows import write

PROPOSED = SinkRecord(REORDER_EVENTS, 0, 7, REORDER.at.inv_key.encode(), encode_reorder(REORDER))


@pytest.fixture
def url(server: Server, database: str) -> str:
    """The database as its superuser reaches it."""
    return server.url("postgres", database)


def test_positions_are_forgotten_and_open_proposals_closed(
    till: psycopg.Connection, ledger: psycopg.Connection, url: str
) -> None:
    sink = Actuator()
    sink.topics(till)
    with till.transaction():
        sink.write(till, [PROPOSED])
    assert ledger.execute("SELECT count(*) FROM read_model.sink_position").fetchone() != (0,)

    for _again in range(2):
        settle(url)

    assert ledger.execute("SELECT count(*) FROM read_model.sink_position").fetchone() == (0,)
    found = ledger.execute("SELECT DISTINCT status, reason FROM app.reorder_proposal").fetchall()
    assert found == [("superseded", "generation")]


def test_policies_are_written_once_more_as_they_are(
    ledger: psycopg.Connection, url: str, tmp_path: Path
) -> None:
    write(ledger, "item_location")
    rows = "SELECT i.*, i.xmin::text FROM retail.item_location i"
    [*before, first] = ledger.execute(rows).fetchone() or ()
    home = Home(tmp_path)

    conclude(home, url)

    [*after, second] = ledger.execute(rows).fetchone() or ()
    assert after == before
    assert second != first
    assert generation_of(home).captured


def test_more_rows_than_a_partition_takes_up_are_refused_before_anything_is_forgotten(
    ledger: psycopg.Connection, url: str
) -> None:
    """The key `L|S` lies in one of twelve partitions, all tables of it together."""
    write(ledger, "item_location")
    for number in range(3):
        write(ledger, "sale_line", source_ref=str(number))

    for code in ("1", "2"):
        ledger.execute("INSERT INTO retail.supplier (code, name) VALUES (%s, 'x')", (code,))

    assert _rows(url) == 6
    refuse_too_many(url, most=4)
    with pytest.raises(StackError, match=r"stock.events\[\d+\] would get 4 captured rows.* 3 at"):
        refuse_too_many(url, most=3)
