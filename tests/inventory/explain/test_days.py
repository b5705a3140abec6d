"""The days of charts agree with the rules of demand and prices, with numbers computed by hand."""

import pytest

from inventory.explain.days import (
    DayFact,
    DemandDay,
    Opening,
    StockDay,
    demand_days,
    price_days,
    stock_days,
)
from inventory.fold.demand import Rules
from inventory.model.arithmetic import DAY_US, HOUR_US, WINDOW_US
from inventory.pricing.margins import net_minor, unit_effect_minor, week_effect_minor
from tests.inventory.decision_inputs import row

MONDAY = 20_513 * DAY_US
TUESDAY, WEDNESDAY, THURSDAY = (MONDAY + days * DAY_US for days in (1, 2, 3))
WINDOWS = 144  # open all day
RULES = Rules(WINDOWS, 0, is_tsb=False, alpha_permille=125, initial_rate_micro=None, timeline=())


def sale(at_us: int, units: int, running: int, *, is_late: bool = False) -> DayFact:
    return DayFact(at_us, "sales", -units, running, sold_units=units, is_late=is_late)


def test_a_day_closes_with_its_last_fact_and_an_empty_day_with_the_day_before() -> None:
    facts = (
        DayFact(MONDAY + HOUR_US, "receipts", 12, 15),
        sale(MONDAY + 2 * HOUR_US, 2, 13),
        sale(MONDAY + 3 * HOUR_US, 1, 12, is_late=True),
        DayFact(WEDNESDAY, "count", -2, 10, counted_units=10),
    )

    assert stock_days(3, facts, (MONDAY, THURSDAY)) == (
        StockDay(MONDAY, 12, (("receipts", 12), ("sales", -3)), late_facts=1),
        StockDay(TUESDAY, 12),
        StockDay(WEDNESDAY, 10, counted_units=10),
    )
    assert stock_days(3, (), (MONDAY, TUESDAY)) == (StockDay(MONDAY, 3),)


def test_a_day_without_stock_is_out_and_does_not_count() -> None:
    noon = MONDAY + 12 * HOUR_US
    facts = (sale(noon, 4, 0), DayFact(WEDNESDAY + 12 * HOUR_US, "receipts", 6, 6))

    days = demand_days(
        Opening(units=4, is_counted=True, began_us=0), facts, (MONDAY, THURSDAY), RULES
    )

    # From the window after the sale on, 71 of 144 windows had no stock: 4·144/73 a day.
    assert days[0] == DemandDay(MONDAY, 4, 71, WINDOWS, 7_890_411, "counted")
    assert days[1] == DemandDay(TUESDAY, 0, WINDOWS, WINDOWS, None, "out")
    assert days[2] == DemandDay(WEDNESDAY, 0, 73, WINDOWS, 0, "counted")


def test_the_first_day_of_the_record_and_days_of_a_markdown_do_not_count() -> None:
    rules = Rules(WINDOWS, 0, False, 125, None, (row(TUESDAY, 799, step=1),))  # noqa: FBT003 -- not tsb

    days = demand_days(
        Opening(units=9, is_counted=True, began_us=MONDAY),
        (sale(MONDAY, 2, 7),),
        (MONDAY, WEDNESDAY),
        rules,
    )

    assert [(day.sold_units, day.observed_micro, day.reason) for day in days] == [
        (2, None, "first"),
        (0, None, "markdown"),
    ]


def test_windows_before_the_first_count_are_not_out_of_stock() -> None:
    counted = MONDAY + 6 * HOUR_US
    facts = (DayFact(counted, "count", 0, 0, counted_units=0),)

    days = demand_days(
        Opening(units=0, is_counted=False, began_us=0), facts, (MONDAY, WEDNESDAY), RULES
    )

    assert [day.out_windows for day in days] == [WINDOWS - 37, WINDOWS]
    assert (
        demand_days(Opening(units=0, is_counted=False, began_us=0), (), (MONDAY, TUESDAY), RULES)[
            0
        ].out_windows
        == 0
    )


def test_two_movements_of_one_second_are_one_move() -> None:
    at = MONDAY + WINDOW_US + 5
    facts = (sale(at, 1, 1), sale(at + 1, 1, 0))

    [day] = demand_days(
        Opening(units=2, is_counted=True, began_us=0), facts, (MONDAY, TUESDAY), RULES
    )

    assert (day.sold_units, day.out_windows) == (2, WINDOWS - 2)


def test_a_price_day_has_the_price_at_its_end_and_the_lowest_of_30_days() -> None:
    timeline = (row(MONDAY + HOUR_US, 999), row(TUESDAY, 799, id=2), row(WEDNESDAY, 899, id=3))
    later = row(WEDNESDAY + 2 * HOUR_US, 500, id=4)

    days = price_days((*timeline, later), (MONDAY - DAY_US, THURSDAY), now_us=WEDNESDAY + HOUR_US)

    assert [(day.price_minor, day.lowest_minor) for day in days] == [
        (None, None),
        (999, 999),
        (799, 799),
        (899, 799),  # the price of 500 begins an hour from now
    ]


@pytest.mark.domain("6.5 *")
def test_the_effect_on_the_margin_leaves_out_the_tax() -> None:
    assert net_minor(999, 2000) == 832
    assert unit_effect_minor(999, 849, 2000) == -124
    assert week_effect_minor(-124, 2_500_000) == -2170
    assert week_effect_minor(-124, 0) == 0
