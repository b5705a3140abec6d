"""A simulated year of trade under each policy: repeatable, and its figures add up."""

import pytest
from typer.testing import CliRunner

from bench import policy
from bench.policy_demand import CLASSES, INTERMITTENT, Item, items, lead_days, year_of
from bench.policy_rules import RULES, common
from bench.policy_trial import PolicyTrial
from deploy.cli.main import app


def world(item: Item, rule: str) -> PolicyTrial:
    return PolicyTrial(1, item, {"id": 1} | common(item) | RULES[rule](item))


def test_the_same_options_give_the_same_report() -> None:
    first, second = (policy.run(seed=3, number=4, days=30) for _ in range(2))

    assert [one.as_json() for one in first.results] == [one.as_json() for one in second.results]
    assert first.results != policy.run(seed=4, number=4, days=30).results
    assert {(one.policy, one.kind) for one in first.results} == {
        (rule, kind) for rule in RULES for kind in ("all", *CLASSES)
    }
    assert [len(rows) for _, _, rows in first.tables()] == [len(RULES)] * 5


@pytest.mark.parametrize("rule", RULES)
def test_units_are_neither_made_nor_lost(rule: str) -> None:
    for item in items(2, 4):
        here = world(item, rule)
        demand = year_of(2, item, 120)

        year = here.run(demand)

        opening = -(-item.guess_micro * 14 // 1_000_000)
        on_shelf = sum(lot[1] for lot in here.lots)
        waiting = sum(units for day in here.under_way.values() for _, units in day)
        assert here.state is not None
        assert here.state.stock.on_hand_units == on_shelf
        assert here.state.stock.on_order_units == waiting
        assert year.wanted_units == sum(demand)
        left = year.sold_units + year.written_off_units + on_shelf
        assert left >= opening
        if rule == "none":
            assert (left, year.orders) == (opening, 0)


@pytest.mark.generated
def test_reordering_sells_more_than_not_reordering() -> None:
    report = policy.run(seed=1, number=8, days=180)

    fill = {one.policy: one.fill_permille for one in report.results if one.kind == "all"}
    assert fill.pop("none") < 200
    assert min(fill.values()) > 800


def test_intermittent_items_have_long_gaps_and_their_stated_mean_demand() -> None:
    found = [item for item in items(1, 80) if item.kind == INTERMITTENT]
    years = [year_of(1, item, 728) for item in found]

    quiet = sum(year.count(0) for year in years) / sum(map(len, years))
    assert quiet > 0.9
    sold = sum(sum(year) for year in years) / 728
    assert sold == pytest.approx(sum(item.daily_units for item in found), rel=0.15)


def test_every_policy_has_the_same_supplier_lead_times() -> None:
    item = items(1, 1)[0]

    assert [lead_days(1, item, order) for order in range(9)] == [
        lead_days(1, item, order) for order in range(9)
    ]
    assert all(lead_days(1, item, order) >= 1 for order in range(100))


@pytest.mark.parametrize("days", ["0", "-1", "36501"])
def test_a_number_of_days_that_cannot_be_simulated_is_refused(days: str) -> None:
    done = CliRunner().invoke(app, ["bench", "policy", "--items", "4", "--days", days])

    assert str(done.exception) == f"--days {days}: expected 1 to 36500"
