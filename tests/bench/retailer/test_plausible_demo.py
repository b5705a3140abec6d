"""The figures with which the demo starts are plausible for a chain of shops."""

from datetime import timedelta
from typing import NamedTuple

import pytest

from bench.retailer.retailer import PlannedKey
from cdc.contracts.times import us_of
from inventory.model.arithmetic import DAY_US
from inventory.model.outputs import PriceOutput, ReorderOutput
from inventory.model.price_timeline import in_force
from inventory.model.state import KeyState
from inventory.pricing.signals import OVERSTOCK
from inventory.replenishment.attention import attention
from tests.bench.retailer.conftest import MIDNIGHT
from tests.bench.retailer.folded import folded_demo, need_facts

OPENS = MIDNIGHT + timedelta(hours=8)
# A shop reorders when up to 14 days of sales are left, and buys 21 days more. If the sales of the
# last weeks are lower than the average, the order lasts longer: up to 56 days. The order of a slow
# item is at most one unit above its reorder point.
MOST_ORDERED_DAYS = 56
MOST_IN_STORE, MOST_IN_WAREHOUSE = 250, 1_000
MOST_SOLD_MICRO = 8_000_000
DEAREST_NEED_MINOR = 100_000
DEAREST_PRICE_MINOR = 15_000
LEAST_TOO_MUCH = 8


class Row(NamedTuple):
    """A key with its state, its open need and its open price proposal."""

    key: PlannedKey
    state: KeyState
    need: ReorderOutput | None
    price: PriceOutput | None

    @property
    def rate_micro(self) -> int:
        return self.state.demand.rate_micro or 0


@pytest.fixture(scope="module")
def chain(demo) -> list[Row]:
    keys, history = demo
    states = folded_demo(keys, history, OPENS).states
    rows = [(key, states[key.inv_key]) for key in keys]
    return [
        Row(
            key,
            state,
            state.episode.last_output if state.episode.state == "open" else None,
            state.price_episode.last_output if state.price_episode.id else None,
        )
        for key, state in rows
    ]


def test_stock_demand_and_prices_of_every_item_are_plausible(chain: list[Row]) -> None:
    for row in chain:
        stock, policy = row.state.stock, row.state.policy
        assert policy is not None
        most = MOST_IN_STORE if row.key.is_store else MOST_IN_WAREHOUSE
        assert -5 <= stock.on_hand_units <= most, row
        assert 0 <= stock.unavailable_units <= 10, row
        assert 0 <= stock.in_transit_units <= stock.on_order_units <= most, row
        assert row.state.base_position_units == max(0, stock.on_hand_units) + stock.on_order_units
        assert 0 <= row.rate_micro <= MOST_SOLD_MICRO, row
        assert row.state.stream_time_us == us_of(OPENS)
        count = stock.last_count
        assert count is not None
        assert us_of(OPENS) - 91 * DAY_US < count.at_us < us_of(OPENS), row
        if row.key.is_store:
            price = in_force(row.state.timeline, us_of(OPENS))
            assert price is not None
            floor, regular = row.key.item.floor_minor, row.key.item.regular_minor
            assert policy.cost_minor < floor <= price.price_minor <= regular, row
            assert regular <= DEAREST_PRICE_MINOR, row


def test_every_need_orders_some_weeks_in_packs_up_to_its_level(chain: list[Row]) -> None:
    needs = [row for row in chain if row.need is not None]
    for row in needs:
        need, policy = row.need, row.state.policy
        assert need is not None
        assert policy is not None
        units, position = need.quantity_units, need.base_position_units
        assert units is not None
        assert units % policy.pack_units == 0, row
        assert position == row.state.base_position_units
        assert need.reorder_point_units is not None
        assert position <= need.reorder_point_units < position + units, row
        level = need.order_up_to_units or need.reorder_point_units + policy.order_quantity_units
        assert position + units < level + policy.pack_units, row
        assert units * policy.cost_minor <= DEAREST_NEED_MINOR, row
        of_weeks = row.rate_micro * MOST_ORDERED_DAYS // 1_000_000
        slow = need.reorder_point_units + 1 if row.key.is_slow else 0
        assert units <= max(of_weeks, slow, policy.pack_units) or need.flags, row
        covered_days = (position + units) * 1_000_000 // max(1, row.rate_micro)
        assert ("cover_over_guard" in need.flags) == (
            row.rate_micro > 0 and covered_days >= policy.guard_days
        ), row


def test_every_price_proposal_is_a_markdown_of_overstock_within_its_limits(
    chain: list[Row],
) -> None:
    for row in chain:
        if row.price is None:
            continue
        price, policy = row.price, row.state.policy
        assert policy is not None
        assert price.signal == OVERSTOCK, row
        assert row.state.stock.on_hand_units >= LEAST_TOO_MUCH, row
        assert price.floor_minor <= price.new_minor < price.old_minor, row
        assert (price.old_minor - price.new_minor) * 1000 <= (
            price.old_minor * policy.max_step_permille
        ), row
        assert price.new_minor % 100 in policy.endings, row
        assert us_of(OPENS) < price.effective_at_us < us_of(OPENS + timedelta(hours=1)), row


def test_the_demo_starts_with_some_needs_to_decide_and_few_that_need_attention(
    chain: list[Row],
) -> None:
    needs = left = thought = 0
    for row in chain:
        if row.need is not None:
            needs += 1
            codes = attention(need_facts(row.state))
            is_automatic = row.key.auto_max_minor > 0 and not codes
            thought += bool(codes)
            left += not is_automatic
    prices = sum(row.price is not None for row in chain)
    assert 15 <= needs <= 40
    assert 5 <= left <= 20
    assert 3 <= thought <= 7
    assert 3 <= prices <= 24
