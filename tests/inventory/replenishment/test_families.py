"""docs/domain.md 5.1 and 2.6 list the families of `inventory.replenishment.families`, in order."""

from dataclasses import fields

import pytest

from inventory.model.policy import ItemLocation
from inventory.replenishment.families import BASE_STOCK, FAMILIES, LOTS, TWO_LEVELS, Family
from tests.house.domain_page import plain, table
from tests.oracle import columns as second_model
from tests.oracle.levels import Levels, need_of

ORDERING = [family for family in FAMILIES.values() if family.typed]
ROWS = {plain(row[0]): tuple(plain(cell) for cell in row[1:]) for row in table("5.1 family").rows}


def by_code(family: Family) -> str:
    return family.code


def test_domain_md_lists_the_families_in_code_order() -> None:
    assert [*ROWS] == [family.code for family in ORDERING]


def needs_of_lots(code: str) -> list[int]:
    """Return the need n at B = 9, 3, 2 and -40 by the second model, with s = 9 and Q = 6."""
    policy = {"replenish_family": code, "order_quantity_units": 6}
    return [need_of(policy, Levels(0, 9, None), base) for base in (9, 3, 2, -40)]


@pytest.mark.parametrize("family", ORDERING, ids=by_code)
def test_domain_md_describes_each_family_as_the_code_does(family: Family) -> None:
    trigger, need, computed = ROWS[family.code]

    assert trigger.startswith("review on an order day") is family.is_periodic
    assert trigger.endswith("s = S − 1") is (family.shape == BASE_STOCK)
    assert (need == "S − B") is (family.shape != LOTS)
    if family.shape == LOTS:
        is_alike = needs_of_lots(family.code) == needs_of_lots("sQ")
        assert (need == ROWS["sQ"][1]) is is_alike
    assert (computed == "S always typed") is (not family.computed)
    assert ("SS(" in computed or "as sQ" in computed) is ("safety_method" in family.computed)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=by_code)
def test_a_family_names_only_existing_policy_columns(family: Family) -> None:
    columns = {column.name for column in fields(ItemLocation)}

    assert columns.issuperset(family.typed + family.computed)
    assert {family.span_column, family.batch_column} <= {"", *family.computed}


@pytest.mark.parametrize("family", ORDERING, ids=by_code)
def test_only_a_family_with_two_computed_levels_has_a_batch_column(family: Family) -> None:
    has_batch = family.shape == TWO_LEVELS and bool(family.computed)

    assert bool(family.batch_column) is has_batch
    assert bool(family.batch_text) is has_batch


def test_the_second_model_has_the_same_families() -> None:
    assert tuple(FAMILIES) == second_model.FAMILIES


@pytest.mark.parametrize("family", FAMILIES.values(), ids=by_code)
def test_the_second_model_classifies_families_as_the_code_does(family: Family) -> None:
    expected = {
        "LOTS": family.shape == LOTS,
        "TWO_LEVELS": family.shape == TWO_LEVELS,
        "BASE_STOCK": family.shape == BASE_STOCK,
        "ALWAYS_TYPED": bool(family.typed) and not family.computed,
        "PERIODIC": family.is_periodic,
    }

    assert {name: family.code in getattr(second_model, name) for name in expected} == expected
