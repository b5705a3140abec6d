"""Exit codes of a sink state whether a restart can help."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from confluent_kafka import KafkaError, KafkaException
from structlog.testing import capture_logs

from cdc.contracts.topics import ON_HAND_CHANGELOG, PRICE_EVENTS, REORDER_EVENTS
from cdc.contracts.versions import UnreadableRecord
from deploy.stack.exit_reason import ExitReason, exit_reason
from streams.exit_codes import NEW_GENERATION, REBUILD
from streams.sinks import process
from streams.sinks.projector import create
from streams.sinks.source import SourceLost, _record_of

NEWER = "  # or start the newer code that wrote it"


def failing(code: int) -> Any:
    """Return the error message that a consumer gives instead of a record."""
    return SimpleNamespace(
        error=lambda: KafkaError(code, "as the broker says"), topic=lambda: ON_HAND_CHANGELOG
    )


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


@pytest.mark.parametrize(
    ("error", "code", "repair"),
    [
        (SourceLost("cut off", ON_HAND_CHANGELOG), 66, REBUILD),
        (SourceLost("cut off", REORDER_EVENTS), 66, NEW_GENERATION),
        (SourceLost("cut off"), 66, NEW_GENERATION),
        (UnreadableRecord("version 9").at(ON_HAND_CHANGELOG, 3, 7), 65, f"{REBUILD}{NEWER}"),
        (UnreadableRecord("version 9").at(PRICE_EVENTS, 3, 7), 65, f"{NEW_GENERATION}{NEWER}"),
    ],
)
def test_a_failed_sink_logs_the_repair_command(
    error: Exception,
    code: int,
    repair: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    def fail(_process: object) -> None:
        raise error

    monkeypatch.setattr(process._Process, "run", fail)
    monkeypatch.setattr(process, "configure_logging", lambda **_: None)
    with pytest.raises(SystemExit), capture_logs() as lines:
        process.main(create)
    log = tmp_path / "projector.log"
    log.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    assert exit_reason(log, code) == ExitReason(str(error), repair)


@pytest.mark.parametrize("code", [KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE])
def test_a_sink_offset_outside_the_topic_raises_an_error(code: int) -> None:
    with pytest.raises(SourceLost, match="as the broker says") as lost:
        _record_of(failing(code), {})

    assert lost.value.topic == ON_HAND_CHANGELOG


def test_a_sink_waits_for_transient_kafka_errors_and_raises_others() -> None:
    assert _record_of(failing(KafkaError._TRANSPORT), {}) is None
    with pytest.raises(KafkaException):
        _record_of(failing(KafkaError.TOPIC_AUTHORIZATION_FAILED), {})
