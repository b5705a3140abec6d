"""Lines about the price in force and the candidate for the next one (domain.md 6.1, 6.2)."""

from inventory.explain.lines import Line, Section, Source, add, note, total
from inventory.fold.decisions import pricing_inputs
from inventory.model.policy import ItemLocation
from inventory.model.price_timeline import PriceRow, in_force
from inventory.model.state import KeyState
from inventory.model.value import value
from inventory.pricing.gates import closed_gate
from inventory.pricing.proposals import clamped_to, market_of
from inventory.pricing.signals import BELOW_FLOOR, Market, Signal, effective_at_us, first_signal
from inventory.pricing.targets import (
    Clamped,
    PriceFrame,
    floor_minor,
    raised_to_floor,
    target_minor,
)


@value
class _Evaluation:
    """The inputs of a price evaluation at the state's stream time, and the signal that applies.

    `signal` is None if no signal applies.
    """

    policy: ItemLocation
    market: Market
    frame: PriceFrame
    step: int
    effective_us: int
    signal: Signal | None


def price_section(state: KeyState, *, has_windows: bool) -> Section:
    """Return the section `price`: price in force, price floor, candidate and open proposal.

    The candidate is the next price that the rules compute for the state's stream time. Its signal
    depends on the sales of 24 hours, which only the window rows have. If `has_windows` is False,
    one line states that the signal is unknown.
    """
    now_us = state.stream_time_us
    row = None if now_us is None else in_force(state.timeline, now_us)
    policy = state.policy
    lines = (*price_in_force(row), *_floor(policy))
    if policy is None or policy.status != "active" or policy.price_mode == "off":
        return Section("price", (*lines, note("price_reason", "not priced by rules")))
    if policy.regular_minor is None or now_us is None:
        return Section("price", (*lines, note("price_reason", "no regular price or no record yet")))
    evaluation = _evaluate(state, policy, policy.regular_minor, now_us) if has_windows else None
    candidate = (
        (note("signal", None, "unknown without the window rows"),)
        if evaluation is None
        else (*_market_lines(evaluation), *_candidate(state, evaluation))
    )
    return Section("price", (*lines, *candidate, *_proposal(state)))


def price_in_force(row: PriceRow | None) -> tuple[Line, ...]:
    """Return the lines of the price in force, or one line without a value if there is none."""
    if row is None:
        return (note("price_minor", None, "no price was ever set"),)
    detail = row.kind if row.step == 0 else f"{row.kind}, step {row.step}"
    return (
        note("price_minor", row.price_minor, detail, Source("price_change", row.id)),
        note("price_from_us", row.effective_from_us),
    )


def _floor(policy: ItemLocation | None) -> tuple[Line, ...]:
    if policy is None:
        return ()
    floor = floor_minor(policy.cost_minor, policy.margin_permille, policy.tax_bp)
    return (
        note("cost_minor", policy.cost_minor),
        note("margin_permille", policy.margin_permille),
        note("tax_bp", policy.tax_bp),
        note("floor_minor", floor),
        note("regular_minor", policy.regular_minor),
    )


def _evaluate(
    state: KeyState, policy: ItemLocation, regular_minor: int, now_us: int
) -> _Evaluation:
    effective_us = effective_at_us(now_us, policy.lead_minutes)
    row = in_force(state.timeline, effective_us)
    frame = PriceFrame(
        old_minor=regular_minor if row is None else row.price_minor,
        regular_minor=regular_minor,
        floor_minor=floor_minor(policy.cost_minor, policy.margin_permille, policy.tax_bp),
        endings=policy.endings,
    )
    market = market_of(policy, pricing_inputs(state, now_us))
    step = 0 if row is None else row.step
    is_below = frame.old_minor < frame.floor_minor
    signal = first_signal(policy, market, step, is_below_floor=is_below)
    return _Evaluation(policy, market, frame, step, effective_us, signal)


def _market_lines(evaluation: _Evaluation) -> tuple[Line, ...]:
    market = evaluation.market
    return (
        note("price_step", evaluation.step),
        note("available_to_sell_units", market.available_units),
        note("supply_units", market.supply_units),
        note("demand_rate_micro", market.rate_micro),
        note("cover_centidays", market.cover_centidays()),
        note("sold_last_24h_units", market.recent_sales.units()),
        note("quiet_windows", market.quiet_windows),
        note("signals_judged", "all" if market.is_observed else "below_floor alone"),
    )


def _candidate(state: KeyState, evaluation: _Evaluation) -> tuple[Line, ...]:
    """Return the lines that explain the new price: old price, change to the target, limits."""
    signal, frame = evaluation.signal, evaluation.frame
    if signal is None:
        return (note("signal", None, "no signal"),)
    head = (note("signal", signal.name), note("effective_at_us", evaluation.effective_us))
    if signal.name == BELOW_FLOOR:
        return (*head, *_steps(frame, frame.floor_minor, raised_to_floor(frame)))
    found = clamped_to(evaluation.policy, frame, signal)
    target = target_minor(evaluation.policy, frame.regular_minor, signal.step)
    if isinstance(found, str) or target is None:
        return (*head, note("new_minor", None, str(found)))
    gate = closed_gate(evaluation.policy, state.timeline, evaluation.effective_us, side=signal.side)
    gates = (note("gate", gate or "open"),) if found.price_minor is not None else ()
    return (*head, *_steps(frame, target, found), *gates)


def _steps(frame: PriceFrame, target: int, found: Clamped) -> tuple[Line, ...]:
    names = ", ".join(found.clamps)
    if found.price_minor is None:
        return (note("target_minor", target), note("new_minor", None, names))
    return (
        add("old_minor", frame.old_minor),
        add("target_change_minor", target - frame.old_minor),
        add("clamps_minor", found.price_minor - target, names),
        total("new_minor", found.price_minor),
    )


def _proposal(state: KeyState) -> tuple[Line, ...]:
    episode = state.price_episode
    return (
        note("price_proposal", episode.id),
        note("price_revision", episode.revision if episode.id else None),
        note("proposed_minor", episode.proposal_price_minor),
        note("price_blocked_until_us", episode.blocked_until_us),
        note("price_reason", episode.reason),
    )
