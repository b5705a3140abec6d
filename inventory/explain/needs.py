"""Lines about levels, order quantity and the state of the need (domain.md 5.1 to 5.3)."""

from inventory.explain.formatting import centidays_text
from inventory.explain.lines import Line, Section, Source, add, note, total
from inventory.model.policy import ItemLocation
from inventory.model.state import KeyState
from inventory.replenishment.families import (
    BASE_STOCK,
    batch_centidays,
    family_of,
    first_centidays,
    has_typed_levels,
    protection_centidays,
)
from inventory.replenishment.levels import (
    Levels,
    demand_micro,
    deviation_micro,
    sigma_micro,
    span_units,
)
from inventory.replenishment.quantity import (
    least_units,
    limit_units,
    need_units,
    order_quantity,
    packed_units,
)


def levels_section(state: KeyState) -> Section:
    """Return the section `levels`: the steps to the reorder point s and the order-up-to level S.

    In most families, the steps are: demand of a time span + safety stock = s, then S. A family with
    s = S - 1 shows S first (domain.md 5.1). Without a policy or with family `off`, the only line
    gives the reason why there are no levels.
    """
    policy, s = state.policy, state.reorder_point_units
    if policy is None or s is None:
        reason = "no policy" if policy is None else "replenishment is off"
        return Section("levels", (note("reorder_point_units", None, reason),))
    head = (note("replenish_family", policy.replenish_family), note("levels", policy.levels))
    big = state.order_up_to_units
    if family_of(policy).shape == BASE_STOCK and big is not None:  # S first, because s is S - 1
        top = total("order_up_to_units", big)
        below = (add("below_order_up_to_units", -1), total("reorder_point_units", s))
        return Section("levels", (*head, *_start(state, policy, big), top, *below))
    lines = (*head, *_start(state, policy, s), total("reorder_point_units", s))
    if big is None:
        return Section("levels", lines)
    batch = add("batch_units", big - s, _batch(state, policy))
    return Section("levels", (*lines, batch, total("order_up_to_units", big)))


def _start(state: KeyState, policy: ItemLocation, first_units: int) -> tuple[Line, ...]:
    """Return the lines that add up to `first_units`, the level that is computed first.

    This level is the order-up-to level S in families of shape `BASE_STOCK`, and the reorder point s
    in all other families.
    """
    if has_typed_levels(policy):
        return (add("typed_units", first_units),)
    rate = demand_micro(policy, state.demand.rate_micro)
    rates = (note("demand_rate_micro", rate),)
    column = family_of(policy).span_column
    if column:
        span = first_centidays(policy)
        name = f"{column.removesuffix('_centidays')}_demand_units"
        return (*rates, note(column, span), add(name, span_units(rate, span)))
    return (*rates, *_protection(state, policy, rate))


def _protection(state: KeyState, policy: ItemLocation, rate_micro: int) -> tuple[Line, ...]:
    demand = state.demand
    sigma = sigma_micro(deviation_micro(rate_micro, demand.rate_micro, demand.mad_micro))
    span = protection_centidays(policy)
    return (
        note("sigma_micro", sigma),
        note("lead_time_centidays", policy.lead_time_centidays),
        note("lead_time_sd_centidays", policy.lead_time_sd_centidays),
        note("protection_centidays", span),
        note("safety_method", policy.safety_method),
        note("service_z_micro", policy.service_z_micro),
        add("protection_demand_units", span_units(rate_micro, span)),
        add("safety_stock_units", state.safety_stock_units),
    )


def _batch(state: KeyState, policy: ItemLocation) -> str:
    """Return a text that explains the batch S - s."""
    if has_typed_levels(policy):
        return "typed"
    rate, span = demand_micro(policy, state.demand.rate_micro), batch_centidays(policy)
    return family_of(policy).batch_text.format(
        demand=span_units(rate, span), lot=policy.order_quantity_units, span=centidays_text(span)
    )


def quantity_section(state: KeyState) -> Section:
    """Return the section `quantity`: the steps from need to order quantity (domain.md 5.2).

    The steps are pack rounding, minimum and limit. If the base position B is above s, the only line
    shows B - s. If the key can't have a need, for example because it was never counted, the only
    line gives the reason.
    """
    policy, s, base = state.policy, state.reorder_point_units, state.base_position_units
    if policy is None or s is None:
        return Section("quantity", (note("quantity_units", None, "no reorder point"),))
    if policy.status != "active" or not state.stock_known:
        why = "never counted" if policy.status == "active" else f"the item is {policy.status} here"
        return Section("quantity", (note("quantity_units", None, why),))
    if base > s:
        return Section("quantity", (note("above_reorder_point_units", base - s),))
    level = Levels(state.safety_stock_units, s, state.order_up_to_units)
    found = order_quantity(policy, level, base, state.demand.rate_micro)
    need, least = need_units(policy, level, base), least_units(policy)
    packed = packed_units(policy, need)
    limit = limit_units(policy, base)
    start = (
        *_need(policy, level, base, need),
        add("pack_rounding_units", packed - need, f"{policy.pack_rounding} to {policy.pack_units}"),
        total("packed_units", packed),
        note("minimum_units", least),
        note("limit_units", limit),
    )
    raised = max(packed, least)
    if found.units is None:
        lines = (*start, note("quantity_units", None, found.reason or ""))
        return Section("quantity", lines)
    end = (
        add("minimum_raise_units", raised - packed),
        add("limit_cut_units", found.units - raised),
        total("quantity_units", found.units),
        note("flags", ",".join(found.flags)),
    )
    return Section("quantity", (*start, *end))


def _need(policy: ItemLocation, level: Levels, base_units: int, need: int) -> tuple[Line, ...]:
    if level.order_up_to_units is None:
        batch = policy.order_quantity_units
        batches = f"{need // batch} of {batch}, the fewest that pass the reorder point"
        return (add("batches_units", need // batch * batch, batches), total("need_units", need))
    return (
        add("order_up_to_units", level.order_up_to_units),
        add("base_position_units", -base_units),
        total("need_units", need),
    )


def hold_section(state: KeyState, decision: Source | None) -> Section:
    """Return the section `hold`: the state of the key's need, and the key's inventory position.

    The inventory position is the base position B + the units of the open need. In a held state,
    the line `reason` has the reason of the last output, for example a person's reason for a reject.
    In the states idle and open, it has the episode's reason. `decision` is the row of a person's
    latest decision on the need, and the source of the line `reason`.
    """
    episode = state.episode
    decided = None if episode.last_output is None else episode.last_output.reason
    reason = decided if episode.state.startswith("held") else episode.reason
    requested = episode.quantity_units or 0
    return Section(
        "hold",
        (
            note("episode_state", episode.state),
            note("reorder_id", episode.id),
            note("need_revision", episode.revision if episode.id else None),
            add("base_position_units", state.base_position_units),
            add("requested_units", requested),
            total("inventory_position_units", state.base_position_units + requested),
            note("hold_until_us", episode.until_us),
            note("hold_floor_units", episode.floor_units),
            note("reason", reason, "", decision),
        ),
    )
