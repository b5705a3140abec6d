"""The steps of a publication, as far as no broker has to be asked."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from deploy.revisions.publish import commit, patiently


def test_where_nothing_was_published_the_group_is_given_nothing() -> None:
    said: list[str] = []

    commit("127.0.0.1:1", {0: 0, 1: 0}, said.append)

    assert said == []


def test_a_broker_that_has_just_started_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers for no group before it has loaded them."""
    monkeypatch.setattr("deploy.revisions.publish._POLL_S", 0.0)
    young = [KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR]

    def ask() -> str:
        if young:
            raise KafkaException(KafkaError(young.pop()))
        return "answer"

    assert patiently(ask) == "answer"


@pytest.mark.parametrize(
    ("code", "patience_s"),
    [(KafkaError.NOT_COORDINATOR, -1.0), (KafkaError.GROUP_AUTHORIZATION_FAILED, 30.0)],
)
def test_not_for_ever_and_not_for_any_reason(
    monkeypatch: pytest.MonkeyPatch, code: int, patience_s: float
) -> None:
    monkeypatch.setattr("deploy.revisions.publish._WAIT_S", patience_s)

    def ask() -> None:
        raise KafkaException(KafkaError(code))

    with pytest.raises(KafkaException):
        patiently(ask)
