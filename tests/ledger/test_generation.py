"""Rows that Postgres deletes before a new capture, and the new evaluation of every key."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg.pq import ExecStatus, PGconn

from cdc.capture.client import PUBLICATION, SLOT
from cdc.contracts.decisions import encode_reorder
from cdc.contracts.state import encode_window
from cdc.contracts.topics import (
    PRICE_EVENTS,
    REORDER_EVENTS,
    SALES_WINDOWS_CHANGELOG,
    output_topics,
)
from deploy.container.generation import wait_released
from deploy.errors import StackError
from deploy.stack.generation import Generation, generation_of
from deploy.stack.home import Home
from deploy.stack.recapture import _rows, finish, forget_former_topics, refuse_too_many
from inventory.model.ids import InvKey, Position
from inventory.model.state import WindowRow
from inventory.revision import LOGIC_REVISION
from streams.sinks.active import Switch, switch
from streams.sinks.actuator import Actuator
from streams.sinks.positions import read_positions
from streams.sinks.projector import Projector
from streams.sinks.source import SinkRecord
from tests.cdc.test_records import REORDER
from tests.ledger.postgres import Server
from tests.ledger.rows import write

PROPOSED = SinkRecord(REORDER_EVENTS, 0, 7, REORDER.at.inv_key.encode(), encode_reorder(REORDER))
OURS, THEIRS = LOGIC_REVISION, LOGIC_REVISION + 1
OTHER = replace(REORDER, at=replace(REORDER.at, logic_revision=THEIRS))
COMING = Generation(2, captured=False)


@pytest.fixture
def url(server: Server, database: str) -> str:
    """Return the URL of the database for its superuser."""
    return server.url("postgres", database)


def test_new_generation_deletes_sink_positions_and_supersedes_open_proposals(
    sinks: psycopg.Connection, ledger: psycopg.Connection, url: str
) -> None:
    sink = Actuator()
    sink.topics(sinks)
    with sinks.transaction():
        sink.write(sinks, [PROPOSED])
    assert ledger.execute("SELECT count(*) FROM read_model.sink_position").fetchone() != (0,)

    for _again in range(2):
        forget_former_topics(url, COMING)

    assert ledger.execute("SELECT count(*) FROM read_model.sink_position").fetchone() == (0,)
    found = ledger.execute("SELECT DISTINCT status, reason FROM app.reorder_proposal").fetchall()
    assert found == [("superseded", "generation")]


def test_new_generation_deletes_sales_windows_of_the_former_log(
    sinks: psycopg.Connection, url: str
) -> None:
    """A window row stores its offset without generation, so former rows would count as newer."""

    def show(sold_units: int, at: Position, start_us: int = 0) -> None:
        sink = Projector()
        sink.topics(sinks)
        row = WindowRow(start_us, sold_units=sold_units, sale_lines=1, had_line=True)
        content = encode_window(InvKey("L|S"), row, at)
        record = SinkRecord(SALES_WINDOWS_CHANGELOG, 0, at.offset, b"L|S@%d" % start_us, content)
        with sinks.transaction():
            sink.write(sinks, [record])

    show(1, Position(1, 900))
    show(1, Position(1, 901), start_us=600_000_000)  # a row that the new log doesn't have

    forget_former_topics(url, COMING)
    show(2, Position(2, 5))

    found = sinks.execute("SELECT start_us, sold_units FROM read_model.sales_window").fetchall()
    assert found == [(0, 2)]


def test_new_generation_replaces_another_deciding_revision_only_on_request(
    sinks: psycopg.Connection, url: str
) -> None:
    for revision, former in ((OURS, None), (THEIRS, OURS)):
        with sinks.transaction():
            switch(sinks, Switch(revision, former, "analyst", {}, {}))
    sink = Actuator()
    sink.topics(sinks)
    other = SinkRecord(
        output_topics(THEIRS).reorder_events, 0, 7, PROPOSED.key, encode_reorder(OTHER)
    )
    with sinks.transaction():
        sink.write(sinks, [other])

    with pytest.raises(
        StackError, match=f"logic revision {THEIRS} decides, but .* have revision {OURS}"
    ) as refused:
        forget_former_topics(url, COMING)
    assert refused.value.repair == "inventory generation --yes --own-rules"
    assert read_positions(sinks, Actuator.name)
    for _again in range(2):
        forget_former_topics(url, replace(COMING, own_rules="ann"))

    words = "SELECT revision, former, switched_by FROM app.revision_switch ORDER BY id"
    assert sinks.execute(words).fetchall() == [
        (OURS, None, "analyst"),
        (THEIRS, OURS, "analyst"),
        (OURS, THEIRS, "ann, generation 2"),
    ]
    assert sinks.execute("SELECT status, logic_revision FROM app.reorder_proposal").fetchall() == [
        ("superseded", THEIRS)
    ]
    assert not read_positions(sinks, Actuator.name)
    assert set(sink.topics(sinks)) == {REORDER_EVENTS, PRICE_EVENTS}


def test_finish_rewrites_policies_without_changing_them(
    ledger: psycopg.Connection, url: str, tmp_path: Path
) -> None:
    write(ledger, "item_location")
    rows = "SELECT i.*, i.xmin::text FROM retail.item_location i"
    [*before, first] = ledger.execute(rows).fetchone() or ()
    home = Home(tmp_path)

    finish(home, url)

    [*after, second] = ledger.execute(rows).fetchone() or ()
    assert after == before
    assert second != first
    assert generation_of(home).captured


def test_new_generation_is_refused_if_a_partition_would_get_too_many_rows(
    ledger: psycopg.Connection, url: str
) -> None:
    """Rows of all tables with the key `L|S` go to the same partition, and share its limit."""
    write(ledger, "item_location")
    for number in range(3):
        write(ledger, "sale_line", source_ref=str(number))

    for code in ("1", "2"):
        ledger.execute("INSERT INTO retail.supplier (code, name) VALUES (%s, 'x')", (code,))

    assert _rows(url) == 6
    refuse_too_many(url, most=4)
    with pytest.raises(StackError, match=r"stock.events\[\d+\] would get 4 captured rows.* most 3"):
        refuse_too_many(url, most=3)


@contextmanager
def streaming(url: str, connection: psycopg.Connection) -> Iterator[None]:
    """Stream through the connector's slot, as a Connect that is still running does."""
    connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (SLOT,))
    other = PGconn.connect(f"{url}?replication=database".encode())
    try:
        options = f"proto_version '1', publication_names '{PUBLICATION}'"
        answer = other.exec_(f"START_REPLICATION SLOT {SLOT} LOGICAL 0/0 ({options})".encode())
        assert answer.status == ExecStatus.COPY_BOTH, other.error_message
        yield
    finally:
        other.finish()
        wait_released(url, 60)
        connection.execute("SELECT pg_drop_replication_slot(%s)", (SLOT,))


def test_replication_slot_in_use_raises_an_error_with_the_repair_command(
    ledger: psycopg.Connection, url: str
) -> None:
    wait_released(url, 0)
    with (
        streaming(url, ledger),
        pytest.raises(StackError, match=r"still in use after 0\.5 s. The topics were kept") as told,
    ):
        wait_released(url, 0.5)

    assert told.value.repair == (
        "docker compose restart connect && docker compose run --rm generation"
    )
