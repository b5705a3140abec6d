"""One need from opening to answer: the state machine of domain.md 5.3."""

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
    """The inputs of a replenishment decision after the record.

    `level` skips computing the levels. With None they are computed.
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
    """One evaluation: the record's triggers, and the levels and B after it.

    `policy` is None while the key is not active; `inactive_reason` then holds the reason.
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
        """Return s. It is read only while the key is active."""
        return self.level.reorder_point_units or 0

    def is_due(self) -> bool:
        """Return True if B ≤ s. At the reorder point an order is due."""
        return self.base_units <= self.reorder_point_units


Step = tuple[Episode, ReorderOutput | None]


def base_position_units(on_hand_units: int, on_order_units: int, allocated_units: int) -> int:
    """Return B = max(0, on-hand) + max(0, on-order) - allocated, for triggers and quantities."""
    return max(0, on_hand_units) + max(0, on_order_units) - allocated_units


def next_episode(
    key: InvKey,
    at: Position,
    episode: Episode,
    inputs: ReplenishmentInputs,
    trigger: ReplenishmentTrigger,
) -> Step:
    """Make at most one transition and one output for the record at `at`."""
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
    """Return the reason why a key can have no need, or "" for an active one."""
    if policy is None:
        return "no_policy"
    if not stock_known:
        return "stock_unknown"
    if policy.status != "active" or policy.replenish_family == OFF.code:
        return "not_replenished"
    return ""


def _after_decision(episode: Episode, now: _Now) -> Episode:
    """Return the episode after the record's decision: stale ones counted, holds ended."""
    decision = now.trigger.decision
    named = decision is not None and decision.reorder_id == episode.id
    if decision is not None and not named and decision.action != "approve":
        episode = replace(episode, stale_decisions=episode.stale_decisions + 1)
    resumed = named and decision is not None and decision.action == "resume"
    # The end is written into the state, so a hold that waits for an order day stays over.
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
    """Leave held-rejected or held-short. Its id is closed: the hold only delays the next one."""
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
    """Apply the table columns that `open` and `held-snoozed` share, in order of precedence."""
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
    """Return True if B > s + h: one sale does not bring it back to the reorder point."""
    slack = policy.hysteresis_units
    if slack is None:
        slack = max(1, ceil_div(now.reorder_point_units, 10))
    return now.base_units > now.reorder_point_units + slack


def _is_over(episode: Episode, now: _Now) -> bool:
    return episode.until_us is not None and now.inputs.stream_time_us >= episode.until_us


def _may_order(policy: ItemLocation, now: _Now) -> bool:
    """Return True unless a periodic family lacks a review on an order day."""
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
    """Start the hold of a person's decision. Only a snooze names its end."""
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
        problem = f"episode {episode.state}: only idle has no reorder id"
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
    """Return one revision. Only `open` carries a quantity, its flags and their terms."""
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
