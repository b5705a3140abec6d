"""The form of a new item asks for exactly the columns that its family reads."""

from dataclasses import replace
from itertools import product
from operator import attrgetter
from typing import Any

import pytest

from inventory.model.ids import InvKey
from inventory.model.policy import ItemLocation
from inventory.replenishment.families import FAMILIES, LOTS
from inventory.replenishment.levels import Levels, levels
from webui.desks.ranging.columns import FIELDS
from webui.desks.ranging.policy_field import Field

CHOICES = list(product(FAMILIES, ("fixed", "computed"), ("fixed", "days", "service")))
BASE: dict[str, Any] = {
    "reorder_point_units": 20,
    "order_up_to_units": 60,
    "order_quantity_units": 39,
    "lead_time_centidays": 500,
    "review_centidays": 700,
    "cycle_centidays": 1_000,
    "min_cover_centidays": 300,
    "max_cover_centidays": 900,
    "safety_stock_units": 11,
    "safety_centidays": 250,
    "service_z_micro": 1_644_854,
}


def is_used(field: Field, chosen: dict[str, str]) -> bool:
    """Return True if the page uses the field for these choices."""
    if not field.used:
        return True
    return any(all(chosen[name] in values for name, values in use.items()) for use in field.used)


def levels_of(chosen: dict[str, str], **changes: Any) -> Levels:
    policy = ItemLocation(id=1, inv_key=InvKey("L|S"), status="active", **BASE | chosen)
    return levels(replace(policy, **changes), 4_000_000, 1_000_000)


@pytest.mark.parametrize(
    "field", [field for field in FIELDS if field.column in BASE], ids=lambda field: field.column
)
@pytest.mark.parametrize("choice", CHOICES, ids="-".join)
def test_the_form_asks_for_exactly_the_fields_that_change_the_levels(
    choice: tuple[str, str, str], field: Field
) -> None:
    chosen = dict(zip(("replenish_family", "levels", "safety_method"), choice, strict=True))
    family = FAMILIES[chosen["replenish_family"]]
    is_of_orders = family.shape == LOTS and field.column == "order_quantity_units"
    is_protected = "safety_method" in family.computed
    is_typed = chosen["levels"] == "fixed" or not is_protected
    # The form always asks for the lead time, because the due day of an order depends on it.
    is_of_orders |= is_typed and field.column == "lead_time_centidays"

    before = levels_of(chosen)
    # Try several factors: rounded to multiples of a quantity, a level may stay the same for one.
    after = [levels_of(chosen, **{field.column: BASE[field.column] * n}) for n in (2, 3, 5)]

    is_read, is_asked = any(found != before for found in after), is_used(field, chosen)
    assert is_read == (is_asked and not is_of_orders), (
        f"{family.code} with levels {chosen['levels']}: {field.column}"
        f" {'changes' if is_read else 'does not change'} a level; `typed` and `computed` of the"
        " family must name exactly the columns that change its levels"
    )


def test_the_form_asks_for_no_order_field_if_the_family_is_off() -> None:
    chosen = {"replenish_family": "off", "levels": "computed", "safety_method": "days"}

    asked = [field.column for field in FIELDS if is_used(field, chosen)]

    assert asked == [
        *("replenish_family", "cost_minor", "regular_minor"),
        *("margin_permille", "tax_bp", "price_mode"),
    ]


def test_used_text_lists_the_choices_that_need_a_field() -> None:
    [quantity] = [field for field in FIELDS if field.column == "order_quantity_units"]

    typed, computed = (
        ",".join(code for code, family in FAMILIES.items() if quantity.column in read(family))
        for read in (attrgetter("typed"), attrgetter("computed"))
    )

    assert quantity.used_text == (
        f"replenish_family={typed} levels=fixed | replenish_family={computed} levels=computed"
    )
