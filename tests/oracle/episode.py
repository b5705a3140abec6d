"""The episode state machine of replenishment (5.3, 11.7), one function per state."""

from dataclasses import dataclass, replace
from typing import Any

from tests.oracle.arithmetic import DAY, ceil, weekday
from tests.oracle.columns import PERIODIC
from tests.oracle.levels import Levels, Policy, Quantity, levels_of, quantity_of


@dataclass(frozen=True)
class Episode:
    """State of the key's need; id and revision are those of the current or last need."""

    state: str = "idle"
    id: str | None = None
    revision: int = 0
    q: int | None = None
    until: int | None = None
    floor: int | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Said:
    """An output: status, quantity, flags and reason."""

    status: str
    q: int | None = None
    flags: tuple[str, ...] = ()
    reason: str | None = None


@dataclass(frozen=True)
class Event:
    """Parts of the record that the state machine needs, for example a decision."""

    new_id: str
    answers: str | None = None
    decision: dict[str, Any] | None = None
    reviewed: bool = False
    columns_changed: bool = False


@dataclass(frozen=True)
class Need:
    """The numbers of the key after the record."""

    policy: Policy | None
    stock_known: bool
    b: int
    d: int
    mad: int
    stream: int

    @property
    def levels(self) -> Levels | None:
        return None if self.policy is None else levels_of(self.policy, self.d, self.mad)

    @property
    def why_not_active(self) -> str | None:
        if self.policy is None:
            return "no_policy"
        if not self.stock_known:
            return "stock_unknown"
        if self.policy["status"] != "active" or self.policy["replenish_family"] == "off":
            return "not_replenished"
        return None


Outcome = tuple[Episode, Said | None]
IDLE_ABOVE = Episode(reason="above_reorder_point")


class Machine:
    """One evaluation: the episode before a record, the record, and the numbers after it."""

    def __init__(self, episode: Episode, event: Event, need: Need) -> None:
        self.episode, self.event, self.need = episode, event, need
        self.b, self.stream = need.b, need.stream
        levels = need.levels
        self.inactive = need.why_not_active
        if self.inactive is None and levels is not None and need.policy is not None:
            self.policy = need.policy
            self.levels = levels
            self.s = levels.s
            typed = self.policy["hysteresis_units"]
            self.h = max(1, ceil(self.s, 10)) if typed is None else typed

    def next(self) -> Outcome:
        states = {
            "idle": self.idle,
            "open": self.open,
            "held-snoozed": self.held_snoozed,
            "held-rejected": self.held_rejected,
            "held-short": self.held_short,
        }
        return states[self.episode.state]()

    # Conditions.
    def decided(self, action: str) -> bool:
        decision = self.event.decision
        if decision is None or decision["action"] != action:
            return False
        return bool(decision["reorder_id"] == self.episode.id)

    def answered(self) -> bool:
        return self.event.answers is not None and self.event.answers == self.episode.id

    def may_order_today(self) -> bool:
        if self.policy["replenish_family"] not in PERIODIC:
            return True
        allowed = self.policy["order_days_mask"] >> weekday(self.stream) & 1
        return self.event.reviewed and allowed == 1

    def quantity(self) -> Quantity:
        return quantity_of(self.policy, self.levels, self.b, self.need.d)

    def until_now(self) -> Episode:
        """Return the hold. A resume or a column that needs depend on ends it at stream time."""
        if self.event.columns_changed or self.decided("resume"):
            return replace(self.episode, until=self.stream)
        return self.episode

    # Outcomes that several states share.
    def idle_inactive(self) -> Episode:
        return Episode(reason=self.inactive)

    def hold(self, state: str, until: int | None = None) -> Episode:
        week = self.stream + 7 * DAY
        return replace(
            self.episode,
            state=state,
            q=None,
            until=week if until is None else until,
            floor=self.b,
            reason=None,
        )

    def snoozed(self) -> Outcome:
        decision = self.event.decision or {}
        until = decision["until_at"]
        if until is not None:
            until = min(until, self.stream + 90 * DAY)
        return self.hold("held-snoozed", until), Said("snoozed", reason=decision["reason"])

    def rejected(self) -> Outcome:
        decision = self.event.decision or {}
        return self.hold("held-rejected"), Said("rejected", reason=decision["reason"])

    def accepted(self) -> Outcome:
        if self.inactive is not None:
            return self.idle_inactive(), Said("accepted")
        if self.b <= self.s:
            return self.hold("held-short"), Said("accepted")
        return IDLE_ABOVE, Said("accepted")

    def open_new(self) -> Outcome:
        """Return a new need, or nothing if the order limit is below the minimum. Requires B ≤ s."""
        quantity = self.quantity()
        if quantity.q is None:
            return Episode(reason="limit_below_minimum"), None
        opened = Episode("open", self.event.new_id, 0, quantity.q)
        return opened, Said("open", quantity.q, quantity.flags)

    # One method for each row of the table of 5.3.
    def idle(self) -> Outcome:
        if self.inactive is not None:
            return self.idle_inactive(), None
        if self.b > self.s:
            return IDLE_ABOVE, None
        if not self.may_order_today():
            return Episode(reason="not_order_day"), None
        return self.open_new()

    def answered_or_gone(self) -> Outcome | None:
        """Return the outcome that `open` and `held-snoozed` share in the table of 5.3, or None."""
        if self.answered():
            return self.accepted()
        if self.inactive is not None:
            return self.idle_inactive(), Said("cancelled", reason="policy_off")
        if self.decided("reject"):
            return self.rejected()
        if self.decided("snooze"):
            return self.snoozed()
        if self.b > self.s + self.h:
            return IDLE_ABOVE, Said("cancelled", reason="need_gone")
        return None

    def cancelled_for_limit(self) -> Outcome:
        reason = "limit_below_minimum"
        return Episode(reason=reason), Said("cancelled", reason=reason)

    def open(self) -> Outcome:
        shared = self.answered_or_gone()
        if shared is not None:
            return shared
        if self.b > self.s:
            return self.episode, None
        quantity, old = self.quantity(), self.episode.q or 0
        if quantity.q is None:
            return self.cancelled_for_limit()
        step = max(self.policy["pack_units"], ceil(old, 10))
        over_limit = quantity.top is not None and old > quantity.top
        if abs(quantity.q - old) < step and not over_limit:
            return self.episode, None
        if quantity.q > old and not self.may_order_today():
            return self.episode, None
        amended = replace(self.episode, q=quantity.q)
        return amended, Said("open", quantity.q, quantity.flags)

    def held_snoozed(self) -> Outcome:
        shared = self.answered_or_gone()
        if shared is not None:
            return shared
        held = self.until_now()
        if self.stream < (held.until or 0):
            return held, None
        if self.b > self.s:
            return IDLE_ABOVE, Said("cancelled", reason="need_gone")
        quantity = self.quantity()
        if quantity.q is None:
            return self.cancelled_for_limit()
        if not self.may_order_today():
            return held, None
        resumed = replace(held, state="open", q=quantity.q, until=None, floor=None)
        return resumed, Said("open", quantity.q, quantity.flags)

    def held_rejected(self) -> Outcome:
        if self.inactive is not None:
            return self.idle_inactive(), None
        if self.b > self.s + self.h:
            return IDLE_ABOVE, None
        held = self.until_now()
        if self.stream < (held.until or 0):
            return held, None
        return self.ended(held)

    def ended(self, held: Episode) -> Outcome:
        """Return the outcome of an expired hold. Before an order day, the key stays held."""
        if self.b > self.s:
            return IDLE_ABOVE, None
        if not self.may_order_today():
            return held, None
        return self.open_new()

    def held_short(self) -> Outcome:
        if self.inactive is not None:
            return self.idle_inactive(), None
        if self.b > self.s + self.h:
            return IDLE_ABOVE, None
        held = self.until_now()
        over = self.stream >= (held.until or 0)
        if over or (self.b <= self.s and self.b <= (held.floor or 0) - self.policy["pack_units"]):
            return self.ended(held)
        return held, None


def next_episode(episode: Episode, event: Event, need: Need) -> Outcome:
    """Return at most one transition and one output. Every output raises the revision by one."""
    after, said = Machine(episode, event, need).next()
    if said is None:
        return after, None
    first = said.status == "open" and after.id == event.new_id
    revision = 1 if first else episode.revision + 1
    return replace(after, revision=revision), said
