"""The gates, which block a price change for a time (domain.md 6.2).

They are the cool-down after a change, the policy's no-touch times, and the limit of one rule-made
change per key and UTC day.
"""

from inventory.model.arithmetic import HOUR_US, day_of
from inventory.model.policy import ItemLocation
from inventory.model.price_timeline import Timeline

COOLDOWN, NO_TOUCH, ONE_PER_DAY = "cooldown", "no_touch", "one_per_day"


def closed_gate(
    policy: ItemLocation, timeline: Timeline, effective_at_us: int, *, side: int
) -> str | None:
    """Return the name of the first gate that blocks a change at `effective_at_us`, or None.

    `side` is the direction of the change: `signals.UP` or `signals.DOWN`.
    """
    if _is_cooling(policy, timeline, effective_at_us, side=side):
        return COOLDOWN
    until_us, from_us = policy.no_touch_until_us, policy.no_touch_from_us
    if until_us is not None and effective_at_us < until_us:
        return NO_TOUCH
    if from_us is not None and effective_at_us >= from_us:
        return NO_TOUCH
    day = day_of(effective_at_us)
    if any(row.kind == "rule" and day_of(row.effective_from_us) == day for row in timeline):
        return ONE_PER_DAY
    return None


def _is_cooling(
    policy: ItemLocation, timeline: Timeline, effective_at_us: int, *, side: int
) -> bool:
    """Return True if the cool-down after the last price change lasts beyond `effective_at_us`.

    The last change is the last row whose kind is not `initial`, future rows included. The cool-down
    is doubled in two cases: `side` is opposite to the direction of the last change, or the last
    change was a rollback (domain.md 6.2, 11.9).
    """
    last = next((at for at in reversed(range(len(timeline))) if timeline[at].kind != "initial"), -1)
    if last < 0:
        return False
    row = timeline[last]
    moved = row.price_minor - timeline[last - 1].price_minor if last > 0 else 0
    is_turn = moved * side < 0
    rests = 2 if is_turn or row.kind == "rollback" else 1
    return effective_at_us < row.effective_from_us + rests * policy.cooldown_hours * HOUR_US
