"""A record of an unknown version stops its reader. The error has its offset and both versions."""

import asyncio
import json
from typing import Any

import pytest

from cdc.contracts.topics import (
    ON_HAND_CHANGELOG,
    PRICE_EVENTS,
    REORDER_EVENTS,
    SALES_WINDOWS_CHANGELOG,
    STOCK_LATE,
    STOCK_REJECTED,
)
from cdc.contracts.versions import UnknownVersion, UnreadableRecord
from inventory.revision import LOGIC_REVISION
from streams.engine.memory import MemoryBroker
from streams.engine.mismatch import LogMismatch
from streams.engine.records import LogRecord
from streams.engine.restore import restore
from streams.sinks.actuator import Actuator
from streams.sinks.projector import Projector
from streams.sinks.source import SinkRecord
from tests.golden.workers import kept, kept_state

PARTITION, OFFSET = 3, 812
NO_DATABASE: Any = None  # a sink decodes a whole batch before it writes


def of_version(kind: str, **changes: object) -> bytes:
    released = kept_state if kind in ("level", "window") else kept
    return json.dumps(json.loads(released(kind, 1)[0]) | changes).encode()


def found(topic: str, value: bytes, **headers: bytes) -> SinkRecord:
    return SinkRecord(topic, PARTITION, OFFSET, b"S1|A", value, tuple(headers.items()))


@pytest.mark.parametrize(
    ("topic", "kind"), [(ON_HAND_CHANGELOG, "level"), (SALES_WINDOWS_CHANGELOG, "window")]
)
@pytest.mark.parametrize(("counter", "known"), [("schema", 1), ("logic_revision", LOGIC_REVISION)])
def test_a_worker_restores_no_state_of_an_unknown_version(
    topic: str, kind: str, counter: str, known: int
) -> None:
    broker = MemoryBroker()
    broker.produce(topic, PARTITION, b"k", of_version(kind))
    broker.produce(topic, PARTITION, b"k", of_version(kind, **{counter: 9}))

    with pytest.raises(UnknownVersion) as stopped:
        asyncio.run(restore(PARTITION, 1, broker))

    assert str(stopped.value) == (
        f"{topic}[{PARTITION}]@1: {kind} record: {counter} 9 is unknown here; known: {known}"
    )


def test_a_worker_restores_no_progress_of_an_unknown_version() -> None:
    broker = MemoryBroker()
    header = (("progress", b'{"schema":4}'),)
    broker.topics[ON_HAND_CHANGELOG, PARTITION] = [LogRecord(7, b"k", of_version("level"), header)]

    with pytest.raises(UnknownVersion, match="progress record: schema 4") as stopped:
        asyncio.run(restore(PARTITION, 1, broker))

    assert stopped.value.position == f"{ON_HAND_CHANGELOG}[{PARTITION}]@7"


def test_a_worker_restores_no_corrupt_record() -> None:
    broker = MemoryBroker()
    broker.produce(ON_HAND_CHANGELOG, PARTITION, b"k", b"\x00")

    with pytest.raises(UnreadableRecord, match="record: not JSON") as stopped:
        asyncio.run(restore(PARTITION, 1, broker))

    assert stopped.value.position == f"{ON_HAND_CHANGELOG}[{PARTITION}]@0"


@pytest.mark.parametrize(
    ("topic", "kind"),
    [
        (ON_HAND_CHANGELOG, "level"),
        (SALES_WINDOWS_CHANGELOG, "window"),
        (STOCK_LATE, "stock_late"),
        (STOCK_REJECTED, "stock_rejected"),
    ],
)
def test_the_projector_shows_no_record_of_an_unknown_version(topic: str, kind: str) -> None:
    record = found(topic, of_version(kind, schema=99))

    with pytest.raises(UnknownVersion, match="schema 99 is unknown here; known: 1") as stopped:
        Projector().write(NO_DATABASE, [record])

    assert stopped.value.position == f"{topic}[{PARTITION}]@{OFFSET}"


@pytest.mark.parametrize("header", ["progress", "beat"])
def test_the_projector_refuses_a_header_of_an_unknown_version(header: str) -> None:
    record = SinkRecord(
        ON_HAND_CHANGELOG,
        PARTITION,
        OFFSET,
        b"~heartbeat|3",
        kept_state("level", 1)[0],
        ((header, b'{"schema":9}'),),
    )

    with pytest.raises(UnknownVersion, match=f"{header} record: schema 9") as stopped:
        Projector().write(NO_DATABASE, [record])

    assert stopped.value.position == f"{ON_HAND_CHANGELOG}[{PARTITION}]@{OFFSET}"


@pytest.mark.parametrize(
    ("topic", "kind"), [(REORDER_EVENTS, "reorder_event"), (PRICE_EVENTS, "price_event")]
)
def test_the_actuator_proposes_nothing_of_an_unknown_version(topic: str, kind: str) -> None:
    record = found(topic, of_version(kind, schema=99))

    with pytest.raises(UnknownVersion, match="schema 99 is unknown here; known: 1") as stopped:
        Actuator().write(NO_DATABASE, [record])

    assert stopped.value.position == f"{topic}[{PARTITION}]@{OFFSET}"


@pytest.mark.parametrize("topic", [ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG])
def test_a_worker_restores_nothing_from_a_changelog_with_a_tombstone(topic: str) -> None:
    """No worker writes a tombstone. After it, compaction deletes the records of the key."""
    broker = MemoryBroker()
    broker.produce(topic, PARTITION, b"k", None)

    with pytest.raises(LogMismatch, match=rf"{topic}\[3\]@0 is a tombstone") as stopped:
        asyncio.run(restore(PARTITION, 1, broker))

    assert stopped.value.repair == "inventory workers rebuild --yes"
