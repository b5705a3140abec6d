"""The transitions of a need: functions that return its next episode and output (domain.md 5.3)."""

from dataclasses import replace

from inventory.model.arithmetic import DAY_US
from inventory.model.episode import Episode
from inventory.model.ids import ReorderId
from inventory.model.outputs import ReorderOutput
from inventory.replenishment.evaluation import Evaluation
from inventory.replenishment.quantity import Quantity
from inventory.replenishment.terms import level_terms, stock_terms
from inventory.replenishment.triggers import NeedDecision

IDLE, OPEN = "idle", "open"
SNOOZED, REJECTED, SHORT = "held-snoozed", "held-rejected", "held-short"
ABOVE_REORDER_POINT = "above_reorder_point"
NOT_ORDER_DAY = "not_order_day"
NEED_GONE = "need_gone"
POLICY_OFF = "policy_off"
HOLD_US = 7 * DAY_US
LONGEST_HOLD_US = 90 * DAY_US
# The episode after a record, and the record's output if there is one.
Step = tuple[Episode, ReorderOutput | None]


def idle(episode: Episode, reason: str) -> Episode:
    """Return an idle episode. `reason` is the reason why the key has no need.

    If `episode` is already idle with this reason, return it unchanged.
    """
    if episode.state == IDLE and episode.reason == reason:
        return episode
    return Episode(
        reason=reason,
        stale_decisions=episode.stale_decisions,
        last_output=episode.last_output,
    )


def opened(
    episode: Episode, now: Evaluation, quantity: Quantity, need_id: ReorderId, revision: int
) -> Step:
    """Return the open episode of a need, and the output with the need's quantity.

    For a need that is already open or was snoozed, pass its next `revision`.
    """
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


def accepted(episode: Episode, now: Evaluation) -> Step:
    """Return the episode and output after an order answers the need.

    If the base position is still at or below the reorder point, the order was too small and the
    episode is held-short. In all other cases the episode is idle.
    """
    output = _output(now, id_of(episode), episode.revision + 1, "accepted")
    if now.policy is None:
        return idle(replace(episode, last_output=output), now.inactive_reason), output
    if not now.is_due():
        return idle(replace(episode, last_output=output), ABOVE_REORDER_POINT), output
    return _hold(episode, now, output, SHORT, HOLD_US + now.inputs.stream_time_us), output


def held(episode: Episode, now: Evaluation, decision: NeedDecision, state: str) -> Step:
    """Return the held episode and the output after a reject or snooze (domain.md 5.3, 11.7).

    The hold ends at stream time + 7 days. A snooze with `until_at` ends at that time instead, but
    no later than stream time + 90 days.
    """
    stream_time_us = now.inputs.stream_time_us
    until_us = stream_time_us + HOLD_US
    if state == SNOOZED and decision.until_at_us is not None:
        until_us = min(decision.until_at_us, stream_time_us + LONGEST_HOLD_US)
    status = "snoozed" if state == SNOOZED else "rejected"
    output = _output(now, id_of(episode), episode.revision + 1, status, reason=decision.reason)
    return _hold(episode, now, output, state, until_us), output


def _hold(
    episode: Episode, now: Evaluation, output: ReorderOutput, state: str, until_us: int
) -> Episode:
    return Episode(
        state=state,
        id=output.id,
        revision=output.revision,
        until_us=until_us,
        floor_units=now.base_units,
        stale_decisions=episode.stale_decisions,
        last_output=output,
    )


def cancelled(episode: Episode, now: Evaluation, code: str, idle_reason: str) -> Step:
    """Return an idle episode, and the output that closes a need without an order.

    `code` is the reason in the output. `idle_reason` is the reason in the returned episode.
    """
    output = _output(now, id_of(episode), episode.revision + 1, "cancelled", reason=code)
    return idle(replace(episode, last_output=output), idle_reason), output


def id_of(episode: Episode) -> ReorderId:
    """Return the id of the episode's need; raise `ValueError` if it has none."""
    if episode.id is None:
        problem = f"episode in state {episode.state} has no reorder id; only idle may have none"
        raise ValueError(problem)
    return episode.id


def _output(
    now: Evaluation,
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
