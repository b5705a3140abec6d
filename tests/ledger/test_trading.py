"""The simulated retailer is written into a real database as planned and only once, then trades."""

import time
from datetime import datetime
from typing import Any

import psycopg
import pytest
from django.db import OperationalError

from bench.retailer import demo_history, simulate, staff
from bench.retailer.buying_in import buy_in
from bench.retailer.counting import Counting, Found
from bench.retailer.demand import Demand, PlannedAction, PlannedLine, Tick
from bench.retailer.demo import seed_demo
from bench.retailer.history import plan_history
from bench.retailer.retailer import SIZES, plan
from bench.retailer.scenarios import SCENARIOS, Scenario
from bench.retailer.shelves import Shelves, real_shelves, shops_of_demo
from bench.retailer.shop_floor import ShopFloor
from bench.retailer.tally import Traded
from ledger import services
from ledger.kernel.transactions import database_now
from ledger.services import ServiceError, keep_past


def tills(
    scenario: Scenario = SCENARIOS["normal"], *, shelves: Shelves | None = None, rate: float = 50.0
) -> ShopFloor:
    shops = shops_of_demo()
    demand = Demand(seed=3, keys=len(shops), rate=rate, scenario=scenario)
    done = Traded(seed=3)
    there = real_shelves(3) if shelves is None else shelves
    return ShopFloor("sim:3:test", scenario, demand, shops, there, Counting(done), done)


def counted(connection: psycopg.Connection, statement: str, *given: object) -> Any:
    row = connection.execute(statement.encode(), given).fetchone()
    assert row is not None
    return row[0]


def test_the_seeded_history_matches_the_plan(
    retailer: psycopg.Connection, midnight: datetime
) -> None:
    _, keys = plan(3, SIZES["tiny"])
    history = plan_history(3, midnight, keys)

    planned = sorted(row[:7] for day in history.days.values() for row in day.sales)
    sold = retailer.execute(
        "SELECT location, sku, source, source_ref, quantity_units, amount_minor, occurred_at"
        " FROM retail.sale_line"
    ).fetchall()
    found = retailer.execute(
        "SELECT location, sku, units, occurred_at FROM retail.stock_count WHERE kind = 'cycle'"
    ).fetchall()
    assert sorted(sold) == planned
    assert sorted(found) == sorted(tuple(c) for day in history.days.values() for c in day.counts)
    assert counted(
        retailer, "SELECT count(*) FROM retail.shipment_line WHERE leg = 'transfer_in'"
    ) == sum(len(day.transfers) for day in history.days.values())
    assert counted(retailer, "SELECT count(*) FROM retail.purchase_order_line") == sum(
        len(day.orders) for day in history.days.values()
    )


def test_the_simulators_shelves_match_the_planned_closing_stock(
    retailer: psycopg.Connection, midnight: datetime
) -> None:
    _, keys = plan(3, SIZES["tiny"])
    closings = plan_history(3, midnight, keys).closings

    shelves = real_shelves(3)

    assert set(shelves.units) == set(closings)
    assert sum(
        shelves.units[key] == max(0, closing.in_book) for key, closing in closings.items()
    ) > 0.85 * len(closings)


def test_seeding_leaves_all_items_live_and_runs_only_once(
    retailer: psycopg.Connection, midnight: datetime
) -> None:
    modes = retailer.execute("SELECT DISTINCT clock_mode FROM retail.item_location").fetchall()

    assert modes == [("live",)]
    assert (
        counted(retailer, "SELECT count(DISTINCT replenish_family) FROM retail.item_location") > 3
    )
    assert not seed_demo(seed=3, size="tiny", midnight=midnight)


def test_interrupted_seeding_resumes_where_it_stopped(
    ledger: psycopg.Connection, midnight: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    note = keep_past

    def interrupted(*, name: str, rows: int, actor: str | None = None) -> None:
        note(name=name, rows=rows, actor=actor)
        written.append(name)
        if len(written) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(demo_history, "keep_past", interrupted)
    with pytest.raises(KeyboardInterrupt):
        seed_demo(seed=3, size="tiny", midnight=midnight)
    monkeypatch.undo()

    # Without the option `midnight`, seeding continues with the midnight of its first attempt.
    assert seed_demo(seed=3, size="tiny")

    _, keys = plan(3, SIZES["tiny"])
    planned = plan_history(3, midnight, keys)
    assert counted(ledger, "SELECT count(*) FROM retail.sale_line") == planned.tally.sale_lines
    assert counted(ledger, "SELECT count(*) FROM retail.stock_count") == len(keys) + sum(
        len(day.counts) for day in planned.days.values()
    )


def test_a_simulation_run_trades_and_reports_its_totals(retailer: psycopg.Connection) -> None:
    before = counted(retailer, "SELECT count(*) FROM retail.sale_line")
    told: list[str] = []

    done = simulate.run(
        simulate.Trading(seed=3, rate=200.0, minutes=0.03),
        progress=lambda so_far: told.append(str(so_far)),
    )

    assert done.refused == 0
    assert done.planned_lines == pytest.approx(360, rel=0.3)
    assert done.lines + done.lost_lines == done.planned_lines
    assert "sale lines" in told[-1]
    assert dict(done.summary())["lines sold"].startswith(str(done.lines))
    assert done.as_json()["lines"] == done.lines
    after = counted(retailer, "SELECT count(*) FROM retail.sale_line")
    assert after == before + done.lines


def test_an_interrupted_run_records_held_sales_and_reports_its_totals(
    retailer: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = counted(retailer, "SELECT count(*) FROM retail.sale_line")
    monkeypatch.setattr(simulate, "REPORT_EVERY_S", 0.0)
    told: list[str] = []

    def interrupted(so_far: object) -> None:
        told.append(str(so_far))
        if len(told) == 5:
            raise KeyboardInterrupt

    done = simulate.run(
        simulate.Trading(seed=3, rate=200.0, minutes=0, scenario="till-offline"), interrupted
    )

    assert done.is_interrupted
    assert len(told) == 6
    assert done.lines + done.lost_lines == done.planned_lines > 0
    assert counted(retailer, "SELECT count(*) FROM retail.sale_line") == before + done.lines


def test_a_line_that_is_late_for_two_reasons_counts_once(
    retailer: psycopg.Connection,
) -> None:
    open_tills = tills(SCENARIOS["till-offline"])
    store = open_tills.shops[0].location
    offline = next(n for n in range(10**6) if open_tills.demand.is_offline(store, n))

    open_tills.prepare_tick(Tick(offline, (PlannedLine(0, -1, "resaleable", -3600.0),), ()))()
    open_tills.prepare_held()()

    assert (open_tills.done.lines, open_tills.done.late_lines) == (1, 1)


def test_simulated_sales_are_limited_to_the_units_on_the_shelf(
    retailer: psycopg.Connection,
) -> None:
    shop = shops_of_demo()[0]
    open_tills = tills(shelves=Shelves({shop.inv_key: 3}))
    wishes = tuple(PlannedLine(0, 2, "resaleable", 0.0) for _ in range(3))

    open_tills.prepare_tick(Tick(1, wishes, ()))()

    sold = retailer.execute(
        "SELECT quantity_units FROM retail.sale_line WHERE source = 'sim:3:test' ORDER BY id"
    ).fetchall()
    assert sold == [(2,), (1,)]
    done = open_tills.done
    assert (done.lines, done.lost_lines, done.lost_units) == (2, 1, 3)


def test_a_theft_is_recorded_only_by_the_next_count(retailer: psycopg.Connection) -> None:
    shop = shops_of_demo()[0]
    shelves = real_shelves(3)
    shelves.units[shop.inv_key] = book = 5
    services.approve_count(services.ApproveCount(location=shop.location, sku=shop.sku, units=book))
    open_tills = tills(shelves=shelves)

    for number, kind in enumerate(("theft", "count")):
        open_tills.prepare_tick(Tick(number, (), (PlannedAction(kind, 0, 1, "damage"),)))()
    open_tills.counting.work()

    assert open_tills.done.thefts == 1
    assert (open_tills.done.counts, open_tills.done.variances) == (1, 1)
    last = retailer.execute(
        "SELECT units, status FROM retail.stock_count WHERE inv_key = %s"
        " ORDER BY occurred_at DESC, id DESC LIMIT 1",
        [shop.inv_key],
    ).fetchone()
    assert last == (4, "approved")


def test_a_count_with_a_large_difference_is_recounted_and_approved_once(
    retailer: psycopg.Connection,
) -> None:
    shop = shops_of_demo()[0]
    services.approve_count(services.ApproveCount(location=shop.location, sku=shop.sku, units=100))
    counting = Counting(Traded())
    found = Found(shop.location, shop.sku, 3, database_now(), "errand-1")

    for _ in range(2):
        counting.found.put(found)
        counting.work()

    assert counting.done.counts == 1
    assert (
        counted(
            retailer,
            "SELECT count(*) FROM retail.stock_count WHERE inv_key = %s AND kind <> 'opening'"
            " AND status = 'approved' AND units = 3",
            shop.inv_key,
        )
        == 1
    )


@pytest.fixture
def flaky(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make each service call raise once after its commit, as if its answer was lost."""
    lost: list[str] = []

    def losing(name: str) -> Any:
        service = getattr(services, name)

        def call(*command: object, **given: object) -> object:
            answer = service(*command, **given)
            mark = str(given.get("command_id", name))
            if mark not in lost:
                lost.append(mark)
                problem = "the connection is lost"
                raise OperationalError(problem)
            return answer

        return call

    for name in ("record_sales", "ship_transfer", "adjust"):
        monkeypatch.setattr(f"bench.retailer.shop_floor.{name}", losing(name))
    monkeypatch.setattr(time, "sleep", lambda _: None)
    return lost


def test_a_database_loss_within_a_tick_repeats_no_write(
    retailer: psycopg.Connection, flaky: list[str]
) -> None:
    open_tills = tills()
    shop_of_warehouse = next(
        number
        for number, shop in enumerate(open_tills.shops)
        if open_tills.shelves.on(f"{open_tills.warehouses.get(shop.sku)}|{shop.sku}") > 6
    )
    sales = tuple(PlannedLine(key, 1, "resaleable", 0.0) for key in range(5))
    errands = (
        PlannedAction("transfer", shop_of_warehouse, 1, "damage"),
        PlannedAction("adjustment", 1, 1, "found"),
    )
    before = [
        counted(retailer, f"SELECT count(*) FROM retail.{table}")  # noqa: S608 -- from below
        for table in ("shipment_line", "stock_adjustment", "sale_line")
    ]

    staff.retry_on_database_loss(open_tills.prepare_tick(Tick(9, sales, errands)))

    after = [
        counted(retailer, f"SELECT count(*) FROM retail.{table}")  # noqa: S608 -- from below
        for table in ("shipment_line", "stock_adjustment", "sale_line")
    ]
    assert len(flaky) == 3
    assert after == [before[0] + 2, before[1] + 1, before[2] + open_tills.done.lines]


def test_offline_tills_send_their_sales_later(retailer: psycopg.Connection) -> None:
    open_tills = tills(SCENARIOS["till-offline"])
    shops = open_tills.shops
    quiet = next(
        key for key in range(len(shops)) if open_tills.demand.is_offline(shops[key].location, 0)
    )
    store = shops[quiet].location
    open_tills.shelves.put(shops[quiet].inv_key, 5)

    open_tills.prepare_tick(Tick(0, (PlannedLine(quiet, 1, "resaleable", 0.0),), ()))()
    kept = counted(retailer, "SELECT count(*) FROM retail.sale_line WHERE source = 'sim:3:test'")
    back = next(t for t in range(0, 90_000, 450) if not open_tills.demand.is_offline(store, t))
    open_tills.prepare_tick(Tick(back, (), ()))()

    assert kept == 0
    assert open_tills.held == {}
    assert open_tills.done.late_lines == 1
    assert (
        counted(retailer, "SELECT count(*) FROM retail.sale_line WHERE source = 'sim:3:test'") == 1
    )


def test_goods_are_bought_in_before_a_busy_day(retailer: psycopg.Connection) -> None:
    open_tills = tills(rate=500.0)
    before = {shop.inv_key: open_tills.shelves.on(shop.inv_key) for shop in open_tills.shops}

    units = buy_in(open_tills, 60.0)

    arrived = sum(open_tills.shelves.on(key) for key in before) - sum(before.values())
    assert units == arrived > 0
    assert (
        counted(
            retailer,
            "SELECT sum(received_units)::bigint FROM retail.shipment_line AS goods"
            " JOIN retail.purchase_order_line AS line ON line.id = goods.purchase_order_line_id"
            " WHERE line.order_ref = 'PO-sim:3:test'",
        )
        == units
    )


def test_a_run_on_an_empty_database_seeds_it_first_and_reports_that(
    ledger: psycopg.Connection,
) -> None:
    told: list[str] = []

    done = simulate.run(
        simulate.Trading(seed=3, rate=20.0, minutes=0.005, size="tiny"),
        progress=lambda line: told.append(str(line)),
    )

    assert told[0] == "no item is on sale here: the demo retailer is written first"
    assert done.lines > 0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"rate": 0.0}, "rate: sale lines a second, a finite number above 0, got 0.0"),
        ({"rate": float("inf")}, "rate: .* finite"),
        ({"minutes": float("nan")}, r"minutes: 0 \(until Ctrl-C\), or a finite number above 0"),
        ({"scenario": "quiet"}, "scenario: one of normal, black-friday"),
        ({"size": "huge"}, "size: one of tiny, demo, full"),
    ],
)
def test_invalid_simulation_options_are_refused_with_their_name(
    ledger: psycopg.Connection, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(ServiceError, match=told):
        simulate.run(simulate.Trading(**{"minutes": 0.001, **given}))


def test_the_sales_only_scenario_sells_below_zero_without_people(
    retailer: psycopg.Connection,
) -> None:
    done = simulate.run(simulate.Trading(seed=3, rate=300.0, minutes=0.02, scenario="sales_only"))

    assert done.lines == done.planned_lines > 200
    assert (done.lost_units, done.bought_in, done.receipts, done.actions) == (0, 0, 0, 0)


def test_a_leaflet_cuts_prices_of_hot_items_but_not_below_the_floor(
    retailer: psycopg.Connection,
) -> None:
    done = simulate.run(simulate.Trading(seed=3, rate=5.0, minutes=0.001, scenario="black-friday"))

    assert done.prices_set + done.at_the_floor == 6
    assert (
        counted(
            retailer,
            "SELECT count(*) FROM retail.price_change WHERE recorded_by = 'simulated-pricing'"
            " AND price_minor >= floor_minor",
        )
        == done.prices_set
    )


@pytest.mark.soak  # the tests above trade, each with one scenario
def test_every_scenario_trades_at_its_rate_and_loses_no_line(
    retailer: psycopg.Connection,
) -> None:
    for name in SCENARIOS:
        before = counted(retailer, "SELECT count(*) FROM retail.sale_line")

        done = simulate.run(simulate.Trading(seed=5, rate=100.0, minutes=0.02, scenario=name))

        after = counted(retailer, "SELECT count(*) FROM retail.sale_line")
        assert (name, done.lines + done.lost_lines) == (name, done.planned_lines)
        assert (name, after - before) == (name, done.lines)
        assert done.planned_lines > 60
