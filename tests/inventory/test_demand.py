"""Demand over complete days, as in the tables of domain.md 3.3."""

from dataclasses import replace
from itertools import accumulate

import pytest

from cdc.contracts.state import decode_state, encode_state
from inventory.fold.demand import MICRO, Rules, last_day_end
from inventory.fold.horizon import pass_days
from inventory.model.arithmetic import DAY_US, MAX_STORED, WINDOW_US, half_even
from inventory.model.price_timeline import PriceRow
from inventory.model.state import NO_STOCK, Count, Demand, Stock, WindowRow
from inventory.replenishment.levels import sigma_micro
from tests.inventory.builders import MONDAY_US, Log, at, count, policy, price, sale
from tests.oracle import demand as second
from tests.oracle.columns import POLICY
from tests.vectors import VECTORS

DEFAULTS = {name: column.default for name, column in POLICY.items()}
HALF_DAY = Rules(72, 0, False, 125, None, ())  # noqa: FBT003 -- ewma
KNOWN = replace(NO_STOCK, opening_count=Count(MONDAY_US - DAY_US, 1, 0, "opening"))
BEGUN = Demand(begun=True)


def day_of_sales(day: int, sold: int, *, window: int = 143) -> WindowRow:
    return WindowRow(MONDAY_US + day * DAY_US + window * WINDOW_US, sold_units=sold, sale_lines=1)


def learnt(sold_and_out: list[tuple[int, int]], rules: Rules) -> list[Demand]:
    """Return the demand after each day. The last `out` trading windows of a day have no stock."""
    found, demand = [], BEGUN
    for day, (sold, out) in enumerate(sold_and_out):
        start = MONDAY_US + day * DAY_US
        stock = Stock(opening_units=1, opening_count=KNOWN.opening_count)
        rows = {}
        if out:
            empties = start + (rules.trading_windows - out - 1) * WINDOW_US
            rows[empties] = WindowRow(empties, moves={empties: -1})
        if sold:
            selling = day_of_sales(day, sold)
            rows[selling.start_us] = selling
        day_end = last_day_end(demand, stock, rows, (start, start + DAY_US), rules)
        demand = day_end.demand
        found.append(demand)
    return found


@pytest.mark.domain("3.3 demand *", "1 rate, deviation*")
def test_the_ewma_rate_matches_the_table_in_domain_md() -> None:
    table = VECTORS["demand"]["ewma"]
    rules = replace(HALF_DAY, trading_windows=table["trading_windows"])

    days = learnt(list(zip(table["sold"], table["out"], strict=True)), rules)

    assert [day.rate_micro for day in days] == table["rate"]
    assert [day.mad_micro for day in days] == table["mad"]
    assert [day.quiet_windows for day in days] == table["quiet"]
    observed = [isinstance(obs, int) for obs in table["obs"]]
    assert [day.observed_days for day in days] == [*accumulate(observed)]
    assert days[-1].rate_at_last_sale_micro == table["rate"][2]
    assert [sigma_micro(day.mad_micro or 0) for day in days] == table["sigma"]


@pytest.mark.domain("3.3 demand *")
def test_the_second_model_computes_the_same_ewma_rate() -> None:
    table, demand = VECTORS["demand"]["ewma"], second.Demand(begun=True)
    n = table["trading_windows"]
    for sold, out, obs, rate, mad in zip(
        *(table[column] for column in ("sold", "out", "obs", "rate", "mad")), strict=True
    ):
        if isinstance(obs, int):
            assert obs == half_even(sold * MICRO * n, n - out)
            demand = second.observe(demand, obs, DEFAULTS)
        assert (demand.rate, demand.mad) == (rate, mad)


def test_tsb_lets_the_rate_of_an_item_with_gaps_fall() -> None:
    table = VECTORS["demand"]["tsb"]
    rules = replace(HALF_DAY, trading_windows=table["trading_windows"], is_tsb=True)

    days = learnt(list(zip(table["sold"], table["out"], strict=True)), rules)

    assert [day.rate_micro for day in days] == table["rate"]
    assert (days[-1].tsb_p_micro, days[-1].tsb_z_micro) == (table["p"], table["z"])


def test_the_second_model_computes_the_same_tsb_rate() -> None:
    table, demand, rates = VECTORS["demand"]["tsb"], second.Demand(begun=True), []
    for sold in table["sold"]:
        demand = second.observe(demand, sold * MICRO, {**DEFAULTS, "demand_method": "tsb"})
        rates.append(demand.rate)
    assert rates == table["rate"]
    assert (demand.p, demand.z) == (table["p"], table["z"])


def test_tsb_starts_with_probability_one_only_after_sales() -> None:
    """Sold units of -4 count as no demand: a sale was deleted whose insert had been refused."""
    rules = replace(HALF_DAY, trading_windows=144, is_tsb=True)

    starts = [learnt([(sold, 0)], rules)[0] for sold in (-4, 0, 4)]

    assert [start.tsb_p_micro for start in starts] == [0, 0, MICRO]
    assert [start.rate_micro for start in starts] == [0, 0, 4_000_000]


@pytest.mark.domain("11.6 Change of method")
def test_tsb_starts_from_the_ewma_rate_and_ewma_drops_the_tsb_state() -> None:
    rules = replace(HALF_DAY, trading_windows=144)
    first = learnt([(8, 0)], rules)[0]
    span = (MONDAY_US + DAY_US, MONDAY_US + 2 * DAY_US)

    second = last_day_end(first, NO_STOCK, {}, span, replace(rules, is_tsb=True)).demand
    third = last_day_end(second, NO_STOCK, {}, span, rules).demand

    assert (second.tsb_p_micro, second.tsb_z_micro) == (875_000, 8_000_000)
    assert second.rate_micro == 7_000_000
    assert (third.tsb_p_micro, third.tsb_z_micro) == (None, None)


def test_many_days_without_facts_in_one_step_equal_single_days() -> None:
    """The days go on until the rate is 0. The price changes twice, with and without stock."""
    sold = Demand(True, 5_000_000, 2_000_000, None, None, 4, 7, 5_000_000)  # noqa: FBT003 -- begun
    timeline = (
        PriceRow(MONDAY_US + 3 * DAY_US, 1, 90, 1, "rule"),
        PriceRow(MONDAY_US + 9 * DAY_US + WINDOW_US, 2, 100, 0, "rule"),
    )
    for is_tsb in (False, True):
        rules = replace(HALF_DAY, is_tsb=is_tsb, timeline=timeline)
        for stock in (NO_STOCK, KNOWN, replace(KNOWN, opening_units=3)):
            stretch = last_day_end(sold, stock, {}, (MONDAY_US, MONDAY_US + 400 * DAY_US), rules)

            demand = sold
            for day in range(400):
                start = MONDAY_US + day * DAY_US
                demand = last_day_end(demand, stock, {}, (start, start + DAY_US), rules).demand
            assert stretch.demand == demand


@pytest.mark.domain("11.1 Range")
def test_the_rate_saturates() -> None:
    rules = replace(HALF_DAY, trading_windows=144)
    rows = {MONDAY_US: WindowRow(MONDAY_US, sold_units=MAX_STORED)}

    day_end = last_day_end(BEGUN, NO_STOCK, rows, (MONDAY_US, MONDAY_US + DAY_US), rules)

    assert day_end.demand.rate_micro == MAX_STORED


def test_trading_windows_wrap_around_midnight() -> None:
    night = replace(HALF_DAY, trading_windows=10, trading_from_window=140)
    assert [night.trading_before(window) for window in (0, 3, 6, 7, 140, 141, 144)] == [
        0, 3, 6, 6, 6, 7, 10,
    ]  # fmt: skip


@pytest.mark.domain("11.6 Later days")
def test_a_markdown_day_is_not_observed_but_resets_quiet_windows() -> None:
    log = Log(commit_us=at("08:00"))
    log.insert("sale_line", sale(1, 4, at("07:00")))
    log.insert("price_change", price(1, 500, at("09:00"), step=1))
    log.insert("sale_line", sale(2, 4, at("10:00", day=1)), commit=at("10:00", day=1))

    log.insert("sale_line", sale(3, 4, at("00:10", day=2)), commit=at("00:10", day=2))

    demand = log.state.demand
    assert (demand.begun, demand.observed_days, demand.rate_micro) == (True, 0, None)
    assert demand.quiet_windows == 0


def test_the_initial_rate_applies_until_the_first_observation() -> None:
    log = Log(commit_us=at("08:00"))
    log.insert("item_location", policy(initial_rate_micro=3_000_001))
    log.insert("stock_count", count(1, 5, at("07:00")))

    log.insert("sale_line", sale(1, 1, at("00:10", day=1)), commit=at("00:10", day=1))

    assert (log.state.demand.rate_micro, log.state.demand.mad_micro) == (3_000_001, 1_500_000)
    assert log.state.demand.observed_days == 0


@pytest.mark.domain("11.6 First day", "11.6 Rules of a day")
def test_a_late_sale_of_a_retained_day_restates_its_rate() -> None:
    log = Log(commit_us=at("08:00"))
    log.insert("sale_line", sale(1, 1, at("07:00")))
    log.insert("sale_line", sale(2, 8, at("09:00", day=1)), commit=at("09:00", day=1))
    log.insert("sale_line", sale(3, 1, at("00:10", day=2)), commit=at("00:10", day=2))
    assert log.state.demand.rate_micro == 8_000_000

    log.insert("sale_line", sale(4, 2, at("23:00", day=1)))
    assert log.state.demand.rate_micro == 10_000_000
    log.insert("sale_line", sale(5, 2, at("23:00", day=0)))
    assert log.state.demand.rate_micro == 10_000_000


@pytest.mark.domain("11.6 Never out")
def test_windows_before_the_first_count_are_never_out_of_stock() -> None:
    log = Log(commit_us=at("08:00"))
    log.insert("sale_line", sale(1, 1, at("07:00")))
    log.insert("stock_count", count(1, 0, at("12:00", day=1)), commit=at("12:01", day=1))

    log.insert("sale_line", sale(2, 1, at("00:10", day=2)), commit=at("00:10", day=2))

    # 12:10 is the first window that begins after the count: 71 windows are out.
    assert log.state.demand.quiet_windows == 144 - 71


def test_a_restored_state_passes_the_next_day_like_the_live_state() -> None:
    """An encoded state has no day ends, so a restored state computes them again."""
    log = Log(commit_us=at("08:00"))
    log.insert("stock_count", count(1, 20, at("07:00")))
    for day in range(4):
        noon = at("12:00", day=day)
        log.insert("sale_line", sale(day + 1, day + 2, noon), commit=noon)
    restored = decode_state(encode_state(log.state))

    midnight = pass_days(log.state, at("00:05", day=4))

    assert restored.days is None
    assert pass_days(restored, at("00:05", day=4)) == midnight
    assert pass_days(restored, at("00:05", day=4)).days == midnight.days
    assert [end.on_hand_units for end in midnight.days or ()] == [15, 11]
