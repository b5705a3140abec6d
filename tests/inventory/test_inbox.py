"""The conditions of tasks, on both sides of each boundary (docs/domain.md 8)."""

import pytest

from inventory.reports.conditions import is_variance_due, raised_lambda_micro

THRESHOLD = 4_605_170


def test_a_false_alarm_raises_the_threshold_by_half() -> None:
    assert raised_lambda_micro(THRESHOLD) == 6_907_755
    assert [raised_lambda_micro(odd) for odd in (1, 3)] == [2, 4]


@pytest.mark.parametrize(
    ("expected", "tolerance"), [(-7, 2), (0, 2), (20, 2), (21, 3), (100, 10), (101, 11)]
)
def test_a_variance_task_is_due_one_unit_above_the_tolerance(expected: int, tolerance: int) -> None:
    for side in (-1, 1):
        assert not is_variance_due(expected + side * tolerance, expected)
        assert is_variance_due(expected + side * (tolerance + 1), expected)
