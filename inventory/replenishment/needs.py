"""The state machine of a need, from its opening to its answer (domain.md 5.3)."""

from dataclasses import replace

from inventory.model.arithmetic import DAY_US, ceil_div, weekday_of
from inventory.model.episode import Episode
from inventory.model.ids import InvKey, Position, ReorderId, reorder_id
from inventory.model.outputs import ReorderOutput
from inventory.model.policy import ItemLocation
from inventory.model.value import value
from inventory.replenishment.families import OFF, family_of
from inventory.replenishment.levels import Levels, levels
from inventory.replenishment.quantity import (
    LIMIT_BELOW_MINIMUM,
    Quantity,
    limit_units,
    order_quantity,
    order_units,
)
from inventory.replenishment.terms import level_terms, stock_terms
from inventory.replenishment.triggers import NeedDecision, ReplenishmentTrigger

__all__ = [
    "Levels",
    "Quantity",
    "ReplenishmentInputs",
    "ReplenishmentTrigger",
    "base_position_units",
    "levels",
    "next_episode",
    "order_quantity",
]

IDLE, OPEN = "idle", "open"
SNOOZED, REJECTED, SHORT = "held-snoozed", "held-rejected", "held-short"
ABOVE_REORDER_POINT = "above_reorder_point"
NOT_ORDER_DAY = "not_order_day"
NEED_GONE = "need_gone"
POLICY_OFF = "policy_off"
HOLD_US = 7 * DAY_US
LONGEST_HOLD_US = 90 * DAY_US


@value
class ReplenishmentInputs:
    """The inputs of a replenishment decision: the key's state after the record.

    `level` are the levels of this policy and demand. If it is None, `next_episode` computes them.
    """

    policy: ItemLocation | None
    on_hand_units: int
    on_order_units: int
    allocated_units: int
    stock_known: bool
    rate_micro: int | None
    mad_micro: int | None
    stream_time_us: int
    level: Levels | None = None


@value
class _Now:
    """The values that one evaluation reads: the record's triggers, and the key's new values.

    `level` has the levels after the record, and `base_units` is the base position B after it.
    `policy` is None while the key is not active. `inactive_reason` then has the reason.
    """

    key: InvKey
    at: Position
    inputs: ReplenishmentInputs
    trigger: ReplenishmentTrigger
    level: Levels
    base_units: int
    policy: ItemLocation | None
    inactive_reason: str

    @property
    def reorder_point_units(self) -> int:
        """Return s in units, and 0 for a key without levels."""
        return self.level.reorder_point_units or 0

    def is_due(self) -> bool:
        """Return True if the base position B is at or below s (domain.md 5.1)."""
        return self.base_units <= self.reorder_point_units


Step = tuple[Episode, ReorderOutput | None]


def base_position_units(on_hand_units: int, on_order_units: int, allocated_units: int) -> int:
    """Return B = max(0, on-hand) + max(0, on-order) - allocated (domain.md 1)."""
    return max(0, on_hand_units) + max(0, on_order_units) - allocated_units


def next_episode(
    key: InvKey,
    at: Position,
    episode: Episode,
    inputs: ReplenishmentInputs,
    trigger: ReplenishmentTrigger,
) -> Step:
    """Return the episode after the record at `at`, and its output if there is one.

    There is at most one transition (domain.md 5.3).
    """
    inactive = inactive_reason(inputs.policy, stock_known=inputs.stock_known)
    level = inputs.level
    if level is None:
        level = levels(inputs.policy, inputs.rate_micro, inputs.mad_micro)
    now = _Now(
        key,
        at,
        inputs,
        trigger,
        level,
        base_position_units(inputs.on_hand_units, inputs.on_order_units, inputs.allocated_units),
        None if inactive else inputs.policy,
        inactive,
    )
    current = _after_decision(episode, now)
    match current.state:
        case "idle":
            return _from_idle(current, now)
        case "open":
            return _from_open(current, now)
        case "held-snoozed":
            return _from_snoozed(current, now)
        case _:
            return _from_closed_hold(current, now)


def inactive_reason(policy: ItemLocation | None, *, stock_known: bool) -> str:
    """Return the first reason why the key is not active, or "" if it is (domain.md 5.3, 11.7)."""
    if policy is None:
        return "no_policy"
    if not stock_known:
        return "stock_unknown"
    if policy.status != "active" or policy.replenish_family == OFF.code:
        return "not_replenished"
    return ""


def _after_decision(episode: Episode, now: _Now) -> Episode:
    """Return the episode after two effects of the record that need no transition.

    A decision on another id is counted as stale. A `resume` and a changed replenishment column end
    a hold: its `until_us` becomes the stream time.
    """
    decision = now.trigger.decision
    named = decision is not None and decision.reorder_id == episode.id
    if decision is not None and not named and decision.action != "approve":
        episode = replace(episode, stale_decisions=episode.stale_decisions + 1)
    resumed = named and decision is not None and decision.action == "resume"
    # The state stores the end, so that the hold stays ended while it waits for an order day.
    if episode.until_us is not None and (resumed or now.trigger.columns_changed):
        return replace(episode, until_us=now.inputs.stream_time_us)
    return episode


def _from_idle(episode: Episode, now: _Now) -> Step:
    if now.policy is None:
        return _idle(episode, now.inactive_reason), None
    if not now.is_due():
        return _idle(episode, ABOVE_REORDER_POINT), None
    # The order day belongs to the trigger (5.1), so it comes before any quantity (5.2).
    if not _may_order(now.policy, now):
        return _idle(episode, NOT_ORDER_DAY), None
    quantity = _quantity(now.policy, now)
    if quantity.units is None:
        return _idle(episode, LIMIT_BELOW_MINIMUM), None
    return _opened(episode, now, quantity, reorder_id(now.key, now.at), 1)


def _from_open(episode: Episode, now: _Now) -> Step:
    ended = _ended(episode, now)
    if ended is not None:
        return ended
    if now.policy is None or not now.is_due():
        return episode, None
    units = order_units(now.policy, now.level, now.base_units)
    if units is None:
        return _cancelled(episode, now, LIMIT_BELOW_MINIMUM, LIMIT_BELOW_MINIMUM)
    if not _is_amended(now.policy, now, episode.quantity_units or 0, units):
        return episode, None
    quantity = _quantity(now.policy, now)
    return _opened(episode, now, quantity, _id_of(episode), episode.revision + 1)


def _from_snoozed(episode: Episode, now: _Now) -> Step:
    ended = _ended(episode, now)
    if ended is not None:
        return ended
    if now.policy is None or not _is_over(episode, now):
        return episode, None
    if not now.is_due():
        return _cancelled(episode, now, NEED_GONE, ABOVE_REORDER_POINT)
    quantity = _quantity(now.policy, now)
    if quantity.units is None:  # cancelling never waits for an order day
        return _cancelled(episode, now, LIMIT_BELOW_MINIMUM, LIMIT_BELOW_MINIMUM)
    if not _may_order(now.policy, now):
        return episode, None
    return _opened(episode, now, quantity, _id_of(episode), episode.revision + 1)


def _from_closed_hold(episode: Episode, now: _Now) -> Step:
    """Return the step from held-rejected or held-short, whose need is closed already.

    The hold only delays the opening of the next need.
    """
    if now.policy is None:
        return _idle(episode, now.inactive_reason), None
    if _is_gone(now.policy, now):
        return _idle(episode, ABOVE_REORDER_POINT), None
    sunk = (
        episode.state == SHORT
        and episode.floor_units is not None
        and now.is_due()
        and now.base_units <= episode.floor_units - now.policy.pack_units
    )
    if not sunk and not _is_over(episode, now):
        return episode, None
    if now.is_due() and not _may_order(now.policy, now):
        return episode, None
    return _from_idle(episode, now)


def _ended(episode: Episode, now: _Now) -> Step | None:
    """Return the step of the first column of domain.md 5.3 that ends or holds an open need.

    The columns are answered, not active, reject, snooze and B > s + h. They are the same for the
    states open and held-snoozed. None means that none of them applies.
    """
    if episode.id in now.trigger.answered_ids:
        return _accepted(episode, now)
    if now.policy is None:
        return _cancelled(episode, now, POLICY_OFF, now.inactive_reason)
    decision = now.trigger.decision
    if decision is not None and decision.reorder_id == episode.id:
        if decision.action == "reject":
            return _held(episode, now, decision, REJECTED)
        if decision.action == "snooze":
            return _held(episode, now, decision, SNOOZED)
    if _is_gone(now.policy, now):
        return _cancelled(episode, now, NEED_GONE, ABOVE_REORDER_POINT)
    return None


def _is_gone(policy: ItemLocation, now: _Now) -> bool:
    """Return True if B > s + h. h is `hysteresis_units`, or max(1, ceil(s,10)) if that is null."""
    slack = policy.hysteresis_units
    if slack is None:
        slack = max(1, ceil_div(now.reorder_point_units, 10))
    return now.base_units > now.reorder_point_units + slack


def _is_over(episode: Episode, now: _Now) -> bool:
    return episode.until_us is not None and now.inputs.stream_time_us >= episode.until_us


def _may_order(policy: ItemLocation, now: _Now) -> bool:
    """Return True if a need may open now.

    A periodic family needs a record that raises `reviewed_at`, on a day whose bit is set in
    `order_days_mask`. Other families may always order.
    """
    if not family_of(policy).is_periodic:
        return True
    bit = policy.order_days_mask >> weekday_of(now.inputs.stream_time_us) & 1
    return now.trigger.reviewed and bit == 1


def _is_amended(policy: ItemLocation, now: _Now, shown: int, units: int) -> bool:
    limit = limit_units(policy, now.base_units)
    if limit is not None and shown > limit:
        return True
    if abs(units - shown) < max(policy.pack_units, ceil_div(shown, 10)):
        return False
    return units < shown or _may_order(policy, now)


def _quantity(policy: ItemLocation, now: _Now) -> Quantity:
    return order_quantity(policy, now.level, now.base_units, now.inputs.rate_micro)


def _idle(episode: Episode, reason: str) -> Episode:
    if episode.state == IDLE and episode.reason == reason:
        return episode
    return Episode(
        reason=reason,
        stale_decisions=episode.stale_decisions,
        last_output=episode.last_output,
    )


def _opened(
    episode: Episode, now: _Now, quantity: Quantity, need_id: ReorderId, revision: int
) -> Step:
    output = _output(now, need_id, revision, OPEN, quantity=quantity)
    after = Episode(
        state=OPEN,
        id=need_id,
        revision=revision,
        quantity_units=quantity.units,
        stale_decisions=episode.stale_decisions,
        last_output=output,
    )
    return after, output


def _accepted(episode: Episode, now: _Now) -> Step:
    output = _output(now, _id_of(episode), episode.revision + 1, "accepted")
    if now.policy is None:
        return _idle(replace(episode, last_output=output), now.inactive_reason), output
    if not now.is_due():
        return _idle(replace(episode, last_output=output), ABOVE_REORDER_POINT), output
    return _hold(episode, now, output, SHORT, HOLD_US + now.inputs.stream_time_us), output


def _held(episode: Episode, now: _Now, decision: NeedDecision, state: str) -> Step:
    """Return the step into the hold of a reject or snooze (domain.md 5.3, 11.7).

    Until = stream time + 7 days, or for a snooze its `until_at`, at most stream time + 90 days.
    """
    stream_time_us = now.inputs.stream_time_us
    until_us = stream_time_us + HOLD_US
    if state == SNOOZED and decision.until_at_us is not None:
        until_us = min(decision.until_at_us, stream_time_us + LONGEST_HOLD_US)
    status = "snoozed" if state == SNOOZED else "rejected"
    output = _output(now, _id_of(episode), episode.revision + 1, status, reason=decision.reason)
    return _hold(episode, now, output, state, until_us), output


def _hold(episode: Episode, now: _Now, output: ReorderOutput, state: str, until_us: int) -> Episode:
    return Episode(
        state=state,
        id=output.id,
        revision=output.revision,
        until_us=until_us,
        floor_units=now.base_units,
        stale_decisions=episode.stale_decisions,
        last_output=output,
    )


def _cancelled(episode: Episode, now: _Now, code: str, idle_reason: str) -> Step:
    output = _output(now, _id_of(episode), episode.revision + 1, "cancelled", reason=code)
    return _idle(replace(episode, last_output=output), idle_reason), output


def _id_of(episode: Episode) -> ReorderId:
    if episode.id is None:
        problem = f"episode in state {episode.state} has no reorder id; only idle may have none"
        raise ValueError(problem)
    return episode.id


def _output(
    now: _Now,
    need_id: ReorderId,
    revision: int,
    status: str,
    *,
    quantity: Quantity | None = None,
    reason: str | None = None,
) -> ReorderOutput:
    """Return one revision of a need. `quantity` is None for every status but `open`."""
    inputs = now.inputs
    return ReorderOutput(
        id=need_id,
        revision=revision,
        status=status,
        quantity_units=None if quantity is None else quantity.units,
        base_position_units=now.base_units,
        reorder_point_units=now.level.reorder_point_units,
        order_up_to_units=now.level.order_up_to_units,
        flags=() if quantity is None else quantity.flags,
        reason=reason,
        terms=(
            *stock_terms(inputs.on_hand_units, inputs.on_order_units, inputs.allocated_units),
            *level_terms(inputs.policy, now.level, inputs.rate_micro, inputs.mad_micro),
            *(() if quantity is None else quantity.terms),
        ),
    )
