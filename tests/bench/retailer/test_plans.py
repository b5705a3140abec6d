"""Plans of the demo (retailer, history, trade) depend on the seed alone and are plausible."""

from collections import Counter
from datetime import date, datetime, timedelta

import pytest

from bench.retailer.catalogue import DEPARTMENTS, STORES, WAREHOUSES, catalogue, suppliers
from bench.retailer.codes import codes
from bench.retailer.demand import Demand
from bench.retailer.history import plan_history, promoted_minor
from bench.retailer.retailer import (
    HISTORY_DAYS,
    SIZES,
    SLOW_BELOW,
    plan,
    policy,
    size_named,
)
from bench.retailer.scenarios import SCENARIOS, scenario_named
from bench.retailer.seasons import open_hours, promotions, season_factor
from bench.retailer.shelves import Shelves, unrecorded_units
from ledger.imports.pace import Pace
from ledger.services import DescribeGtin, ServiceError
from tests.bench.retailer.conftest import MIDNIGHT


def test_the_same_seed_plans_the_same_retailer() -> None:
    assert plan(1, SIZES["demo"]) == plan(1, SIZES["demo"])
    assert plan(1, SIZES["tiny"]) != plan(2, SIZES["tiny"])


def test_the_same_seed_and_midnight_plan_the_same_past() -> None:
    _, keys = plan(1, SIZES["tiny"])

    first = plan_history(1, MIDNIGHT, keys)

    assert first == plan_history(1, MIDNIGHT, keys)
    assert first != plan_history(2, MIDNIGHT, keys)


def test_the_demo_retailer_has_its_documented_size() -> None:
    items, keys = plan(1, SIZES["demo"])

    assert len({item.sku for item in items}) == len({item.name for item in items}) == 2_400
    assert len(STORES) == 12
    assert {key.location for key in keys} == {*STORES, *WAREHOUSES}
    assert len(suppliers(1)) == 40
    assert {item.supplier for item in items} == set(suppliers(1))
    assert len({key.inv_key for key in keys}) == len(keys)
    assert len(DEPARTMENTS) == 12


def test_every_item_has_gtins_that_belong_to_no_company() -> None:
    items = catalogue(1)

    made = codes(items, 1)

    assert made == codes(catalogue(1), 1)
    assert made != codes(catalogue(2), 2)
    for command in made:
        command.check()
    assert len({command.code for command in made}) == len(made)
    gtins = [command for command in made if isinstance(command, DescribeGtin)]
    cases = [command for command in gtins if command.pack_units > 1]
    assert {command.code[:2] for command in gtins} == {"02", "12"}
    assert len(gtins) - len(cases) == len(made) - len(gtins) == 2_400
    packs = {item.sku: item.pack_units for item in items if item.pack_units > 1}
    assert {command.sku: command.pack_units for command in cases} == packs


def test_every_planned_price_is_at_or_above_its_floor(demo) -> None:
    keys, _ = demo

    assert all(item.regular_minor > item.floor_minor for item in catalogue(1))
    assert all(promoted_minor(key) >= key.item.floor_minor for key in keys)


def test_an_unknown_size_is_named_with_the_known_ones() -> None:
    with pytest.raises(ServiceError, match=r"size: one of tiny, demo, full, got 'huge'"):
        size_named("huge")


def test_planned_sales_never_exceed_the_shelf_stock(demo) -> None:
    keys, history = demo

    shelf = {key.inv_key: 0 for key in keys}
    assert all(closing.on_shelf >= 0 for closing in history.closings.values())
    assert history.tally.units_lost > 0
    assert set(history.closings) == set(shelf)


def test_thefts_make_on_hand_differ_from_the_shelf_until_a_count(demo) -> None:
    _, history = demo

    tally = history.tally
    assert tally.thefts > 100
    assert 0 < tally.variances < tally.counts
    assert tally.phantom_keys > 0
    assert any(closing.in_book < 0 for closing in history.closings.values())


def test_planned_on_hand_equals_the_sum_of_the_facts(demo) -> None:
    _, history = demo

    moved = Counter(history.openings)
    last_count: dict[str, datetime] = {}
    facts = []
    for day in history.days.values():
        facts += [
            (r.occurred_at, f"{r.location}|{r.sku}", -r.quantity_units)
            for r in day.sales
            if r.quantity_units > 0 or r.condition == "resaleable"
        ]
        facts += [(r.received_at, f"{r.location}|{r.sku}", r.received_units) for r in day.receipts]
        for goods in day.transfers:
            facts.append((goods.shipped_at, f"{goods.source}|{goods.sku}", -goods.units))
            if goods.received_at is not None:
                key = f"{goods.destination}|{goods.sku}"
                facts.append((goods.received_at, key, goods.received_units))
        facts += [(r.adjusted_at, f"{r.location}|{r.sku}", -1) for r in day.adjustments]
        for count in day.counts:
            key = f"{count.location}|{count.sku}"
            if key not in last_count or count.counted_at > last_count[key]:
                last_count[key], moved[key] = count.counted_at, count.units
    for at, key, units in facts:
        if key not in last_count or at > last_count[key]:
            moved[key] += units

    books = {key: closing.in_book for key, closing in history.closings.items()}
    assert {key: (moved[key], books[key]) for key in books if moved[key] != books[key]} == {}


def test_planned_deliveries_can_be_short_late_damaged_or_lost(demo) -> None:
    _, history = demo

    receipts = [row for day in history.days.values() for row in day.receipts]
    orders = {row.order_ref: row for day in history.days.values() for row in day.orders}
    transfers = [row for day in history.days.values() for row in day.transfers]
    assert any(row.reason == "short" for row in receipts)
    assert any(row.damaged_units for row in receipts)
    assert any(row.confirmed_units < row.ordered_units for row in orders.values())
    assert any(row.received_at.date() > orders[row.order_ref].due_on.date() for row in receipts)
    assert any(row.reason == "lost in transit" for row in transfers)
    assert any(row.received_at is None for row in transfers)
    assert set(orders) > {row.order_ref for row in receipts}


def test_the_plan_has_one_late_order_and_one_stuck_transfer(demo) -> None:
    _, history = demo
    orders = [row for day in history.days.values() for row in day.orders]
    received = {row.order_ref for day in history.days.values() for row in day.receipts}
    transfers = [row for day in history.days.values() for row in day.transfers]

    late = [row for row in orders if row.order_ref not in received and row.due_on < MIDNIGHT]
    stuck = [
        row
        for row in transfers
        if row.received_at is None and row.shipped_at < MIDNIGHT - timedelta(days=5)
    ]

    assert len(late) == len(stuck) == 1


def test_a_store_orders_no_more_than_it_sells_in_some_months(demo) -> None:
    keys, _ = demo

    for key in keys:
        if key.is_store:
            planned = policy(key)
            least = key.order_up_to_units - key.reorder_point_units + key.pack_units - 1
            assert least <= max(2, 60 * key.daily_units) + key.pack_units, key
            assert planned["pack_units"] == 1 or key.daily_units >= SLOW_BELOW


def test_every_planned_day_has_sales_within_opening_hours(demo) -> None:
    _, history = demo

    assert len(history.days) == HISTORY_DAYS
    for begins, day in history.days.items():
        assert day.sales
        for line in day.sales:
            opened = line.occurred_at.replace(hour=0, minute=0, second=0)
            opens, closes = open_hours(opened)
            assert opens <= line.occurred_at < closes
            # A till that was offline sends its evening the next day.
            assert opened in (begins, begins - timedelta(days=1))
    assert history.tally.late_lines > 0


def test_season_factors_and_promotions_follow_the_calendar() -> None:
    assert (
        season_factor("summer", date(2026, 7, 15)) > 1.5 > season_factor("summer", date(2026, 1, 5))
    )
    assert season_factor("gifts", date(2026, 12, 10)) > season_factor("gifts", date(2026, 6, 10))
    leaflets = promotions(1, date(2026, 1, 1), date(2026, 4, 1))
    assert len(leaflets) == 7
    assert leaflets[0].is_on(leaflets[0].begins)
    assert not leaflets[0].is_on(leaflets[0].ends)


def test_the_same_seed_plans_the_same_ticks_in_any_order() -> None:
    one, other = (
        Demand(seed=7, keys=50, rate=100.0, scenario=SCENARIOS["disorder"]) for _ in range(2)
    )

    forwards = [one.tick(number) for number in range(20)]
    backwards = [other.tick(number) for number in reversed(range(20))]

    assert forwards == backwards[::-1]
    assert sum(len(tick.lines) for tick in forwards) == pytest.approx(200, rel=0.3)


def test_half_of_a_flash_sale_is_one_key() -> None:
    demand = Demand(seed=7, keys=500, rate=2000.0, scenario=SCENARIOS["flash_sale"])

    keys = [line.key for number in range(10) for line in demand.tick(number).lines]

    assert keys.count(0) / len(keys) == pytest.approx(0.5, abs=0.1)


def test_a_black_friday_varies_its_rate_but_keeps_the_average() -> None:
    demand = Demand(seed=7, keys=1_000, rate=100.0, scenario=SCENARIOS["black-friday"])

    lines = [demand.tick(number).lines for number in range(600)]

    first, second = (sum(map(len, half)) for half in (lines[:300], lines[300:]))
    assert first + second == pytest.approx(6_000, rel=0.05)
    assert first > 1.5 * second
    hot = [line.key < demand.hot for tick in lines for line in tick]
    assert sum(hot) / len(hot) > 0.6


def test_expected_lines_add_up_to_the_rate() -> None:
    for scenario in SCENARIOS.values():
        demand = Demand(seed=7, keys=200, rate=10.0, scenario=scenario)

        assert sum(demand.expected_lines(60.0)) == pytest.approx(600.0)


def test_tills_are_offline_for_a_while_and_not_all_at_once() -> None:
    demand = Demand(seed=7, keys=10, rate=10.0, scenario=SCENARIOS["till-offline"])

    offline = [
        [demand.is_offline(store, tick) for store in STORES] for tick in range(0, 9_000, 450)
    ]

    assert offline[0] == [demand.is_offline(store, 449) for store in STORES]
    assert all(any(row) for row in zip(*offline, strict=True))
    assert not any(all(row) for row in offline)


def test_an_unknown_scenario_is_named_with_the_known_ones() -> None:
    assert scenario_named("everyday") is scenario_named("normal")
    with pytest.raises(ServiceError, match=r"normal, black-friday.*'quiet'"):
        scenario_named("quiet")


def test_a_shelf_gives_at_most_its_units() -> None:
    shelves = Shelves({"L|A": 3})

    assert [shelves.take("L|A", 2), shelves.take("L|A", 2), shelves.take("L|B", 1)] == [2, 1, 0]
    shelves.put("L|A", 4)
    assert shelves.on("L|A") == 4


def test_the_seed_chooses_items_whose_on_hand_is_wrong_from_the_start() -> None:
    keys = [f"L|{number}" for number in range(2_000)]

    found = Counter(unrecorded_units(7, key) for key in keys)

    assert found[0] > 1_800
    assert sum(count for units, count in found.items() if units > 0) > 40
    assert found[-1] > 0
    assert [unrecorded_units(7, key) for key in keys] != [unrecorded_units(8, key) for key in keys]


def test_a_late_sender_catches_up_instead_of_skipping() -> None:
    now = [0.0]
    slept: list[float] = []
    pace = Pace(per_second=10, clock=lambda: now[0], sleep=slept.append)

    pace.wait_for(10)
    pace.wait_for(10)
    now[0] = 5.0
    pace.wait_for(10)
    now[0] = 2.5
    pace.wait_for(10)

    assert slept == [1.0, 0.5]
