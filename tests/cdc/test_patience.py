"""A connector task that stays failed is restarted, at most five times an hour."""

from cdc.capture.restart_policy import Patience

FAILED, RUNNING = True, False


def looks(patience: Patience, *seen: tuple[float, bool]) -> list[float]:
    """Return the restart times in seconds for these observed states."""
    restarts = []
    for now, failed in seen:
        if patience.is_over(now, failed=failed):
            patience.restarted(now)
            restarts.append(now)
    return restarts


def test_a_task_that_fails_for_five_seconds_is_restarted_once() -> None:
    seen = [(100.0, RUNNING), (102.0, FAILED), (104.0, FAILED), (107.0, FAILED), (109.0, RUNNING)]

    assert looks(Patience(), *seen) == [107.0]


def test_a_task_that_recovers_by_itself_is_left_alone() -> None:
    seen = [(100.0, FAILED), (102.0, RUNNING), (107.0, FAILED), (111.0, FAILED)]

    assert looks(Patience(), *seen) == []


def test_a_poison_row_gets_five_restarts_an_hour() -> None:
    two_hours = [(float(now), FAILED) for now in range(100, 7300, 5)]

    restarts = looks(Patience(), *two_hours)

    assert restarts[:5] == [105.0, 115.0, 125.0, 135.0, 145.0]
    assert restarts[5] == 105.0 + 3600
    assert len(restarts) == 10
