"""The values that one evaluation of a need reads, and the conditions on them (domain.md 5)."""

from inventory.model.arithmetic import ceil_div, weekday_of
from inventory.model.episode import Episode
from inventory.model.ids import InvKey, Position
from inventory.model.policy import ItemLocation
from inventory.model.value import value
from inventory.replenishment.families import family_of
from inventory.replenishment.levels import Levels
from inventory.replenishment.quantity import Quantity, limit_units, order_quantity
from inventory.replenishment.triggers import ReplenishmentTrigger


@value
class ReplenishmentInputs:
    """The inputs of a replenishment decision: the key's state after the record.

    `level` has s and S for this policy and demand. If `level` is None, `next_episode` computes it.
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
class Evaluation:
    """The values from which the need of a key is evaluated after a record.

    `base_units` is the base position B. If the key can't have a need, `policy` is None and
    `inactive_reason` has the reason. Otherwise `inactive_reason` is "".
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
        """Return the reorder point s in units, 0 for a key without one."""
        return self.level.reorder_point_units or 0

    def is_due(self) -> bool:
        """Return True if the base position is at or below the reorder point (domain.md 5.1)."""
        return self.base_units <= self.reorder_point_units


def is_gone(policy: ItemLocation, now: Evaluation) -> bool:
    """Return True if no order is needed any more: base position B > reorder point s + h.

    h is the policy's `hysteresis_units`, or max(1, ceil(s/10)) if that is None.
    """
    slack = policy.hysteresis_units
    if slack is None:
        slack = max(1, ceil_div(now.reorder_point_units, 10))
    return now.base_units > now.reorder_point_units + slack


def is_over(episode: Episode, now: Evaluation) -> bool:
    """Return True if the episode's hold has an end and the stream time has reached it.

    A hold is the time after a snooze, a reject or an order that was too small.
    """
    return episode.until_us is not None and now.inputs.stream_time_us >= episode.until_us


def may_order(policy: ItemLocation, now: Evaluation) -> bool:
    """Return True if a need may open now.

    In a periodic family, only a record that raises the daily review mark `reviewed_at` opens a
    need, and only on an order day (a bit of `order_days_mask`). In other families, a need may
    always open.
    """
    if not family_of(policy).is_periodic:
        return True
    bit = policy.order_days_mask >> weekday_of(now.inputs.stream_time_us) & 1
    return now.trigger.reviewed and bit == 1


def is_amended(policy: ItemLocation, now: Evaluation, shown: int, units: int) -> bool:
    """Return True if the quantity of an open need changes from `shown` to `units` (domain.md 5.3).

    `shown` is the quantity that buyers see now. If `shown` is above the order limit, the quantity
    always changes. Otherwise |units - shown| must be at least max(pack, ceil(shown / 10)). In
    periodic families, an increase also waits for an order day.
    """
    limit = limit_units(policy, now.base_units)
    if limit is not None and shown > limit:
        return True
    if abs(units - shown) < max(policy.pack_units, ceil_div(shown, 10)):
        return False
    return units < shown or may_order(policy, now)


def quantity_of(policy: ItemLocation, now: Evaluation) -> Quantity:
    """Return the quantity to order now, with its flags and terms (domain.md 5.2)."""
    return order_quantity(policy, now.level, now.base_units, now.inputs.rate_micro)
