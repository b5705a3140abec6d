"""The edges of each step to an order quantity (vectors Q1 to Q21: test_worked_tables.py)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.replenishment.levels import levels
from inventory.replenishment.quantity import least_units, limit_units, order_quantity, packed_units
from tests.inventory.decision_inputs import policy
from tests.strategies import quantity_policies

DOZEN = {"pack_units": 12}
NEAR = {"pack_units": 12, "pack_rounding": "threshold"}
PALLET = {"pack_units": 12, "pallet_packs": 10, "pallet_permille": 900}
GUARD = {"initial_rate_micro": 2_000_000}


def ordered(base, reorder_point, order_up_to, columns):
    ranged = policy(
        **({"reorder_point_units": reorder_point, "order_up_to_units": order_up_to} | columns)
    )
    return order_quantity(ranged, levels(ranged, None, None), base, None)


def test_a_position_over_the_guard_is_flagged_and_one_at_the_guard_is_not():
    assert ordered(20, 50, 200, GUARD).flags == ("cover_over_guard",)
    assert ordered(20, 50, 181, GUARD).flags == ("cover_over_guard",)
    assert ordered(20, 50, 180, GUARD).flags == ()


def test_an_order_without_demand_history_is_flagged():
    assert ordered(0, 5, 20, {}).flags == ("no_demand_history",)


def test_a_need_without_an_order_quantity_has_no_flag():
    assert ordered(0, 5, 20, {"max_order_units": 0}).flags == ()


def test_the_smaller_of_two_limits_counts():
    limits = {"max_order_units": 9, "capacity_units": 7}
    assert ordered(0, 5, 20, limits).units == 7
    assert ordered(0, 5, 20, limits | {"capacity_units": 11}).units == 9


def test_an_order_limit_equal_to_the_minimum_still_allows_an_order():
    assert ordered(0, 5, 20, DOZEN | {"moq_units": 50, "max_order_units": 60}).units == 60
    assert ordered(0, 5, 20, DOZEN | {"moq_units": 50, "max_order_units": 59}).units is None


def test_a_position_above_capacity_gets_no_order():
    assert ordered(30, 30, 60, {"capacity_units": 20}).units is None


def test_an_order_of_whole_pallets_stays_unchanged():
    assert ordered(0, 5, 120, PALLET).units == 120


def test_a_pallet_rule_without_a_threshold_does_not_round_to_pallets():
    assert ordered(0, 5, 118, PALLET | {"pallet_permille": 0}).units == 120
    assert ordered(0, 5, 105, PALLET | {"pallet_permille": 0}).units == 108


def test_a_pack_remainder_equal_to_the_threshold_is_rounded_up():
    assert ordered(0, 5, 13, NEAR | {"round_up_permille": 83}).units == 24
    assert ordered(0, 5, 13, NEAR | {"round_up_permille": 84}).units == 12
    assert ordered(0, 5, 12, NEAR | {"round_up_permille": 0}).units == 12


@pytest.mark.domain("9 W9 *")
@given(quantity_policies(), st.integers(-100, 200))
def test_w9_every_quantity_is_whole_packs_between_least_and_limit(ranged, base):
    found = order_quantity(ranged, levels(ranged, None, None), base, None)
    if found.units is None:
        return
    limit = limit_units(ranged, base)
    assert found.units % ranged.pack_units == 0
    assert found.units >= least_units(ranged)
    assert limit is None or found.units <= limit


@pytest.mark.domain("9 W11 *")
@given(quantity_policies(), st.integers(-100, 200), st.integers(1, 100) | st.integers(1, 6))
def test_w11_a_lower_position_never_orders_less(ranged, base, less):
    level = levels(ranged, None, None)

    def units(at_base):
        if at_base > level.reorder_point_units:
            return 0
        return order_quantity(ranged, level, at_base, None).units or 0

    assert units(base - less) >= units(base)


@pytest.mark.domain("9 W11 *")
@given(quantity_policies())
def test_w11_pack_rounding_never_orders_less_for_a_greater_need(ranged):
    packed = [packed_units(ranged, need) for need in range(1, 200)]
    assert packed == sorted(packed)
