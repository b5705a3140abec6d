"""A connector task that stays failed is restarted, at most five times an hour."""

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


def test_a_failure_seen_at_second_zero_counts_from_there() -> None:
    assert restarts_of(RestartPolicy(), (0.0, FAILED), (5.0, FAILED)) == [5.0]


def test_a_task_that_recovers_by_itself_is_left_alone() -> None:
    seen = [(100.0, FAILED), (102.0, RUNNING), (107.0, FAILED), (111.0, FAILED)]

    assert restarts_of(RestartPolicy(), *seen) == []


def test_a_poison_row_gets_five_restarts_an_hour() -> None:
    two_hours = [(float(now), FAILED) for now in range(100, 7300, 5)]

    restarts = restarts_of(RestartPolicy(), *two_hours)

    assert restarts[:5] == [105.0, 115.0, 125.0, 135.0, 145.0]
    assert restarts[5] == 105.0 + 3600
    assert len(restarts) == 10
