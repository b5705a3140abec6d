"""A sink ends if its topic was deleted and created again. Otherwise it would skip new records."""

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest
from confluent_kafka import KafkaError, KafkaException, TopicCollection

from cdc.contracts.topics import ON_HAND_CHANGELOG, PRICE_EVENTS, REORDER_EVENTS, STOCK_LATE
from streams.exit_codes import NEW_GENERATION, REBUILD
from streams.settings import SinkSettings
from streams.sinks.actuator import Actuator
from streams.sinks.positions import move_positions, read_topic_ids
from streams.sinks.process import _Process
from streams.sinks.projector import Projector
from streams.sinks.source import SourceLost
from tests.ledger.test_sink_crashes import DECISION, LEVEL, attempt


class Broker:
    """An admin client whose broker has the topics of `ids` with these topic ids, and no others."""

    def __init__(self, ids: dict[str, str], missing: int = KafkaError.UNKNOWN_TOPIC_OR_PART):
        self.ids = ids
        self._missing = missing

    def describe_topics(
        self, topics: TopicCollection, *, request_timeout: float
    ) -> dict[str, "Future[object]"]:
        assert request_timeout > 0
        return {topic: self._answer(topic) for topic in topics.topic_names}

    def _answer(self, topic: str) -> "Future[object]":
        answer: Future[object] = Future()
        if topic in self.ids:
            answer.set_result(SimpleNamespace(topic_id=self.ids[topic]))
        else:
            answer.set_exception(KafkaException(KafkaError(self._missing)))
        return answer


def start(sinks: psycopg.Connection, sink: Any, broker: Broker) -> Mapping[str, str] | None:
    """Start the sink. Return the topic ids with which it reads, or None if it reads nothing."""
    process, given = _Process(SinkSettings(), sink), list[Mapping[str, str]]()
    process._admin = cast("Any", broker)
    process._start_if_changed(source_of(given), sinks)
    return given[-1] if given else None


def source_of(given: list[Mapping[str, str]]) -> Any:
    """Return a source that adds the ids of each start to `given`, and removes them at a stop."""
    return SimpleNamespace(start=lambda *arguments: given.append(arguments[-1]), stop=given.clear)


def test_a_running_sink_checks_topic_ids_and_stops_reading_without_an_answer(
    sinks: psycopg.Connection,
) -> None:
    process, given = _Process(SinkSettings(), Projector()), list[Mapping[str, str]]()
    broker = Broker({LEVEL.topic: "first"})
    process._admin = cast("Any", broker)
    process._start_if_changed(source_of(given), sinks)
    assert given == [{LEVEL.topic: "first"}]

    process._topics = ()  # as after a batch that was dropped
    process._admin = cast("Any", Broker({}, KafkaError._TIMED_OUT))
    process._start_if_changed(source_of(given), sinks)
    assert given == []

    process._admin = cast("Any", broker)
    process._start_if_changed(source_of(given), sinks)
    attempt(sinks, Projector(), [replace(LEVEL, topic_id="first")], dies=False)
    broker.ids[LEVEL.topic] = "second"
    process._check_topics(sinks)  # not due yet
    process._checked_at_s = float("-inf")
    with pytest.raises(SourceLost):
        process._check_topics(sinks)


@pytest.mark.parametrize(
    ("sink", "record", "repair"),
    [(Projector, LEVEL, REBUILD), (Actuator, DECISION, NEW_GENERATION)],
)
def test_a_sink_does_not_read_a_recreated_topic(
    sinks: psycopg.Connection, sink: Any, record: Any, repair: str
) -> None:
    broker = Broker({record.topic: "first"})
    ids = start(sinks, sink(), broker)
    assert ids == {record.topic: "first"}
    attempt(sinks, sink(), [replace(record, topic_id=ids[record.topic])], dies=False)
    assert read_topic_ids(sinks, sink.name) == {record.topic: "first"}
    assert start(sinks, sink(), broker) == ids

    broker.ids[record.topic] = "second"

    with pytest.raises(SourceLost, match="was deleted and recreated: its id is second") as lost:
        start(sinks, sink(), broker)
    assert lost.value.topic == record.topic
    assert f"`{repair}`" in str(lost.value)


def test_offsets_stored_by_a_switch_are_valid_in_recreated_topics(
    sinks: psycopg.Connection, ledger: psycopg.Connection
) -> None:
    attempt(sinks, Actuator(), [DECISION], dies=False)
    start(sinks, Actuator(), Broker({REORDER_EVENTS: "first", PRICE_EVENTS: "price"}))

    move_positions(ledger, Actuator.name, {(REORDER_EVENTS, 0): 3, (PRICE_EVENTS, 0): 0})

    start(sinks, Actuator(), Broker({REORDER_EVENTS: "second", PRICE_EVENTS: "price"}))
    assert read_topic_ids(sinks, Actuator.name) == {REORDER_EVENTS: "second", PRICE_EVENTS: "price"}


def test_a_sink_waits_for_the_broker_but_starts_without_a_missing_topic(
    sinks: psycopg.Connection,
) -> None:
    attempt(sinks, Projector(), [LEVEL], dies=False)  # as the earlier release did, without an id
    start(sinks, Projector(), Broker({ON_HAND_CHANGELOG: "first", STOCK_LATE: "late"}))
    assert read_topic_ids(sinks, Projector.name) == {ON_HAND_CHANGELOG: "first"}

    assert start(sinks, Projector(), Broker({})) == {}
    assert start(sinks, Projector(), Broker({}, KafkaError._TIMED_OUT)) is None
    with pytest.raises(KafkaException):
        start(sinks, Projector(), Broker({}, KafkaError.TOPIC_AUTHORIZATION_FAILED))

    start(sinks, Projector(), Broker({ON_HAND_CHANGELOG: "first", STOCK_LATE: "another"}))
    assert read_topic_ids(sinks, Projector.name) == {ON_HAND_CHANGELOG: "first"}
