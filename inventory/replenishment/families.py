"""The replenishment families (domain.md 5.1), one value each. No other module lists them.

Parser, levels, explanations, forms and pages read these values. Tests compare SQL's CHECKs and the
table of docs/domain.md with them. docs/how-to/add-a-replenishment-family.md has the steps for a new
family.
"""

from collections.abc import Callable
from typing import Final

from inventory.model.policy import ItemLocation
from inventory.model.value import value

# Shapes of a family's levels. The comment after each shape has its limits (domain.md 11.8). Without
# these limits, the formulas would be undefined. Limits after "typed" apply to typed levels only.
NO_SHAPE: Final = "no levels"
LOTS: Final = "s and multiples of Q"  # Q ≥ 1
TWO_LEVELS: Final = "s and S"  # typed: S > s
BASE_STOCK: Final = "S, and s = S - 1"  # typed: S ≥ 1

SAFETY_COLUMNS: Final = (
    "safety_method",
    "safety_stock_units",
    "safety_centidays",
    "service_z_micro",
)

# A function that returns S - s in units. Its arguments are the policy, the demand in units over the
# time span in the policy column `batch_column`, and s in units.
Batch = Callable[[ItemLocation, int, int], int]


def _demand(_: ItemLocation, demand_units: int, _reorder_point_units: int) -> int:
    return max(1, demand_units)


def _demand_or_lot(policy: ItemLocation, demand_units: int, _reorder_point_units: int) -> int:
    return max(1, policy.order_quantity_units, demand_units)


def _rest_of_demand(_: ItemLocation, demand_units: int, reorder_point_units: int) -> int:
    return max(1, demand_units - reorder_point_units)


@value
class Family:
    """A rule that computes s and S from a policy, with its texts and the columns that it reads.

    The policy column `levels` is `fixed` or `computed`. The field `typed` names the columns that a
    person fills in for `fixed` levels, and the field `computed` those for `computed` levels. If
    the field `computed` is empty, the family always has typed levels.

    Computed levels (domain.md 5.1):
    - The first level is S for the shape `BASE_STOCK`, else s. `span_column` names a policy column
      with a time span. The first level is the demand over this time span. For a family without a
      `span_column`, it is the demand over the protection time, plus the safety stock.
    - Only `TWO_LEVELS` has a second computed level: S = s + the result of the function `batch`.
      `batch_column` names a policy column with a time span. The function gets the demand over this
      time span as an argument. The default function returns this demand, at least 1. So a family
      of this shape sets `batch_column`, and `batch` if it needs another function.

    `batch_text` explains S - s to people, with the placeholders `demand` (units), `lot` (Q) and
    `span` (days).
    """

    code: str
    label: str  # text of the option in a form
    summary: str  # text after the family's code
    shape: str
    typed: tuple[str, ...] = ()
    computed: tuple[str, ...] = ()
    is_periodic: bool = False  # orders only on a record that raises reviewed_at on an order day
    span_column: str = ""
    batch_column: str = ""
    batch: Batch = _demand
    batch_text: str = ""


OFF: Final = Family(
    code="off",
    label="off: no orders are proposed",
    summary="no reorders by rule",
    shape=NO_SHAPE,
)
FIXED_LOT: Final = Family(
    code="sQ",
    label="sQ: when the reorder point is reached, order multiples of a quantity",
    summary="when the reorder point is reached, order multiples of a quantity",
    shape=LOTS,
    typed=("reorder_point_units", "order_quantity_units"),
    computed=("order_quantity_units", *SAFETY_COLUMNS),
)
MIN_MAX: Final = Family(
    code="sS",
    label="sS, min/max: when the reorder point is reached, order up to the order level",
    summary="when the reorder point is reached, order up to the order level",
    shape=TWO_LEVELS,
    typed=("reorder_point_units", "order_up_to_units"),
    computed=("order_quantity_units", "cycle_centidays", *SAFETY_COLUMNS),
    batch_column="cycle_centidays",
    batch=_demand_or_lot,
    batch_text="the largest of 1, Q {lot}, demand of a cycle {demand}",
)
PERIODIC: Final = Family(
    code="RS",
    label="RS: on order days, order up to the order level",
    summary="on order days, order up to the order level",
    shape=BASE_STOCK,
    typed=("order_up_to_units",),
    computed=("review_centidays", *SAFETY_COLUMNS),
    is_periodic=True,
)
PERIODIC_MIN_MAX: Final = Family(
    code="RsS",
    label="RsS: on order days, if the reorder point is reached, order up to the order level",
    summary="on order days, if the reorder point is reached, order up to the order level",
    shape=TWO_LEVELS,
    typed=("reorder_point_units", "order_up_to_units"),
    computed=("review_centidays", *SAFETY_COLUMNS),
    is_periodic=True,
    batch_column="review_centidays",
    batch_text="the larger of 1 and the demand of a review {demand}",
)
PAR: Final = Family(
    code="par",
    label="par: whenever stock plus orders is below the order level, order up to it",
    summary="whenever stock plus orders is below the typed level, order up to it",
    shape=BASE_STOCK,
    typed=("order_up_to_units",),
)
COVER: Final = Family(
    code="cover",
    label="cover (time supply): order enough for a number of days of demand",
    summary="when the minimum days of cover are reached, order up to the maximum",
    shape=TWO_LEVELS,
    typed=("reorder_point_units", "order_up_to_units"),
    computed=("min_cover_centidays", "max_cover_centidays"),
    span_column="min_cover_centidays",
    batch_column="max_cover_centidays",
    batch=_rest_of_demand,
    batch_text="up to the demand of {span}, {demand}, at least 1",
)

# In the order of docs/domain.md, of SQL's CHECK and of the form.
FAMILIES: Final[dict[str, Family]] = {
    family.code: family
    for family in (
        OFF,
        FIXED_LOT,
        MIN_MAX,
        PERIODIC,
        PERIODIC_MIN_MAX,
        PAR,
        COVER,
    )
}


def family_of(policy: ItemLocation) -> Family:
    """Return the family of a policy. The parser rejects a row with an unknown code."""
    return FAMILIES[policy.replenish_family]


def has_typed_levels(policy: ItemLocation) -> bool:
    """Return True if the levels s and S are values that a person typed.

    A family without computed levels always has typed levels.
    """
    return policy.levels == "fixed" or not family_of(policy).computed


def protection_centidays(policy: ItemLocation) -> int:
    """Return the time that safety stock protects, in hundredths of a day (domain.md 1).

    It is the lead time. Periodic families add the review time between two order days.
    """
    if family_of(policy).is_periodic:
        return policy.lead_time_centidays + policy.review_centidays
    return policy.lead_time_centidays


def first_centidays(policy: ItemLocation) -> int:
    """Return the time span of the first level's demand, in hundredths of a day.

    The first level (S for the shape `BASE_STOCK`, else s) is computed from the demand of this time
    span. The family's `span_column` names the policy column with the time span. If the family has
    no `span_column`, the time span is the protection time.
    """
    column = family_of(policy).span_column
    return span_of(policy, column) if column else protection_centidays(policy)


def batch_centidays(policy: ItemLocation) -> int:
    """Return the time span of the batch's demand, in hundredths of a day.

    S - s is computed from the demand of this time span. Only families of shape `TWO_LEVELS` have
    such a time span.
    """
    return span_of(policy, family_of(policy).batch_column)


def span_of(policy: ItemLocation, column: str) -> int:
    """Return the value of `column`, a policy column in hundredths of a day."""
    centidays: int = getattr(policy, column)
    return centidays
