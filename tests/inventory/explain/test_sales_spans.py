"""Hopping windows and sessions compared with a brute-force computation."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.model.arithmetic import DAY_US, HOUR_US, MINUTE_US, WINDOW_US
from inventory.reports.sales_spans import (
    SESSION_GAP_US,
    SPANS,
    Hop,
    Session,
    hop,
    hops,
    last_hop_end_us,
    sessions,
)

NOON_US = 20_500 * DAY_US + 12 * HOUR_US
WINDOWS = st.integers(-1100, 3).map(lambda number: NOON_US + number * WINDOW_US)
SOLD = st.dictionaries(WINDOWS, st.integers(0, 9), max_size=40)
NOW = st.integers(0, 3 * WINDOW_US).map(lambda later: NOON_US + later)


@given(SOLD, st.sampled_from(SPANS), NOW, st.integers(1, 40))
def test_each_hop_is_the_sum_of_the_windows_in_its_span(
    sold: dict[int, int], span: tuple[str, int], now_us: int, count: int
) -> None:
    found = hops(sold, span_us=span[1], count=count, now_us=now_us)

    ends = [last_hop_end_us(now_us) - back * WINDOW_US for back in range(count)][::-1]
    assert [one.end_us for one in found] == ends
    for one in found:
        inside = [units for at, units in sold.items() if one.start_us <= at < one.end_us]
        assert one.units == sum(inside)
        assert one.end_us - one.start_us == span[1]
        assert one.is_settled == (now_us >= one.end_us + WINDOW_US)
        assert one == hop(sold, span_us=span[1], end_us=one.end_us, now_us=now_us)


@given(SOLD)
def test_sessions_partition_the_selling_windows(sold: dict[int, int]) -> None:
    found = sessions(sold)

    selling = sorted(at for at, units in sold.items() if units > 0)
    inside = [[at for at in selling if one.start_us <= at < one.end_us] for one in found]
    assert [at for windows in inside for at in windows] == selling
    for one, windows in zip(found, inside, strict=True):
        assert (one.start_us, one.end_us) == (windows[0], windows[-1] + WINDOW_US)
        assert (one.windows, one.units) == (len(windows), sum(sold[at] for at in windows))
        gaps = [later - at - WINDOW_US for at, later in pairwise(windows)]
        assert all(gap < SESSION_GAP_US for gap in gaps)
    for before, after in pairwise(found):
        assert after.start_us - before.end_us >= SESSION_GAP_US


@pytest.mark.parametrize(("quiet_minutes", "expected"), [(0, 1), (20, 1), (30, 2), (40, 2)])
def test_a_gap_of_thirty_minutes_ends_a_session(quiet_minutes: int, expected: int) -> None:
    second_us = NOON_US + WINDOW_US + quiet_minutes * MINUTE_US

    assert len(sessions({NOON_US: 1, second_us: 2})) == expected


def test_a_window_without_units_sold_belongs_to_no_session() -> None:
    assert sessions({NOON_US: 0}) == ()
    assert sessions({NOON_US: 3}) == (Session(NOON_US, NOON_US + WINDOW_US, 3, 1),)


def test_the_hop_of_now_leaves_the_window_in_progress_out() -> None:
    sold = {NOON_US - HOUR_US: 1, NOON_US - WINDOW_US: 2, NOON_US: 4}

    found = hops(sold, span_us=HOUR_US, count=1, now_us=NOON_US + 1)

    assert found == (Hop(NOON_US - HOUR_US, NOON_US, 3, is_settled=False),)
