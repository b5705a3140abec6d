"""The message of a failed child process has its last error."""

import json
from pathlib import Path

import pytest

from bench.children import log_tail

ERROR = {"exc_type": "KafkaException", "exc_value": "LEADER_NOT_AVAILABLE", "frames": ["f"] * 900}


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (
            json.dumps({"event": "the worker ends", "exception": [ERROR]}),
            "the worker ends: KafkaException: LEADER_NOT_AVAILABLE",
        ),
        (json.dumps({"event": "ready"}), '{"event": "ready"}'),
        ("x" * 700, "x" * 600),
        ("", ""),
    ],
)
def test_the_tail_of_a_log_is_its_last_error(tmp_path: Path, last: str, expected: str) -> None:
    log = tmp_path / "worker.log"
    log.write_text(f"an earlier line\n{last}" if last else "")

    found = log_tail(log)

    assert found.removeprefix("an earlier line").strip() == expected
