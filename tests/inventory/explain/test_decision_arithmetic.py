"""The arithmetic of a need adds up for every decision that generated histories reach."""

import pytest

from inventory.explain.decision import arithmetic
from inventory.explain.lines import ADD, SUM, gaps
from inventory.model.outputs import ReorderOutput
from tests.inventory.explain.test_terms_add_up import FOLLOWED, steps

SEEDS = sorted({*FOLLOWED, *range(20)})


@pytest.mark.parametrize("seed", SEEDS)
def test_stored_terms_add_up_to_the_quantity(seed: int) -> None:
    for folded in steps(seed):
        for output in folded.outputs:
            if not isinstance(output, ReorderOutput):
                continue
            known = [(name, value) for name, value in output.terms if value is not None]
            sections = {section.name: section for section in arithmetic(known)}

            assert gaps(tuple(sections.values())) == ()
            sums = {
                line.name: line.amount
                for section in sections.values()
                for line in section.lines
                if line.part == SUM
            }
            assert sums["base_position_units"] == output.base_position_units
            if output.order_up_to_units is not None:
                assert sums["order_up_to_units"] == output.order_up_to_units
            if output.status == "open":
                assert sums["quantity_units"] == output.quantity_units


def test_the_batch_is_a_step_between_reorder_point_and_order_level() -> None:
    terms: list[tuple[str, int | str]] = [
        ("replenish_family", "sS"),
        ("levels", "computed"),
        ("protection_demand_units", 12),
        ("safety_stock_units", 8),
        ("reorder_point_units", 20),
        ("order_up_to_units", 60),
    ]

    [section] = arithmetic(terms)

    steps_ = [(line.name, line.amount) for line in section.lines if line.part == ADD]
    assert steps_ == [
        ("protection_demand_units", 12),
        ("safety_stock_units", 8),
        ("batch_units", 40),
    ]


def test_arithmetic_has_one_step_for_typed_levels_and_allows_no_quantity() -> None:
    levels: list[tuple[str, int | str]] = [
        ("replenish_family", "sS"),
        ("levels", "typed"),
        ("reorder_point_units", 5),
        ("order_up_to_units", 9),
    ]
    need: list[tuple[str, int | str]] = [
        ("need_units", 3),
        ("packed_units", 4),
        ("minimum_units", 0),
        ("pack_units", 2),
    ]

    sections = arithmetic([*levels, *need])

    added = [
        (line.name, line.amount)
        for section in sections
        for line in section.lines
        if line.part == ADD
    ]
    assert ("typed_units", 5) in added
    assert ("batch_units", 4) in added
    assert "quantity_units" not in [name for name, _ in added]


def test_computed_levels_without_protection_begin_with_the_demand_of_their_span() -> None:
    levels: list[tuple[str, int | str]] = [
        ("replenish_family", "sS"),
        ("levels", "computed"),
        ("reorder_point_units", 5),
        ("order_up_to_units", 9),
    ]

    [section] = arithmetic(levels)

    added = [(line.name, line.amount) for line in section.lines if line.part == ADD]
    assert added == [("span_demand_units", 5), ("batch_units", 4)]


def test_a_family_without_computed_levels_has_a_typed_level() -> None:
    levels: list[tuple[str, int | str]] = [
        ("replenish_family", "par"),
        ("levels", "computed"),
        ("reorder_point_units", 5),
        ("order_up_to_units", 6),
    ]

    [section] = arithmetic(levels)

    added = [(line.name, line.amount) for line in section.lines if line.part == ADD]
    assert added == [("typed_units", 6), ("below_order_up_to_units", -1)]
