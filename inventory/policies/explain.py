"""A quantity as named terms that add up (domain.md 5, Explanation). Pure: integers in, terms out.

The split of stock by cause (sales, returns, receipts, transfers, adjustments) is not part of the
state (domain.md 11.10): whoever has SQL at hand passes it as `since_count`.
"""

from inventory.facts import ItemLocation
from inventory.model.episode import Episode
from inventory.model.ids import Position
from inventory.policies.levels import (
    Levels,
    demand_micro,
    deviation_micro,
    levels,
    protection_centidays,
    sigma_micro,
    span_units,
)
from inventory.policies.quantity import Term, order_quantity

Terms = tuple[Term, ...]


def stock_terms(on_hand_units: int, on_order_units: int, allocated_units: int) -> Terms:
    """From stock to B; each clamp is what it adds, so the lines add up."""
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
    """From demand to s and S; empty without levels, s and S alone where they are typed."""
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
    if policy.levels == "fixed" or policy.replenish_family == "par":
        return (*start, *ends)
    if policy.replenish_family == "cover":
        return (
            *start,
            ("min_cover_centidays", policy.min_cover_centidays),
            ("max_cover_centidays", policy.max_cover_centidays),
            *ends,
        )
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


def count_terms(since_count: Terms, last_count_units: int | None) -> Terms:
    """The last count and what happened since, one signed line per cause, as SQL splits it."""
    return (("last_count_units", last_count_units), *since_count)


def quantity_terms(
    policy: ItemLocation | None, level: Levels, base_units: int, rate_micro: int | None
) -> Terms:
    """Need, pack, minimum, limit, quantity and flags of an order at `base_units`, if one is due."""
    if policy is None or level.reorder_point_units is None:
        return ()
    if base_units > level.reorder_point_units:
        return (("need_units", 0),)
    quantity = order_quantity(policy, level, base_units, rate_micro)
    return (*quantity.terms, ("flags", ",".join(quantity.flags)))


def episode_terms(episode: Episode) -> Terms:
    """What the key is waiting for, or why it asks for nothing."""
    return (
        ("episode_state", episode.state),
        ("reorder_id", episode.id),
        ("requested_units", episode.quantity_units or 0),
        ("hold_until_us", episode.until_us),
        ("reason", episode.reason),
    )


def explain_quantity(
    policy: ItemLocation | None,
    stock: tuple[int, int, int],
    demand: tuple[int | None, int | None],
    episode: Episode,
) -> Terms:
    """Every fixed line from on-hand to hold or reason.

    `stock` is (on-hand, on-order, allocated) in units, `demand` (rate, deviation) in micro-units.
    """
    rate_micro, mad_micro = demand
    level = levels(policy, rate_micro, mad_micro)
    from_stock = stock_terms(*stock)
    base_units = max(0, stock[0]) + max(0, stock[1]) - stock[2]
    return (
        *from_stock,
        *level_terms(policy, level, rate_micro, mad_micro),
        *quantity_terms(policy, level, base_units, rate_micro),
        *episode_terms(episode),
    )


def provenance_terms(policy_at: Position | None, logic_revision: int, as_of_us: int) -> Terms:
    """Where the numbers come from: position of the policy, revision of the rules, as-of."""
    return (
        ("policy_generation", None if policy_at is None else policy_at.generation),
        ("policy_offset", None if policy_at is None else policy_at.offset),
        ("logic_revision", logic_revision),
        ("as_of_us", as_of_us),
    )
