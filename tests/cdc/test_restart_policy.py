"""A connector task that stays failed is restarted, at most five times an hour."""

import socket

import httpx
import pytest

from cdc.capture.client import ConnectClient
from cdc.capture.reconciler import Reconciler
from cdc.capture.restart_policy import RestartPolicy

FAILED, RUNNING = True, False


def restarts_of(policy: RestartPolicy, *seen: tuple[float, bool]) -> list[float]:
    """Return the restart times in seconds for these observed states."""
    restarts = []
    for now, failed in seen:
        if policy.is_restart_due(now, failed=failed):
            policy.count_restart(now)
            restarts.append(now)
    return restarts


def test_a_task_that_fails_for_five_seconds_is_restarted_once() -> None:
    seen = [(100.0, RUNNING), (102.0, FAILED), (104.0, FAILED), (107.0, FAILED), (109.0, RUNNING)]

    assert restarts_of(RestartPolicy(), *seen) == [107.0]


def test_a_task_that_fails_at_second_zero_is_restarted_at_second_five() -> None:
    assert restarts_of(RestartPolicy(), (0.0, FAILED), (5.0, FAILED)) == [5.0]


def test_a_task_that_recovers_within_five_seconds_is_not_restarted() -> None:
    seen = [(100.0, FAILED), (102.0, RUNNING), (107.0, FAILED), (111.0, FAILED)]

    assert restarts_of(RestartPolicy(), *seen) == []


def test_a_poison_row_gets_five_restarts_an_hour() -> None:
    two_hours = [(float(now), FAILED) for now in range(100, 7300, 5)]

    restarts = restarts_of(RestartPolicy(), *two_hours)

    assert restarts[:5] == [105.0, 115.0, 125.0, 135.0, 145.0]
    assert restarts[5] == 105.0 + 3600
    assert len(restarts) == 10


def test_a_restart_request_that_times_out_counts_as_a_restart() -> None:
    """The kernel accepts the connection, and nothing ever answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = ConnectClient(f"http://127.0.0.1:{silent.getsockname()[1]}", "", timeout_s=0.05)
        reconciler = Reconciler(client, {})
        for second in range(5):
            reconciler.restart_failed(5.0 + second, "a trace\nwith lines")

    policy = reconciler.restart_policy
    assert (reconciler.report.repairs, reconciler.report.repaired) == (5, "restarted")
    assert not policy.is_restart_due(20.0, failed=FAILED)
    assert not policy.is_restart_due(40.0, failed=FAILED)
    assert policy.is_restart_due(3_606.0, failed=FAILED)


def test_a_restart_request_that_cannot_connect_does_not_count() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    reconciler = Reconciler(ConnectClient(f"http://127.0.0.1:{port}", "", timeout_s=1.0), {})

    with pytest.raises(httpx.ConnectError):
        reconciler.restart_failed(5.0, "")

    assert reconciler.report.repairs == 0
