"""The price timeline of domain.md 6.1 and 11.9: price in force, kept rows and prior price."""

import pytest

from inventory.model.arithmetic import DAY_US
from inventory.model.price_timeline import (
    Timeline,
    add_row,
    first_cut,
    in_force,
    prior_price,
    prune,
    step_at,
)
from tests.inventory.decision_inputs import NOW_US, row, written

OCTOBER, FEBRUARY, MARCH = 20_362 * DAY_US, 20_485 * DAY_US, 20_513 * DAY_US  # firsts of the month
WINTER = (
    row(OCTOBER, 999),
    row(FEBRUARY + 9 * DAY_US, 799, id=2),
    row(FEBRUARY + 16 * DAY_US, 999, id=3),
)


@pytest.mark.parametrize(
    ("cut_at", "prior"),
    [(MARCH + 17 * DAY_US, 799), (MARCH + 18 * DAY_US, 999)],
    ids=["P17", "P18"],
)
def test_prior_price_vector(cut_at, prior):
    assert prior_price(WINTER, cut_at, progressive=False) == prior


def test_rows_are_ordered_by_time_and_then_by_id():
    timeline: Timeline = ()
    for fact in (written(20, 3, id=1), written(10, 1, id=9), written(10, 2, id=4)):
        timeline = add_row(timeline, fact)
    assert [(kept.effective_from_us, kept.id) for kept in timeline] == [(10, 4), (10, 9), (20, 1)]


@pytest.mark.parametrize(("at_us", "price"), [(9, None), (10, 7), (19, 7), (20, 8), (99, 8)])
def test_the_latest_row_that_began_is_in_force(at_us, price):
    timeline = (row(10, 6, id=1), row(10, 7, id=2), row(20, 8, id=1))
    found = in_force(timeline, at_us)
    assert (None if found is None else found.price_minor) == price


def test_the_price_step_is_zero_before_the_first_price_row():
    assert step_at((), 5) == 0
    assert step_at((row(10, 6, step=2),), 9) == 0
    assert step_at((row(10, 6, step=2),), 10) == 2


def test_prior_price_is_none_without_history():
    assert prior_price((), NOW_US, progressive=True) is None
    assert prior_price((row(NOW_US, 5),), NOW_US, progressive=False) is None
    assert prior_price((row(NOW_US - 1, 5),), NOW_US, progressive=False) == 5


def test_a_price_that_was_replaced_at_once_was_never_in_force():
    timeline = (row(NOW_US - 50, 900), row(NOW_US - 9, 1, id=2), row(NOW_US - 9, 800, id=3))
    assert prior_price(timeline, NOW_US, progressive=False) == 800


def test_the_progressive_prior_price_precedes_the_first_cut_of_the_run():
    timeline = (
        row(NOW_US - 90 * DAY_US, 700),
        row(NOW_US - 80 * DAY_US, 1000, id=2),
        row(NOW_US - 20 * DAY_US, 900, id=3),
        row(NOW_US - 10 * DAY_US, 900, id=4),
        row(NOW_US - 5 * DAY_US, 800, id=5),
    )
    assert prior_price(timeline, NOW_US, progressive=True) == 1000
    assert prior_price(timeline, NOW_US, progressive=False) == 800
    assert first_cut(timeline, NOW_US) == timeline[2]
    assert first_cut(timeline, NOW_US - 15 * DAY_US) == timeline[2]
    assert first_cut(timeline[:2], NOW_US) is None


@pytest.mark.domain("11.9 Kept rows")
def test_a_raise_ends_a_run_of_cuts_and_an_equal_price_starts_none():
    raised = (row(1, 9), row(2, 8, id=2), row(3, 9, id=3), row(4, 9, id=4))
    assert first_cut(raised, 4) is None
    assert prior_price(raised, 5, progressive=True) == 8


@pytest.mark.domain("11.9 Kept rows")
def test_a_cut_at_exactly_the_given_time_belongs_to_the_run():
    timeline = (row(1, 9), row(5, 8, id=2))
    assert first_cut(timeline, 4) is None
    assert first_cut(timeline, 5) == timeline[1]


@pytest.mark.domain("11.9 Kept rows")
def test_pruning_keeps_a_month_and_two_rows_before():
    old = tuple(row(NOW_US - (90 - n) * DAY_US, 100, id=n) for n in range(5))
    edge = row(NOW_US - 31 * DAY_US, 100, id=7)
    future = row(NOW_US + DAY_US, 100, id=8)
    timeline = (*old, edge, future)
    assert prune(timeline, NOW_US) == (*old[3:], edge, future)
    assert prune(timeline, NOW_US + 1) == (*old[4:], edge, future)
    assert prune(timeline[:2], NOW_US) == timeline[:2]
    assert prune((), NOW_US) == ()
    assert prune((future,), NOW_US) == (future,)


@pytest.mark.domain("11.9 Kept rows")
def test_pruning_keeps_a_month_before_the_first_cut_of_the_run():
    timeline = (
        row(NOW_US - 200 * DAY_US, 1000, id=1),
        row(NOW_US - 150 * DAY_US, 1000, id=2),
        row(NOW_US - 100 * DAY_US, 1000, id=3),
        row(NOW_US - 60 * DAY_US, 900, id=4),
        row(NOW_US - 40 * DAY_US, 800, id=5),
        row(NOW_US - 1, 700, id=6),
    )
    kept = prune(timeline, NOW_US)
    assert kept == timeline[1:]
    assert prior_price(kept, NOW_US, progressive=True) == 1000
