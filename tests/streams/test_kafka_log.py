"""All threads of the reader share one admin client of Kafka. A missing topic has its own error."""

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicCollection

from streams.engine import kafka_log
from streams.engine.mismatch import LogMismatch
from streams.exit_codes import ExitCode
from streams.worker.runtime import exit_code_of


def test_concurrent_threads_share_one_lasting_admin_client() -> None:
    together = Barrier(8)

    def ask(_number: int) -> object:
        together.wait(30)
        return kafka_log._admin("127.0.0.1:9")

    with ThreadPoolExecutor(8) as pool:
        clients = list(pool.map(ask, range(8)))

    assert all(client is clients[0] for client in clients)
    assert kafka_log._admin("127.0.0.1:9") is clients[0]


class Client:
    """An admin client whose broker doesn't know the requested topic, or doesn't answer."""

    def __init__(self, code: int) -> None:
        self._error = KafkaException(KafkaError(code))

    def describe_topics(
        self, topics: TopicCollection, *, request_timeout: float
    ) -> dict[str, "Future[object]"]:
        assert request_timeout > 0
        answer: Future[object] = Future()
        answer.set_exception(self._error)
        return {topics.topic_names[0]: answer}


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        (KafkaError.UNKNOWN_TOPIC_OR_PART, ExitCode.LOG_MISMATCH),
        (KafkaError.REQUEST_TIMED_OUT, ExitCode.BROKER),
    ],
)
def test_a_missing_topic_has_another_exit_code_than_a_broker_failure(
    code: int, exit_code: ExitCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_log, "_admin", lambda _: Client(code))

    with pytest.raises((LogMismatch, KafkaException)) as found:
        kafka_log._describe("nowhere", ["stock.events"])

    assert exit_code_of(found.value) == exit_code
