"""Terms of a reorder (domain.md 5): they add up, and each number has a source."""

from typing import Any

from inventory.replenishment.levels import levels
from inventory.replenishment.terms import level_terms, stock_terms
from tests.inventory.decision_inputs import policy


def level(
    demand: tuple[int | None, int | None] = (None, None), **columns: object
) -> dict[str, Any]:
    ranged = policy(**columns)
    return dict(level_terms(ranged, levels(ranged, *demand), *demand))


def test_stock_terms_add_up_to_the_base_position():
    terms: dict[str, Any] = dict(stock_terms(-5, -2, 3))
    assert terms["on_hand_units"] + terms["on_hand_clamp_units"] == 0
    assert terms["on_order_units"] + terms["on_order_clamp_units"] == 0
    assert terms["base_position_units"] == terms["allocated_units"] == -3


def test_computed_levels_add_up_from_span_and_safety_stock():
    terms = level(
        (20_000_000, 4_787_308),
        levels="computed",
        lead_time_centidays=500,
        lead_time_sd_centidays=100,
        cycle_centidays=700,
        safety_method="service",
        service_z_micro=1_644_854,
    )
    assert terms["protection_demand_units"] + terms["safety_stock_units"] == 140
    assert terms["reorder_point_units"] == 140


def test_cover_names_its_two_spans():
    terms = level(
        (1_250_000, 0),
        replenish_family="cover",
        levels="computed",
        min_cover_centidays=500,
        max_cover_centidays=1200,
    )
    assert (terms["min_cover_centidays"], terms["max_cover_centidays"]) == (500, 1200)


def test_typed_levels_have_no_computed_parts():
    terms = level(replenish_family="par", levels="computed", order_up_to_units=6)
    assert (terms["reorder_point_units"], terms["order_up_to_units"]) == (5, 6)
    assert "safety_stock_units" not in terms


def test_a_key_without_levels_has_no_level_terms():
    assert level(replenish_family="off") == {}
    assert level_terms(None, levels(None, None, None), None, None) == ()
