"""Cases of levels beyond the vectors of domain.md 5.1 (vectors: test_worked_tables.py)."""

import pytest

from inventory.replenishment.levels import (
    demand_micro,
    levels,
    safety_stock_units,
    sigma_micro,
    span_units,
)
from tests.inventory.decision_inputs import policy

Z95 = 1_644_854
TEXTBOOK = {
    "levels": "computed",
    "safety_method": "service",
    "service_z_micro": Z95,
    "lead_time_centidays": 500,
    "lead_time_sd_centidays": 100,
    "cycle_centidays": 700,
}


@pytest.mark.domain("5.1 family *", "1 SS, s, S")
@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("sQ", (7, None)),
        ("sS", (7, 30)),
        ("RsS", (7, 30)),
        ("cover", (7, 30)),
        ("RS", (29, 30)),
        ("par", (29, 30)),
        ("off", (None, None)),
    ],
)
def test_typed_levels_of_a_family(family, expected):
    found = levels(
        policy(replenish_family=family, reorder_point_units=7, order_up_to_units=30), None, None
    )
    assert (found.reorder_point_units, found.order_up_to_units) == expected


def test_the_par_family_uses_typed_levels_even_if_levels_is_computed():
    found = levels(
        policy(replenish_family="par", levels="computed", order_up_to_units=6), 9_000_000, 0
    )
    assert (found.reorder_point_units, found.order_up_to_units) == (5, 6)


def test_a_key_without_policy_has_no_levels():
    assert levels(None, 5_000_000, 0).reorder_point_units is None


def test_the_order_level_of_the_cover_family_exceeds_its_reorder_point():
    found = levels(
        policy(
            replenish_family="cover",
            levels="computed",
            min_cover_centidays=500,
            max_cover_centidays=500,
        ),
        1_000_000,
        0,
    )
    assert (found.reorder_point_units, found.order_up_to_units) == (5, 6)


def test_a_periodic_reorder_point_without_demand_is_minus_one():
    found = levels(policy(replenish_family="RS", levels="computed"), 0, 0)
    assert (found.reorder_point_units, found.order_up_to_units) == (-1, 0)


def test_an_unknown_rate_defaults_to_the_initial_rate_with_half_as_deviation():
    ranged = policy(**(TEXTBOOK | {"initial_rate_micro": 20_000_001}))
    assert levels(ranged, None, None) == levels(ranged, 20_000_001, 10_000_000)
    assert demand_micro(ranged, None) == 20_000_001
    assert demand_micro(policy(), None) == 0
    assert demand_micro(None, None) == 0
    assert demand_micro(policy(initial_rate_micro=5), 0) == 0


@pytest.mark.domain("1 rate, deviation*")
def test_sigma_follows_the_worked_demand_table():
    assert [sigma_micro(mad) for mad in (4_000_000, 3_812_500, 4_359_375, 4_709_961)] == [
        5_013_256,
        4_778_260,
        5_463_666,
        5_903_060,
    ]


def test_demand_over_a_span_is_rounded_up_to_whole_units():
    assert [span_units(1_000_000, days) for days in (99, 100, 101)] == [1, 1, 2]
    assert span_units(0, 700) == 0


@pytest.mark.domain("1 lead time L*")
def test_service_safety_stock_covers_demand_and_lead_time_variance():
    ranged = policy(**TEXTBOOK)
    assert safety_stock_units(ranged, 20_000_000, 0) == 33
    assert safety_stock_units(ranged, 0, 6_000_000) == 23
    assert safety_stock_units(ranged, 20_000_000, 6_000_000) == 40
