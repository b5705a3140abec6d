"""The fold: a function of a key's state and a record that returns the next state and outputs.

The steps of the fold have the same order as in domain.md 11.1:
1. Return early for a re-sent record. Check table, op, images and limits.
2. Compute the stream time that the record would set. Check counts against the horizon.
3. Move the horizon to the new stream time, with policy and prices from before the record.
4. Apply the effects to stock and windows, and learn demand.
5. Decide on needs and prices. Check the range of all results.

A rejected record leaves the state as it was, stream time included. The caller skips replayed
records, as `inventory.fold.partition` does.
"""

from dataclasses import replace
from typing import Final

from inventory.errors import COUNT_BEYOND_HORIZON, LIMIT, Rejected
from inventory.fold.clock import clock_after
from inventory.fold.decisions import base_position, decide, levels_after
from inventory.fold.demand import learn_days, rules_of
from inventory.fold.effects import approved, effects_of, touches_days_before
from inventory.fold.horizon import Passed, pass_days
from inventory.fold.sales import late_sale, with_effects
from inventory.fold.stock import after_movements, with_count, without_count
from inventory.log.dedupe import Admission
from inventory.log.validation import HEARTBEAT_TABLE, Change, validate
from inventory.model.arithmetic import day_of
from inventory.model.fact import Fact
from inventory.model.ids import InvKey, Position
from inventory.model.outputs import LateSale, Output
from inventory.model.policy import ItemLocation
from inventory.model.price_timeline import PriceRow, add_row, prune
from inventory.model.ranges import check_ranges, check_time
from inventory.model.record import Record
from inventory.model.state import KeyState, Stock, WindowRow
from inventory.model.value import value
from inventory.model.windows import has_days, retained_days
from inventory.tables.price_change import PriceChange

MOST_COUNTS_PER_DAY = 1000

_NO_ROWS: Final[tuple[int, ...]] = ()


@value
class Applied:
    """The record had its effect on the key.

    `late` has the net units and amount of those sale lines of the record that no window row
    counts, because their windows have expired. It is None if both are 0. `windows_changed` are the
    starts (µs, ascending) of the window rows that the record changed. `windows_dropped` are the
    starts of the rows that expired at the new stream time.
    """

    state: KeyState
    late: LateSale | None = None
    outputs: tuple[Output, ...] = ()
    windows_changed: tuple[int, ...] = ()
    windows_dropped: tuple[int, ...] = ()

    @property
    def verdict(self) -> str:
        """Return `applied`, the text of this verdict in histories and messages."""
        return "applied"


@value
class Resent:
    """The record is a copy of an earlier one. Only the key's position and `resent` counter change.

    `state` is None if no record of the key was applied before.
    """

    state: KeyState | None

    @property
    def verdict(self) -> str:
        """Return `resent`, the text of this verdict in histories and messages."""
        return "resent"


@value
class Replayed:
    """The key's state already includes the record's offset. The record doesn't change the state."""

    state: KeyState

    @property
    def verdict(self) -> str:
        """Return `replayed`, the text of this verdict in histories and messages."""
        return "replayed"


@value
class Refused:
    """A rule rejects the record. The key's state stays as it was, its position included.

    `reason` is one of `inventory.errors.REASONS`; `detail` shows the value found. `state` is None
    if no record of the key was applied before.
    """

    state: KeyState | None
    reason: str
    detail: str

    @property
    def verdict(self) -> str:
        """Return `rejected:` and the reason, the text in histories and messages."""
        return f"rejected:{self.reason}"


# The result of folding one record. Callers match on the four types. Each type has a `verdict`, the
# text for histories and messages.
FoldResult = Applied | Resent | Replayed | Refused


def fold(
    state: KeyState | None, record: Record, admission: Admission, generation: int
) -> FoldResult:
    """Return the result of folding `record` into `state`, the state of the record's key.

    `state` is None before the key's first record. `admission` is the dedupe ring's verdict on the
    record, and `generation` the number of the source log. The record's offset must be above the
    offset of the state's position.
    """
    at = Position(generation, record.offset)
    if admission is Admission.RESENT:
        if state is None:
            return Resent(None)
        return Resent(replace(state, position=at, resent=state.resent + 1))
    try:
        change = validate(record, admission, is_known_key=state is not None)
        before = KeyState(InvKey(record.key), at) if state is None else state
        if record.table == HEARTBEAT_TABLE:
            return Applied(replace(before, position=at))
        return _applied(before, change, record.commit_us, at)
    except Rejected as rejection:
        return Refused(state, rejection.reason, rejection.detail)


def _applied(before: KeyState, change: Change, commit_us: int, at: Position) -> Applied:
    mode, now_us = clock_after(before, change, commit_us)
    effects = effects_of(change.before, change.after)
    retained = None if now_us is None else retained_days(now_us)
    horizon_at_us = None if retained is None else retained[0]
    if not effects:
        _check_counts(before.stock, change, horizon_at_us)
    # Check the time before the loop over days: a time far out of range would mean millions of days.
    check_time(now_us)
    is_same_day = retained is None or has_days(before.stream_time_us, retained)
    passed = before if is_same_day else pass_days(before, now_us or 0)
    stock, windows, policy, timeline = passed.stock, passed.windows, before.policy, before.timeline
    changed = _NO_ROWS
    if effects:  # images of counts, policies and prices have no effects
        stock = after_movements(stock, effects, horizon_at_us)
        windows, changed = with_effects(windows, effects, horizon_at_us, now_us)
    else:
        stock, policy = _recounted(stock, windows, change), _policy_after(policy, change)
        timeline = _timeline_after(timeline, change.after)
    if timeline and now_us is not None:
        timeline = prune(timeline, now_us)
    is_past = retained is not None and touches_days_before(effects, retained[1])
    has_new_rules = policy is not before.policy or timeline is not before.timeline
    days = passed.days
    if retained and (is_past or has_new_rules or stock.counts is not passed.stock.counts):
        rules = rules_of(policy, timeline)
        days = learn_days(passed.final_demand, stock, windows, retained, rules)
    demand = days[-1].demand if days else passed.demand
    after = KeyState(  # positional arguments and one call, because each record builds a state
        before.inv_key,
        at,
        before.resent,
        mode,
        now_us,
        stock,
        windows,
        passed.final_demand,
        demand,
        timeline,
        policy,
        base_position(stock, policy),
        *levels_after(before, policy, demand),
        before.episode,
        before.price_episode,
        days,
    )
    after, outputs = decide(before, after, change)
    check_ranges(before, after, changed, outputs)
    late = late_sale(effects, horizon_at_us) if is_past and horizon_at_us is not None else None
    return Applied(after, late, outputs, changed, _dropped(before, passed))


def _dropped(before: KeyState, passed: KeyState | Passed) -> tuple[int, ...]:
    """Return the starts of the window rows that expired at the new horizon, ascending."""
    if passed.windows is before.windows:
        return _NO_ROWS
    return tuple(sorted([start for start in before.windows if start not in passed.windows]))


def _check_counts(stock: Stock, change: Change, horizon_at_us: int | None) -> None:
    """Reject approved counts before the horizon, and more than 1,000 a day (domain.md 11.4).

    Raises:
        Rejected: with reason `limit` or `count_beyond_horizon`.
    """
    old, new = approved(change.before), approved(change.after)
    if old is None and new is None:
        return
    if new is not None:
        day = day_of(new.at_us)
        others = sum(count.id != new.id and day_of(count.at_us) == day for count in stock.counts)
        if others >= MOST_COUNTS_PER_DAY:
            detail = f"{others} approved counts on day {day}, at most {MOST_COUNTS_PER_DAY}"
            raise Rejected(LIMIT, detail)
    for count in (old, new):
        if count is not None and horizon_at_us is not None and count.at_us < horizon_at_us:
            detail = f"count {count.id} of {count.at_us} is before the horizon {horizon_at_us}"
            raise Rejected(COUNT_BEYOND_HORIZON, detail)


def _recounted(stock: Stock, windows: dict[int, WindowRow], change: Change) -> Stock:
    """Return the stock after a change of a `stock_count` row. Other changes don't affect the stock.

    The row's count is removed from the state. If the after-image is an approved count, that count
    is inserted. The removed count is found by the row's id, because its units or time may differ
    from the before-image. For example, if the row's previous change was rejected, the state still
    has the count from before that change (domain.md 11.2).
    """
    old, new = approved(change.before), approved(change.after)
    for count in (old, new):
        if count is not None:
            stock = without_count(stock, windows, count.id)
    return stock if new is None else with_count(stock, windows, new)


def _policy_after(policy: ItemLocation | None, change: Change) -> ItemLocation | None:
    if isinstance(change.after, ItemLocation):
        return change.after
    return None if isinstance(change.before, ItemLocation) else policy


def _timeline_after(timeline: tuple[PriceRow, ...], fact: Fact | None) -> tuple[PriceRow, ...]:
    """Return the price rows after the record, including rows that are no longer needed."""
    return add_row(timeline, fact) if isinstance(fact, PriceChange) else timeline
