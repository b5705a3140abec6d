"""The state machine of a need, from its opening to its answer (domain.md 5.3)."""

from dataclasses import replace

from inventory.model.episode import Episode
from inventory.model.ids import InvKey, Position, reorder_id
from inventory.model.policy import ItemLocation
from inventory.replenishment.evaluation import (
    Evaluation,
    ReplenishmentInputs,
    is_amended,
    is_gone,
    is_over,
    may_order,
    quantity_of,
)
from inventory.replenishment.families import OFF
from inventory.replenishment.levels import levels
from inventory.replenishment.quantity import LIMIT_BELOW_MINIMUM, order_units
from inventory.replenishment.transitions import (
    ABOVE_REORDER_POINT,
    NEED_GONE,
    NOT_ORDER_DAY,
    POLICY_OFF,
    REJECTED,
    SHORT,
    SNOOZED,
    Step,
    accepted,
    cancelled,
    held,
    id_of,
    idle,
    opened,
)
from inventory.replenishment.triggers import ReplenishmentTrigger


def base_position_units(on_hand_units: int, on_order_units: int, allocated_units: int) -> int:
    """Return the base position B = max(0, on-hand) + max(0, on-order) - allocated."""
    return max(0, on_hand_units) + max(0, on_order_units) - allocated_units


def next_episode(
    key: InvKey,
    at: Position,
    episode: Episode,
    inputs: ReplenishmentInputs,
    trigger: ReplenishmentTrigger,
) -> Step:
    """Return the episode (state of the key's need) after the record at `at`, and its output.

    There is at most one transition (domain.md 5.3). For most records, the output is None.
    """
    inactive = inactive_reason(inputs.policy, stock_known=inputs.stock_known)
    level = inputs.level
    if level is None:
        level = levels(inputs.policy, inputs.rate_micro, inputs.mad_micro)
    now = Evaluation(
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
    """Return the first reason why the key can have no need, or "" if it can (domain.md 11.7)."""
    if policy is None:
        return "no_policy"
    if not stock_known:
        return "stock_unknown"
    if policy.status != "active" or policy.replenish_family == OFF.code:
        return "not_replenished"
    return ""


def _after_decision(episode: Episode, now: Evaluation) -> Episode:
    """Return the episode after a decision row or changed columns, before any transition.

    A `reorder_decision` row that names another need counts as a stale decision, unless its action
    is `approve`. If a row resumes the episode's own need, or the record changed a replenishment
    column, a hold ends: `until_us` becomes the stream time.
    """
    decision = now.trigger.decision
    named = decision is not None and decision.reorder_id == episode.id
    if decision is not None and not named and decision.action != "approve":
        episode = replace(episode, stale_decisions=episode.stale_decisions + 1)
    resumed = named and decision is not None and decision.action == "resume"
    # The new end is stored, so the hold doesn't begin again while the key waits for an order day.
    if episode.until_us is not None and (resumed or now.trigger.columns_changed):
        return replace(episode, until_us=now.inputs.stream_time_us)
    return episode


def _from_idle(episode: Episode, now: Evaluation) -> Step:
    if now.policy is None:
        return idle(episode, now.inactive_reason), None
    if not now.is_due():
        return idle(episode, ABOVE_REORDER_POINT), None
    # Check the order day before the quantity. If both prevent a need, the reason is the order day,
    # because it comes first in domain.md (5.1, 5.2).
    if not may_order(now.policy, now):
        return idle(episode, NOT_ORDER_DAY), None
    quantity = quantity_of(now.policy, now)
    if quantity.units is None:
        return idle(episode, LIMIT_BELOW_MINIMUM), None
    return opened(episode, now, quantity, reorder_id(now.key, now.at), 1)


def _from_open(episode: Episode, now: Evaluation) -> Step:
    ended = _ended(episode, now)
    if ended is not None:
        return ended
    if now.policy is None or not now.is_due():
        return episode, None
    units = order_units(now.policy, now.level, now.base_units)
    if units is None:
        return cancelled(episode, now, LIMIT_BELOW_MINIMUM, LIMIT_BELOW_MINIMUM)
    if not is_amended(now.policy, now, episode.quantity_units or 0, units):
        return episode, None
    quantity = quantity_of(now.policy, now)
    return opened(episode, now, quantity, id_of(episode), episode.revision + 1)


def _from_snoozed(episode: Episode, now: Evaluation) -> Step:
    ended = _ended(episode, now)
    if ended is not None:
        return ended
    if now.policy is None or not is_over(episode, now):
        return episode, None
    if not now.is_due():
        return cancelled(episode, now, NEED_GONE, ABOVE_REORDER_POINT)
    quantity = quantity_of(now.policy, now)
    if quantity.units is None:  # cancelling never waits for an order day
        return cancelled(episode, now, LIMIT_BELOW_MINIMUM, LIMIT_BELOW_MINIMUM)
    if not may_order(now.policy, now):
        return episode, None
    return opened(episode, now, quantity, id_of(episode), episode.revision + 1)


def _from_closed_hold(episode: Episode, now: Evaluation) -> Step:
    """Return episode and output after a record, if the episode was held-rejected or held-short.

    In these states (domain.md 5.3), a person rejected the need or ordered too few units. The need
    of the episode is closed already. The hold only delays the opening of the next need.
    """
    if now.policy is None:
        return idle(episode, now.inactive_reason), None
    if is_gone(now.policy, now):
        return idle(episode, ABOVE_REORDER_POINT), None
    sunk = (
        episode.state == SHORT
        and episode.floor_units is not None
        and now.is_due()
        and now.base_units <= episode.floor_units - now.policy.pack_units
    )
    if not sunk and not is_over(episode, now):
        return episode, None
    if now.is_due() and not may_order(now.policy, now):
        return episode, None
    return _from_idle(episode, now)


def _ended(episode: Episode, now: Evaluation) -> Step | None:
    """Return the episode and output after a record that ends or holds the need, otherwise None.

    The first of these columns of the table in domain.md 5.3 that applies decides: answered, not
    active, reject, snooze, B > s + h. They are the same for the states open and held-snoozed.
    """
    if episode.id in now.trigger.answered_ids:
        return accepted(episode, now)
    if now.policy is None:
        return cancelled(episode, now, POLICY_OFF, now.inactive_reason)
    decision = now.trigger.decision
    if decision is not None and decision.reorder_id == episode.id:
        if decision.action == "reject":
            return held(episode, now, decision, REJECTED)
        if decision.action == "snooze":
            return held(episode, now, decision, SNOOZED)
    if is_gone(now.policy, now):
        return cancelled(episode, now, NEED_GONE, ABOVE_REORDER_POINT)
    return None
