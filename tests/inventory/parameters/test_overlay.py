"""Parameters of a logic revision replace columns in the policy rows of the log."""

import pytest

from inventory.errors import Rejected
from inventory.parameters.overlay import OverlayRule, applied
from inventory.tables.item_location import parse, parse_overlaid, parse_policy

ROW = {
    "id": 7,
    "inv_key": "BERLIN-1|TEA",
    "location": "BERLIN-1",
    "sku": "TEA",
    "status": "active",
    "replenish_family": "sS",
    "reorder_point_units": 20,
    "order_up_to_units": 60,
}
OF_BERLIN = OverlayRule((("location", "BERLIN-1"),), (("hysteresis_units", 3),))


def test_a_rule_sets_its_columns_in_rows_that_have_all_of_its_values() -> None:
    both = OverlayRule((*OF_BERLIN.where, ("replenish_family", "sS")), OF_BERLIN.changes)

    assert applied(ROW, (both,)) == ROW | {"hysteresis_units": 3}
    assert applied(ROW | {"location": "WIEN-1"}, (both,))["location"] == "WIEN-1"
    assert "hysteresis_units" not in applied(ROW | {"replenish_family": "par"}, (both,))
    assert "hysteresis_units" not in ROW


def test_a_rule_without_conditions_sets_every_row() -> None:
    assert applied({"id": 1}, (OverlayRule((), (("pack_units", 6),)),)) == {
        "id": 1,
        "pack_units": 6,
    }


def test_a_later_overlay_rule_matches_values_set_by_an_earlier_rule() -> None:
    par = OverlayRule((("replenish_family", "sS"),), (("replenish_family", "par"),))
    of_par = OverlayRule((("replenish_family", "par"),), (("order_up_to_units", 9),))

    assert applied(ROW, (par, of_par))["order_up_to_units"] == 9
    assert applied(ROW, (of_par, par))["order_up_to_units"] == 60


def test_an_overlay_rule_leaves_a_row_with_its_values_unchanged() -> None:
    row = ROW | {"endings": [49, 99], "hysteresis_units": 3}
    same = OverlayRule((), (("endings", (49, 99)), ("hysteresis_units", 3)))

    assert applied(row, (same,)) == row
    assert applied(row | {"endings": [99]}, (same,)) == row


def test_the_policy_parser_applies_the_overlay_to_the_row() -> None:
    # The project's own sources set no parameters.
    assert parse("BERLIN-1|TEA", ROW) == parse_policy("BERLIN-1|TEA", ROW)
    assert parse_policy("BERLIN-1|TEA", ROW).hysteresis_units is None

    assert parse_overlaid("BERLIN-1|TEA", ROW, (OF_BERLIN,)).hysteresis_units == 3


def test_overlaid_values_that_break_a_row_limit_are_rejected() -> None:
    below = OverlayRule((), (("order_up_to_units", 20),))
    above = OverlayRule((), (("order_up_to_units", 21),))

    assert parse_overlaid("BERLIN-1|TEA", ROW, (above,)).order_up_to_units == 21

    with pytest.raises(Rejected, match="above reorder_point_units, got 20"):
        parse_overlaid("BERLIN-1|TEA", ROW, (below,))
