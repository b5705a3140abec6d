"""A sale line is late if its window was closed by stream time at its arrival (domain.md 3.2)."""

import pytest

from inventory.explain.arrival import COUNTED, ON_TIME, UNCOUNTED, arrival
from inventory.model.arithmetic import DAY_US, WINDOW_US

SOLD_US = 20_500 * DAY_US + 5 * WINDOW_US + 7_000_000
CLOSED_US = 20_500 * DAY_US + 7 * WINDOW_US
EXPIRED_US = 20_504 * DAY_US


@pytest.mark.parametrize(
    ("written_us", "late_lines", "expected"),
    [
        (SOLD_US, 1, ON_TIME),
        (CLOSED_US - 1, 1, ON_TIME),
        (CLOSED_US, 1, COUNTED),
        (CLOSED_US, 0, ON_TIME),
        (EXPIRED_US - 1, 2, COUNTED),
        (EXPIRED_US, None, UNCOUNTED),
        (EXPIRED_US, 0, ON_TIME),
    ],
)
def test_arrival_changes_exactly_at_the_end_of_grace_and_of_retention(
    written_us: int, late_lines: int | None, expected: str
) -> None:
    assert arrival(SOLD_US, written_us, late_lines) == expected


@pytest.mark.parametrize(
    ("written_us", "late_lines", "expected"),
    [
        (CLOSED_US, 0, ON_TIME),
        (EXPIRED_US - 1, 0, ON_TIME),
        (EXPIRED_US, 0, UNCOUNTED),
        (EXPIRED_US - 1, 1, COUNTED),
        (EXPIRED_US, 1, UNCOUNTED),
    ],
)
def test_arrival_is_uncounted_for_an_expired_line_that_its_window_lacks(
    written_us: int, late_lines: int, expected: str
) -> None:
    assert arrival(SOLD_US, written_us, late_lines, lacks_lines=True) == expected
