"""The fixed lines of an explanation (domain.md 5): they add up, and each number has its source."""

from inventory.model.episode import Episode
from inventory.model.ids import Position
from inventory.policies.explain import (
    count_terms,
    explain_quantity,
    provenance_terms,
)
from tests.policies.builders import policy


def explained(stock, demand=(None, None), **columns):
    return dict(explain_quantity(policy(**columns), stock, demand, Episode(reason="x")))


def test_stock_lines_add_up_to_the_base_position():
    terms = explained((-5, -2, 3), order_up_to_units=9)
    assert terms["on_hand_units"] + terms["on_hand_clamp_units"] == 0
    assert terms["on_order_units"] + terms["on_order_clamp_units"] == 0
    assert terms["base_position_units"] == terms["allocated_units"] == -3


def test_computed_levels_add_up_from_span_and_safety_stock():
    terms = explained(
        (10, 0, 0),
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
    assert terms["need_units"] == terms["order_up_to_units"] - 10
    assert terms["flags"] == ""


def test_cover_names_its_two_spans():
    terms = explained(
        (99, 0, 0),
        (1_250_000, 0),
        replenish_family="cover",
        levels="computed",
        min_cover_centidays=500,
        max_cover_centidays=1200,
    )
    assert (terms["min_cover_centidays"], terms["max_cover_centidays"]) == (500, 1200)
    assert terms["need_units"] == 0


def test_a_key_that_is_not_replenished_has_stock_and_reason_only():
    for ranged in (None, policy(replenish_family="off")):
        terms = dict(explain_quantity(ranged, (1, 2, 3), (None, None), Episode(reason="no_policy")))
        assert "reorder_point_units" not in terms
        assert terms["reason"] == "no_policy"
        assert terms["requested_units"] == 0


def test_count_lines_come_first_and_provenance_last():
    assert count_terms((("sales", -3),), 8) == (("last_count_units", 8), ("sales", -3))
    assert dict(provenance_terms(Position(2, 9), 1, 77))["policy_offset"] == 9
    assert dict(provenance_terms(None, 1, 77))["policy_offset"] is None
