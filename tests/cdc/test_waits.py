"""Limits on waiting for a connector that does not stream."""

from collections.abc import Iterator

import pytest

from cdc.capture.client import CaptureError, ConnectorState, _until

FAILED = ConnectorState("RUNNING", "FAILED", "no such publication")
RUNNING = ConnectorState("RUNNING", "RUNNING")
MISSING = "Connect has not stored the end of its snapshot"


def test_a_task_that_stays_failed_is_not_waited_for() -> None:
    with pytest.raises(CaptureError, match=r"(?s)task FAILED.*no such publication"):
        _until(lambda: FAILED, lambda _: MISSING, timeout_s=3_600, failed_for_s=0)


def test_a_task_that_was_failed_and_runs_again_is_waited_for() -> None:
    seen: Iterator[ConnectorState] = iter((FAILED, RUNNING))

    assert (
        _until(lambda: next(seen), lambda state: "" if state.running else MISSING, timeout_s=3_600)
        is RUNNING
    )


def test_the_wait_for_a_running_connector_ends_at_its_timeout() -> None:
    with pytest.raises(CaptureError, match=rf"{MISSING} \(connector RUNNING, task RUNNING\)"):
        _until(lambda: RUNNING, lambda _: MISSING, timeout_s=0, failed_for_s=3_600)
