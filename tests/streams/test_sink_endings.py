"""How a sink ends: with a code that says whether starting it again can help."""

from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from confluent_kafka import KafkaError, KafkaException

from cdc.contracts.versions import UnreadableRecord
from streams.sinks import process
from streams.sinks.projector import create
from streams.sinks.source import SourceLost, _record_of


def failing(code: int) -> Any:
    """What a consumer gives instead of a record."""
    return SimpleNamespace(error=lambda: KafkaError(code, "as the broker says"))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (psycopg.OperationalError("gone"), 1),
        (KafkaException("gone"), 1),
        (process.SecondInstance("another"), 1),
        (UnreadableRecord("version 9"), 65),
        (SourceLost("cut off"), 66),
    ],
)
def test_a_sink_ends_with_the_code_of_its_reason(
    error: Exception, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_process: object) -> None:
        raise error

    monkeypatch.setattr(process._Process, "run", fail)
    monkeypatch.setattr(process, "configure_logging", lambda **_: None)
    with pytest.raises(SystemExit) as ended:
        process.main(create)

    assert ended.value.code == code


@pytest.mark.parametrize("code", [KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE])
def test_an_offset_that_the_topic_does_not_hold_is_never_replaced(code: int) -> None:
    with pytest.raises(SourceLost, match="as the broker says"):
        _record_of(failing(code))


def test_what_passes_is_waited_for_and_what_does_not_is_an_error() -> None:
    assert _record_of(failing(KafkaError._TRANSPORT)) is None
    with pytest.raises(KafkaException):
        _record_of(failing(KafkaError.TOPIC_AUTHORIZATION_FAILED))
