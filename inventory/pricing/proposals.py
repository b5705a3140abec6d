"""The state machine of a price proposal, from its opening to its closing (domain.md 6.3, 11.9)."""

from dataclasses import replace

from inventory.model.arithmetic import HOUR_US
from inventory.model.episode import PriceEpisode
from inventory.model.ids import InvKey, Position, proposal_id
from inventory.model.outputs import PriceOutput
from inventory.model.policy import ItemLocation
from inventory.model.price_timeline import PriceRow, in_force, prior_price
from inventory.model.value import value
from inventory.pricing.gates import closed_gate
from inventory.pricing.signals import (
    DOWN,
    OBSERVED_DAYS_NEEDED,
    Market,
    RecentSales,
    Signal,
    effective_at_us,
    first_signal,
    supply,
)
from inventory.pricing.targets import (
    Clamped,
    PriceFrame,
    clamped_down,
    clamped_up,
    floor_minor,
    raised_to_floor,
    target_minor,
)
from inventory.replenishment.levels import demand_micro
from inventory.tables.price_change import PriceChange
from inventory.tables.price_decision import PriceDecision

__all__ = [
    "PricingInputs",
    "PricingTrigger",
    "clamped_to",
    "floor_minor",
    "market_of",
    "next_proposal",
]

EXPIRY_US = 48 * HOUR_US
DEFAULT_COOLDOWN_HOURS = 168


@value
class PricingInputs:
    """The inputs of a price decision: the key's state after the record, at `stream_time_us`."""

    policy: ItemLocation | None
    timeline: tuple[PriceRow, ...]
    on_hand_units: int
    in_transit_units: int
    allocated_units: int
    stock_known: bool
    observed_days: int
    quiet_windows: int
    rate_micro: int | None
    recent_sales: RecentSales
    stream_time_us: int


@value
class PricingTrigger:
    """The reasons for which a record may change a price proposal.

    `evaluate` is True if the record raised `reviewed_at`, changed cost or a price column, or closed
    a further ten-minute window (domain.md 11.9). `price_row` is the `price_change` row that the
    record inserts, or None. `decision` is the `price_decision` row that the record inserts, or
    None.
    """

    evaluate: bool = False
    price_row: PriceChange | None = None
    decision: PriceDecision | None = None


@value
class _Candidate:
    """A price to propose, with the inputs of its computation.

    The price is within all limits (clamps), and no gate blocks the change now. There is one
    exception: if the old price is below the price floor, the floor is the only clamp, and gates are
    not checked.
    """

    new_minor: int
    signal: Signal
    clamps: tuple[str, ...]
    effective_at_us: int
    frame: PriceFrame
    prior_minor: int | None
    market: Market


# The price episode after a record, and the record's output if there is one.
Step = tuple[PriceEpisode, PriceOutput | None]


def next_proposal(
    key: InvKey,
    at: Position,
    episode: PriceEpisode,
    inputs: PricingInputs,
    trigger: PricingTrigger,
) -> Step:
    """Return the price episode after the record at `at`, and its output if there is one.

    The first of these cases that applies decides (domain.md 11.9): accepted, superseded by another
    price, rejected or snoozed, policy off, expired, evaluation. So a record that closes a proposal
    never opens the next one.
    """
    current = _after_decision(episode, trigger)
    closed = _closed(current, inputs, trigger)
    if closed is not None:
        return closed
    regular_minor = _regular_minor(inputs.policy)
    if not trigger.evaluate or inputs.policy is None or regular_minor is None:
        return current, None
    if current.blocked_until_us is not None and inputs.stream_time_us < current.blocked_until_us:
        return _with_reason(current, "blocked"), None
    found = _candidate(inputs.policy, regular_minor, inputs)
    if isinstance(found, _Candidate):
        return _proposed(key, at, current, found)
    if current.id is not None:
        return _close(current, "cancelled", found)
    return _with_reason(current, found), None


def _after_decision(episode: PriceEpisode, trigger: PricingTrigger) -> PriceEpisode:
    decision = trigger.decision
    if decision is None or decision.action == "approve" or decision.proposal_id == episode.id:
        return episode
    return replace(episode, stale_decisions=episode.stale_decisions + 1)


def _closed(episode: PriceEpisode, inputs: PricingInputs, trigger: PricingTrigger) -> Step | None:
    """Return the episode and output after the record closes the open proposal.

    An evaluation, which can also close a proposal, is not part of this check. None means that no
    proposal is open or that nothing closes it.
    """
    if episode.id is None or episode.last_output is None:
        return None
    if trigger.price_row is not None:
        if trigger.price_row.proposal_id == episode.id:
            return _close(episode, "accepted", None)
        return _close(episode, "cancelled", "superseded")
    cooldown_end_us = inputs.stream_time_us + _cooldown_us(inputs.policy)
    refused = _refused(episode, trigger.decision, cooldown_end_us)
    if refused is not None:
        return refused
    if _regular_minor(inputs.policy) is None:
        return _close(episode, "cancelled", "policy_off")
    if inputs.stream_time_us >= episode.last_output.effective_at_us + EXPIRY_US:
        return _close(episode, "expired", None, blocked_until_us=cooldown_end_us)
    return None


def _refused(
    episode: PriceEpisode, decision: PriceDecision | None, cooldown_end_us: int
) -> Step | None:
    """Return the episode and output after a reject or snooze of the open proposal, or None.

    None means that `decision` is no reject and no snooze of this proposal. A reject blocks new
    proposals until `cooldown_end_us`, a snooze until its `until_at`. A snooze without `until_at`
    blocks like a reject.
    """
    if decision is None or decision.proposal_id != episode.id:
        return None
    if decision.action == "reject":
        return _close(episode, "rejected", decision.reason, blocked_until_us=cooldown_end_us)
    if decision.action == "snooze":
        until_us = cooldown_end_us if decision.until_at_us is None else decision.until_at_us
        return _close(episode, "snoozed", decision.reason, blocked_until_us=until_us)
    return None


def _cooldown_us(policy: ItemLocation | None) -> int:
    hours = DEFAULT_COOLDOWN_HOURS if policy is None else policy.cooldown_hours
    return hours * HOUR_US


def _regular_minor(policy: ItemLocation | None) -> int | None:
    """Return the regular price of a key whose pricing is on, and None otherwise.

    Pricing is on if the policy is active, `price_mode` is not off and a regular price is set.
    """
    if policy is None or policy.status != "active" or policy.price_mode == "off":
        return None
    return policy.regular_minor


def _candidate(policy: ItemLocation, regular_minor: int, inputs: PricingInputs) -> _Candidate | str:
    """Return the price to propose, or the reason why there is none.

    The reason is a code of domain.md 11.9. But if no price passes the clamps (limits of a new
    price), the reason is the names of the clamps, joined by commas.
    """
    effective_us = effective_at_us(inputs.stream_time_us, policy.lead_minutes)
    row = in_force(inputs.timeline, effective_us)
    frame = PriceFrame(
        old_minor=regular_minor if row is None else row.price_minor,
        regular_minor=regular_minor,
        floor_minor=floor_minor(policy.cost_minor, policy.margin_permille, policy.tax_bp),
        endings=policy.endings,
    )
    market = market_of(policy, inputs)
    step = 0 if row is None else row.step
    is_below = frame.old_minor < frame.floor_minor
    signal = first_signal(policy, market, step, is_below_floor=is_below)
    if signal is None:
        return "no_signal"
    clamped = raised_to_floor(frame) if is_below else clamped_to(policy, frame, signal)
    if isinstance(clamped, str):
        return clamped
    if clamped.price_minor is None:
        return ",".join(clamped.clamps)
    if not is_below:
        gate = closed_gate(policy, inputs.timeline, effective_us, side=signal.side)
        if gate is not None:
            return gate
    return _Candidate(
        new_minor=clamped.price_minor,
        signal=signal,
        clamps=clamped.clamps,
        effective_at_us=effective_us,
        frame=frame,
        prior_minor=_prior_minor(policy, inputs, effective_us, signal),
        market=market,
    )


def market_of(policy: ItemLocation, inputs: PricingInputs) -> Market:
    """Return the inputs of the signals (domain.md 6.1).

    `is_observed` is True if the key was counted, and the rules learned its demand from at least 14
    days.
    """
    available_units = inputs.on_hand_units - inputs.allocated_units
    return Market(
        available_units=available_units,
        supply_units=supply(
            available_units=available_units, in_transit_units=inputs.in_transit_units
        ),
        rate_micro=demand_micro(policy, inputs.rate_micro),
        recent_sales=inputs.recent_sales,
        quiet_windows=inputs.quiet_windows,
        is_observed=inputs.stock_known and inputs.observed_days >= OBSERVED_DAYS_NEEDED,
    )


def clamped_to(policy: ItemLocation, frame: PriceFrame, signal: Signal) -> Clamped | str:
    """Return the price for the signal's step, after clamps and endings, or a reason code.

    `ladder_end`: the ladder has no such step. `no_change`: the target doesn't differ from the old
    price in the signal's direction. Example: the old price is 999 and the signal asks for a lower
    one, but the target is 999 or higher.
    """
    target = target_minor(policy, frame.regular_minor, signal.step)
    if target is None:
        return "ladder_end"
    if (target - frame.old_minor) * signal.side <= 0:
        return "no_change"
    if signal.side == DOWN:
        return clamped_down(policy, frame, target)
    return clamped_up(policy, frame, target)


def _prior_minor(
    policy: ItemLocation, inputs: PricingInputs, effective_us: int, signal: Signal
) -> int | None:
    """Return the prior price of a reduction, or None for a raise.

    The prior price is the lowest price in 30 days, or None if no price was in force then. The
    policy's `prior_rule` decides where these days end: at this reduction (`plain`), or at the first
    of several reductions in a row (`progressive`). See `prior_price`.
    """
    if signal.side != DOWN:
        return None
    progressive = policy.prior_rule == "progressive"
    return prior_price(inputs.timeline, effective_us, progressive=progressive)


def _proposed(key: InvKey, at: Position, episode: PriceEpisode, found: _Candidate) -> Step:
    """Return the episode and output after the price in `found` is proposed.

    If a proposal with another price is open, that proposal gets the new price. If a proposal with
    the same price is open, nothing changes and the output is None.
    """
    if episode.id is not None and episode.proposal_price_minor == found.new_minor:
        return episode, None
    is_new = episode.id is None
    output = PriceOutput(
        id=proposal_id(key, at) if episode.id is None else episode.id,
        revision=1 if is_new else episode.revision + 1,
        status="open",
        old_minor=found.frame.old_minor,
        new_minor=found.new_minor,
        step=found.signal.step,
        signal=found.signal.name,
        clamps=found.clamps,
        effective_at_us=found.effective_at_us,
        prior_minor=found.prior_minor,
        reason=None,
        floor_minor=found.frame.floor_minor,
        regular_minor=found.frame.regular_minor,
        terms=_terms(found),
    )
    after = PriceEpisode(
        id=output.id,
        revision=output.revision,
        proposal_price_minor=output.new_minor,
        stale_decisions=episode.stale_decisions,
        last_output=output,
    )
    return after, output


def _terms(found: _Candidate) -> tuple[tuple[str, int | str | None], ...]:
    market, frame = found.market, found.frame
    return (
        ("available_to_sell_units", market.available_units),
        ("supply_units", market.supply_units),
        ("demand_rate_micro", market.rate_micro),
        ("cover_centidays", market.cover_centidays()),
        ("sold_last_24h_units", market.recent_sales.units()),
        ("quiet_windows", market.quiet_windows),
        ("old_minor", frame.old_minor),
        ("regular_minor", frame.regular_minor),
        ("floor_minor", frame.floor_minor),
        ("new_minor", found.new_minor),
    )


def _close(
    episode: PriceEpisode,
    status: str,
    reason: str | None,
    *,
    blocked_until_us: int | None = None,
) -> Step:
    """Return the episode without the open proposal, and the output that closes the proposal.

    The output repeats the last output with the next revision, the final status and the reason.
    """
    shown = episode.last_output
    if shown is None:
        problem = f"price proposal {episode.id} is open, but its state has no last output"
        raise ValueError(problem)
    output = replace(shown, revision=episode.revision + 1, status=status, reason=reason)
    after = PriceEpisode(
        revision=output.revision,
        blocked_until_us=blocked_until_us,
        reason=reason,
        stale_decisions=episode.stale_decisions,
        last_output=output,
    )
    return after, output


def _with_reason(episode: PriceEpisode, reason: str) -> PriceEpisode:
    return episode if episode.reason == reason else replace(episode, reason=reason)
