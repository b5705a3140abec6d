"""The named inputs and steps that each revision of a need contains, called terms (domain.md 5).

The terms are part of a decision's record, so their names and order never change. For a key's
current numbers see `inventory.explain`.
"""

from inventory.model.policy import ItemLocation
from inventory.replenishment.families import (
    family_of,
    has_typed_levels,
    protection_centidays,
    span_of,
)
from inventory.replenishment.levels import (
    Levels,
    demand_micro,
    deviation_micro,
    sigma_micro,
    span_units,
)
from inventory.replenishment.quantity import Term

Terms = tuple[Term, ...]


def stock_terms(on_hand_units: int, on_order_units: int, allocated_units: int) -> Terms:
    """Return the terms that add up to the base position B, and B itself as the last term.

    They are on-hand, on-order, -allocated and two clamps. Negative on-hand or on-order counts as 0,
    so its clamp has the units that lift it to 0. For a quantity that is not negative, the clamp
    is 0.
    """
    return (
        ("on_hand_units", on_hand_units),
        ("on_hand_clamp_units", max(0, -on_hand_units)),
        ("on_order_units", on_order_units),
        ("on_order_clamp_units", max(0, -on_order_units)),
        ("allocated_units", -allocated_units),
        (
            "base_position_units",
            max(0, on_hand_units) + max(0, on_order_units) - allocated_units,
        ),
    )


def level_terms(
    policy: ItemLocation | None, level: Levels, rate_micro: int | None, mad_micro: int | None
) -> Terms:
    """Return the terms from the demand to the levels s and S.

    The result is empty for a key without levels. Levels that a person typed have only the terms
    `replenish_family`, `levels`, `demand_rate_micro`, s and S.
    """
    if policy is None or level.reorder_point_units is None:
        return ()
    ends: Terms = (
        ("reorder_point_units", level.reorder_point_units),
        ("order_up_to_units", level.order_up_to_units),
    )
    rate = demand_micro(policy, rate_micro)
    start: Terms = (
        ("replenish_family", policy.replenish_family),
        ("levels", policy.levels),
        ("demand_rate_micro", rate),
    )
    if has_typed_levels(policy):
        return (*start, *ends)
    family = family_of(policy)
    if family.span_column:
        spans: Terms = tuple([(column, span_of(policy, column)) for column in family.computed])
        return (*start, *spans, *ends)
    sigma = sigma_micro(deviation_micro(rate, rate_micro, mad_micro))
    return (*start, *_protection_terms(policy, level, rate, sigma), *ends)


def _protection_terms(policy: ItemLocation, level: Levels, rate_micro: int, sigma: int) -> Terms:
    protection = protection_centidays(policy)
    return (
        ("sigma_micro", sigma),
        ("lead_time_centidays", policy.lead_time_centidays),
        ("lead_time_sd_centidays", policy.lead_time_sd_centidays),
        ("protection_centidays", protection),
        ("protection_demand_units", span_units(rate_micro, protection)),
        ("safety_method", policy.safety_method),
        ("service_z_micro", policy.service_z_micro),
        ("safety_stock_units", level.safety_stock_units),
    )
