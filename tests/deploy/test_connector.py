"""A failed connector task is restarted when it stays failed, and not for ever."""

from deploy.stack.connector import Patience

FAILED, RUNNING = True, False


def looks(patience: Patience, *seen: tuple[float, bool]) -> list[float]:
    """Times of the restarts that follow from what was seen, in seconds."""
    restarts = []
    for now, failed in seen:
        if patience.is_over(now, failed=failed):
            patience.restarted(now)
            restarts.append(now)
    return restarts


def test_a_task_that_fails_for_ten_seconds_is_restarted_once() -> None:
    seen = [(100.0, RUNNING), (105.0, FAILED), (110.0, FAILED), (115.0, FAILED), (120.0, RUNNING)]

    assert looks(Patience(), *seen) == [115.0]


def test_a_task_that_recovers_by_itself_is_left_alone() -> None:
    seen = [(100.0, FAILED), (105.0, RUNNING), (111.0, FAILED), (120.0, FAILED)]

    assert looks(Patience(), *seen) == []


def test_a_poison_row_gets_five_restarts_an_hour() -> None:
    two_hours = [(float(now), FAILED) for now in range(100, 7300, 5)]

    restarts = looks(Patience(), *two_hours)

    assert restarts[:5] == [110.0, 125.0, 140.0, 155.0, 170.0]
    assert restarts[5] == 110.0 + 3600
    assert len(restarts) == 10
