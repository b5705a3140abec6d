"""The stream time of a key, which its records determine, never a clock (domain.md 3.1, 11.3)."""

from inventory.log.validation import Change
from inventory.model.fact import Fact
from inventory.model.policy import ItemLocation
from inventory.model.state import KeyState

REPLAYED = "replayed"


def clock_after(state: KeyState, change: Change, commit_us: int) -> tuple[str, int | None]:
    """Return the clock mode and the stream time (µs since 1970 UTC, or None) after the record.

    Mode `live`: max(old stream time, `commit_us`). Mode `replayed`: the greatest of the old stream
    time, the business times of both images, and `reviewed_at` if the record raises it. A row of
    Debezium's snapshot (op `r`) leaves the stream time unchanged. None means that no record of the
    key has set a stream time yet.
    """
    after = change.after
    mode = after.clock_mode if isinstance(after, ItemLocation) else state.clock_mode
    old_us = state.stream_time_us
    if change.op == "r":
        return mode, old_us
    if mode != REPLAYED:
        return mode, commit_us if old_us is None or commit_us > old_us else old_us
    times = () if after is None else after.business_times()
    if change.before is not None:
        times += change.before.business_times()
    if isinstance(after, ItemLocation):
        times += _raised_review(change)
    if old_us is None:
        return mode, max(times, default=None)
    return mode, max((*times, old_us))


def raises_review(before: Fact | None, after: Fact | None) -> bool:
    """Return True if the change raises a policy's `reviewed_at` or sets it for the first time.

    A process sets this column once per day, to start the rules that depend on the day. An inserted
    policy with `reviewed_at` counts, too.
    """
    if not isinstance(after, ItemLocation) or after.reviewed_at_us is None:
        return False
    if not isinstance(before, ItemLocation) or before.reviewed_at_us is None:
        return True
    return after.reviewed_at_us > before.reviewed_at_us


def _raised_review(change: Change) -> tuple[int, ...]:
    after = change.after
    if not isinstance(after, ItemLocation) or after.reviewed_at_us is None:
        return ()
    return (after.reviewed_at_us,) if raises_review(change.before, after) else ()
