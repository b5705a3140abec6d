"""The divisions and the calendar of domain.md 0."""

import pytest

from inventory.model.arithmetic import ceil_div, day_of, half_even, weekday_of, window_start
from tests.inventory.builders import MONDAY_US, at


@pytest.mark.parametrize(
    ("dividend", "divisor", "quotient"), [(5, 2, 2), (7, 2, 4), (-5, 2, -2), (-7, 2, -4)]
)
def test_a_tie_goes_to_the_even_quotient(dividend: int, divisor: int, quotient: int) -> None:
    assert half_even(dividend, divisor) == quotient


def test_floor_and_ceiling_round_away_from_each_other_below_zero() -> None:
    assert (-7 // 2, ceil_div(-7, 2)) == (-4, -3)


@pytest.mark.domain("1 window")
def test_an_event_at_the_end_of_a_window_is_in_the_next_one() -> None:
    assert window_start(at("10:09:59")) == at("10:00")
    assert window_start(at("10:10")) == at("10:10")


def test_monday_is_weekday_zero() -> None:
    assert (weekday_of(MONDAY_US), weekday_of(0), day_of(MONDAY_US)) == (0, 3, 20_402)
