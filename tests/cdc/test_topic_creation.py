"""Answers of a broker that creates topics and isn't ready yet."""

from collections.abc import Iterable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from cdc.capture import admin
from cdc.contracts.topics import Topic

TOPIC = Topic("new", partitions=2, config={})
NOT_YET = (
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)


def _answer(error: int | None) -> Future[object]:
    future: Future[object] = Future()
    if error is None:
        future.set_result(SimpleNamespace(offset=0))
    else:
        future.set_exception(KafkaException(KafkaError(error)))
    return future


class Broker:
    """An admin client whose first request for offsets fails, as real requests sometimes do."""

    def __init__(self, error: int) -> None:
        self.errors = [error, error]
        self.asked: list[TopicPartition] = []

    def create_topics(self, topics: Iterable[object], **_: float) -> dict[str, Future[object]]:
        assert len(list(topics)) == 1
        return {TOPIC.name: _answer(None)}

    def list_topics(self, **_: float) -> SimpleNamespace:
        return SimpleNamespace(topics={TOPIC.name: None})

    def list_offsets(
        self, wanted: dict[TopicPartition, object], **_: float
    ) -> dict[TopicPartition, Future[object]]:
        self.asked += wanted
        return {tp: _answer(self.errors.pop() if self.errors else None) for tp in wanted}


@pytest.mark.parametrize("error", NOT_YET)
def test_a_leader_that_is_not_ready_is_asked_again(
    error: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = Broker(error)
    monkeypatch.setattr(admin, "admin_client", lambda _: broker)

    assert admin.create_topics("host:1", [TOPIC]) == ("new",)
    assert [tp.partition for tp in broker.asked] == [0, 1, 0, 1]


def test_another_error_of_a_leader_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    monkeypatch.setattr(admin, "admin_client", lambda _: broker)

    with pytest.raises(KafkaException):
        admin.create_topics("host:1", [TOPIC])


def test_topic_ids_raises_a_timeout_if_the_broker_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admin, "_LATER_S", 0.0)
    silent: Any = SimpleNamespace(
        describe_topics=lambda topics, **_: {name: Future() for name in topics.topic_names}
    )

    with pytest.raises(KafkaException, match="_TIMED_OUT"):
        admin.topic_ids(silent, ["topic"], timeout_s=0.0)
