"""The arithmetic of the exceptions inbox, at both sides of each boundary (docs/domain.md 8)."""

import pytest

from inventory.reports.conditions import (
    is_silence_strange,
    is_variance_due,
    quiet_lambda_micro,
    quiet_since_count,
    raised_lambda_micro,
)

THRESHOLD = 4_605_170


@pytest.mark.domain("8 phantom 165 *", "8 phantom 166 *")
@pytest.mark.parametrize(
    ("quiet", "lambda_micro", "suspect"), [(165, 4_583_333, False), (166, 4_611_111, True)]
)
def test_two_a_day_is_strange_after_166_quiet_windows(
    quiet: int, lambda_micro: int, *, suspect: bool
) -> None:
    assert quiet_lambda_micro(2_000_000, quiet, 72) == lambda_micro
    assert (lambda_micro >= THRESHOLD) is suspect


def test_only_the_days_after_a_count_stay_unanswered() -> None:
    assert quiet_since_count(166, 10, 72) == 166
    assert quiet_since_count(166, 2, 72) == 144
    assert quiet_since_count(166, 0, 72) == 0
    assert quiet_since_count(166, -1, 72) == 0


def test_a_false_alarm_raises_the_threshold_by_half() -> None:
    assert raised_lambda_micro(THRESHOLD) == 6_907_755
    assert [raised_lambda_micro(odd) for odd in (1, 3)] == [2, 4]


@pytest.mark.parametrize(
    ("expected", "tolerance"), [(-7, 2), (0, 2), (20, 2), (21, 3), (100, 10), (101, 11)]
)
def test_a_variance_is_due_one_unit_past_its_tolerance(expected: int, tolerance: int) -> None:
    for side in (-1, 1):
        assert not is_variance_due(expected + side * tolerance, expected)
        assert is_variance_due(expected + side * (tolerance + 1), expected)


def test_seven_lines_a_day_make_silence_strange() -> None:
    assert not is_silence_strange(48)
    assert is_silence_strange(49)
