"""Gates of domain.md 6.2 and 11.9: cool-down, no-touch, one rule-made change a day."""

import pytest

from inventory.model.arithmetic import DAY_US, HOUR_US
from inventory.pricing.gates import closed_gate
from inventory.pricing.signals import DOWN, UP
from tests.inventory.decision_inputs import NOW_US, priced, row

LONG_AGO = row(NOW_US - 100 * DAY_US, 999, kind="initial")
WEEK_US = 168 * HOUR_US


def gate(*timeline, effective_at_us=NOW_US, side=DOWN, **columns):
    return closed_gate(priced(**columns), timeline, effective_at_us, side=side)


@pytest.mark.domain("11.9 Cool-down")
def test_an_initial_price_starts_no_cooldown():
    assert gate(row(NOW_US, 999, kind="initial")) is None
    assert gate() is None


@pytest.mark.parametrize(("rest", "closed"), [(WEEK_US, None), (WEEK_US - 1, "cooldown")])
def test_a_price_change_blocks_the_next_one_for_one_cooldown(rest, closed):
    assert gate(LONG_AGO, row(NOW_US - rest, 849, id=2)) == closed
    assert gate(row(NOW_US - rest, 849, id=2)) == closed
    assert gate(row(NOW_US - 99 * DAY_US, 849), row(NOW_US - rest, 849, id=2), side=UP) == closed


@pytest.mark.parametrize(("rest", "closed"), [(2 * WEEK_US, None), (2 * WEEK_US - 1, "cooldown")])
def test_a_change_of_direction_or_a_rollback_needs_two_cooldowns(rest, closed):
    assert gate(LONG_AGO, row(NOW_US - rest, 849, id=2), side=UP) == closed
    assert gate(LONG_AGO, row(NOW_US - rest, 1100, id=2), side=DOWN) == closed
    assert gate(LONG_AGO, row(NOW_US - rest, 849, id=2, kind="rollback")) == closed


@pytest.mark.domain("11.9 Cool-down")
def test_a_scheduled_price_starts_a_cooldown():
    assert gate(LONG_AGO, row(NOW_US + DAY_US, 849, id=2)) == "cooldown"


@pytest.mark.domain("11.9 Cool-down")
def test_the_price_direction_compares_with_the_previous_row_of_any_kind():
    initial = row(NOW_US - 9 * DAY_US, 700, id=3, kind="initial")
    last = row(NOW_US - 8 * DAY_US, 849, id=4)
    assert gate(LONG_AGO, initial, last, side=UP) is None
    assert gate(LONG_AGO, initial, last, side=DOWN) == "cooldown"


@pytest.mark.parametrize(
    ("columns", "closed"),
    [
        ({"no_touch_until_us": NOW_US}, None),
        ({"no_touch_until_us": NOW_US + 1}, "no_touch"),
        ({"no_touch_from_us": NOW_US}, "no_touch"),
        ({"no_touch_from_us": NOW_US + 1}, None),
    ],
)
def test_the_no_touch_period_blocks_price_changes(columns, closed):
    assert gate(LONG_AGO, **columns) == closed


@pytest.mark.domain("11.9 Cool-down")
def test_a_second_rule_made_price_on_the_same_day_is_blocked():
    rule = row(NOW_US + 20 * HOUR_US, 999, id=2, kind="rule")
    free = {"cooldown_hours": 0, "effective_at_us": NOW_US + 23 * HOUR_US}
    assert gate(LONG_AGO, rule, **free) == "one_per_day"
    assert gate(LONG_AGO, rule, **(free | {"effective_at_us": NOW_US + DAY_US})) is None
    assert gate(LONG_AGO, row(NOW_US, 999, id=2), **free) is None


@pytest.mark.domain("11.9 Reasons")
def test_the_cooldown_gate_is_reported_before_the_no_touch_gate():
    rule = row(NOW_US, 849, id=2, kind="rule")
    assert gate(LONG_AGO, rule, no_touch_from_us=0) == "cooldown"
    assert gate(LONG_AGO, rule, no_touch_from_us=0, cooldown_hours=0) == "no_touch"
