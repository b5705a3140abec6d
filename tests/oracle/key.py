"""One key: folds a record that the partition admitted (11.1)."""

from copy import copy
from dataclasses import dataclass, field
from typing import Any

from tests.oracle import demand as demand_rules
from tests.oracle.arithmetic import DAY, EDGE, W, day, half_even, window
from tests.oracle.columns import DEMAND, POLICY, PRICE, QUANTITY, REPLENISHMENT, Row, business_times
from tests.oracle.demand import Demand, Known
from tests.oracle.effects import Effect, effect_of
from tests.oracle.episode import Episode, Event, Need, Said, next_episode
from tests.oracle.levels import Levels, levels_of
from tests.oracle.prices import Timeline, price_of, prune
from tests.oracle.pricing import Inputs, PriceEvent, PriceSaid, Proposal, next_proposal
from tests.oracle.sales import Windows, apply_lines, drop_expired, horizon_at, late_of, units_sold
from tests.oracle.stock import Count, Ledger, Movement

DEFAULTS: Row = {name: column.default for name, column in POLICY.items()}
PRICE_INPUTS = ("cost_minor", *PRICE)
NEED_INPUTS = ("status", *DEMAND, *REPLENISHMENT, *QUANTITY)


class Refused(Exception):
    """Refusal of a record by the key. The argument is the reason code."""


@dataclass(frozen=True)
class Change:
    """An admitted record whose images are within all limits."""

    offset: int
    table: str
    op: str
    key: str
    before: Row | None
    after: Row | None
    commit: int

    @property
    def images(self) -> list[Row]:
        return [image for image in (self.before, self.after) if image is not None]

    @property
    def raises_review(self) -> bool:
        if self.table != "item_location" or self.after is None or self.op not in ("c", "u"):
            return False
        new = self.after["reviewed_at"]
        old = None if self.before is None else self.before["reviewed_at"]
        return new is not None and (old is None or new > old)

    def changes(self, names: tuple[str, ...]) -> bool:
        """Return True if an update of the policy changes one of these columns."""
        if self.table != "item_location" or self.before is None or self.after is None:
            return False
        return any(self.before[name] != self.after[name] for name in names)


@dataclass
class Told:
    """The outputs of one record of the key."""

    late: tuple[int, int] = (0, 0)
    reorder: tuple[Episode, Said, str | None] | None = None
    price: PriceSaid | None = None
    numbers: dict[str, int | None] = field(default_factory=dict)


@dataclass
class Key:
    """State of one key. `apply` returns a new one or raises Refused."""

    name: str
    ledger: Ledger = field(default_factory=Ledger)
    windows: Windows = field(default_factory=dict)
    unavailable: int = 0
    on_order: int = 0
    in_transit: int = 0
    policy: Row | None = None
    mode: str = "live"
    timeline: Timeline = field(default_factory=list)
    stream: int | None = None
    final: Demand = field(default_factory=Demand)
    demand: Demand = field(default_factory=Demand)
    episode: Episode = field(default_factory=Episode)
    proposal: Proposal = field(default_factory=Proposal)

    # Numbers of section 1.
    @property
    def allocated(self) -> int:
        return 0 if self.policy is None else int(self.policy["allocated_units"])

    @property
    def stock_known(self) -> bool:
        return bool(self.ledger.counts)

    @property
    def base_position(self) -> int:
        return max(0, self.ledger.on_hand()) + max(0, self.on_order) - self.allocated

    @property
    def rate_and_mad(self) -> tuple[int | None, int | None]:
        """Return (rate, deviation), from the initial rate while there is no observation."""
        if self.demand.rate is not None:
            return self.demand.rate, self.demand.mad
        initial = None if self.policy is None else self.policy["initial_rate_micro"]
        return initial, None if initial is None else half_even(initial, 2)

    @property
    def d_and_mad(self) -> tuple[int, int]:
        rate, mad = self.rate_and_mad
        return rate or 0, mad or 0

    @property
    def levels(self) -> Levels | None:
        return None if self.policy is None else levels_of(self.policy, *self.d_and_mad)

    def printed_levels(self) -> dict[str, int | None]:
        levels = self.levels
        return {
            "B": self.base_position,
            "s": None if levels is None else levels.s,
            "S": None if levels is None else levels.upto,
        }

    def known(self) -> Known:
        return Known(self.ledger, self.windows, self.policy or DEFAULTS, self.timeline)

    # The steps of 11.1.
    def apply(self, change: Change) -> tuple["Key", Told]:
        """Return the key after the record, and the record's outputs."""
        after = copy(self)
        after.ledger, after.windows = self.ledger.copy(), dict(self.windows)
        told = Told()
        if change.op != "r":
            after.move_clock(change)
        after.refuse_a_thousand_counts(change, self.stream)
        if change.op != "r":
            after.refuse_old_counts(change)
            if abs(after.stream or 0) > EDGE:
                # Reject it here: the fold would walk day by day to a horizon far away.
                reason = "overflow"
                raise Refused(reason)
            after.fold_final_days(self)
        after.take_effect(change, told)
        first = 0 if after.stream is None else day(horizon_at(after.stream))
        after.demand = demand_rules.now(after.final, after.known(), after.stream, first)
        if change.op != "r" and after.stream is not None and after.name[0] != "~":
            after.decide(self, change, told)
        after.check_range(told)
        return after, told

    def move_clock(self, change: Change) -> None:
        if change.table == "pipeline_heartbeat":
            return
        mode = self.mode
        if change.table == "item_location" and change.after is not None:
            mode = change.after["clock_mode"]
        times = [change.commit]
        if mode == "replayed":
            times = [t for image in change.images for t in business_times(change.table, image)]
            if change.raises_review and change.after is not None:
                times.append(change.after["reviewed_at"])
        self.mode = mode
        if self.stream is not None:
            times.append(self.stream)
        self.stream = max(times, default=None)

    def refuse_a_thousand_counts(self, change: Change, since: int | None) -> None:
        """Raise Refused if the new count's day is retained and has a thousand other counts."""
        if change.after is None:
            return
        new = effect_of(change.table, change.after).count
        if new is None:
            return
        others = {c.id for c in self.ledger.counts if day(c.at) == day(new[0]) and c.id != new[1]}
        retained = since is None or new[0] >= horizon_at(since)
        if retained and len(others) >= 1000:
            reason = "limit"
            raise Refused(reason)

    def refuse_old_counts(self, change: Change) -> None:
        for image in change.images:
            count = effect_of(change.table, image).count
            if count is not None and self.stream is not None and count[0] < horizon_at(self.stream):
                reason = "count_beyond_horizon"
                raise Refused(reason)

    def fold_final_days(self, before: "Key") -> None:
        """Fold the days that pass the horizon, with the facts known before the record."""
        if self.stream is None:
            return
        first = None if before.stream is None else day(horizon_at(before.stream))
        end = day(horizon_at(self.stream))
        self.final = demand_rules.fold_final_days(self.final, before.known(), first, end)
        self.windows = drop_expired(self.windows, self.stream)

    def take_effect(self, change: Change, told: Told) -> None:
        before = self.contribute(change, change.before, -1)
        after = self.contribute(change, change.after, 1)
        told.late = late_of(before.line, after.line, self.stream)
        apply_lines(self.windows, before.line, after.line, self.stream)
        if change.table == "item_location":
            self.policy = change.after
            if change.after is not None:
                self.mode = change.after["clock_mode"]
        if change.table == "price_change" and change.after is not None:
            self.timeline = [*self.timeline, price_of(change.after)]
        self.timeline = prune(self.timeline, self.stream)

    def contribute(self, change: Change, image: Row | None, sign: int) -> Effect:
        """Add or remove the contribution of one image, and return it."""
        if image is None:
            return Effect()
        effect = effect_of(change.table, image)
        self.unavailable += sign * effect.unavailable
        self.on_order += sign * effect.on_order
        self.in_transit += sign * effect.in_transit
        if effect.movement is not None:
            at, units = effect.movement
            last = None
            if self.stream is not None:
                last = self.ledger.last_count_before(horizon_at(self.stream))
            beyond = last is not None and at <= last.at
            self.ledger.movements.append(Movement(at, sign * units, beyond))
        if effect.count is not None:
            self.change_count(Count(*effect.count), sign)
        return effect

    def change_count(self, count: Count, sign: int) -> None:
        # The before-image may never have been applied. Remove the row's count by its id (11.2).
        since = 0 if self.stream is None else horizon_at(self.stream)
        self.ledger.remove_count(count.id, since)
        if sign > 0:
            self.ledger.counts.append(count)

    def decide(self, before: "Key", change: Change, told: Told) -> None:
        """Decide replenishment, then pricing."""
        if self.stream is None:
            return
        streamed = change.op == "c"
        word = change.after if streamed and change.table == "reorder_decision" else None
        event = Event(
            new_id=f"R:{self.name}:1-{change.offset}",
            answers=answered_id(change),
            decision=word,
            reviewed=change.raises_review,
            columns_changed=change.changes(NEED_INPUTS),
        )
        b, (d, mad) = self.base_position, self.d_and_mad
        need = Need(self.policy, self.stock_known, b, d, mad, self.stream)
        was = self.episode
        self.episode, said = next_episode(was, event, need)
        if said is not None:
            spoken_of = self.episode.id if said.status == "open" else was.id
            told.reorder = (self.episode, said, spoken_of)
        told.numbers = self.printed_levels()
        self.decide_price(before, change, told)

    def decide_price(self, before: "Key", change: Change, told: Told) -> None:
        if self.stream is None:
            return
        moved = edge_of(before.stream) != edge_of(self.stream)
        inserted = change.after if change.op == "c" else None
        event = PriceEvent(
            new_id=f"P:{self.name}:1-{change.offset}",
            evaluate=change.raises_review or moved or change.changes(PRICE_INPUTS),
            price_row=inserted if change.table == "price_change" else None,
            decision=inserted if change.table == "price_decision" else None,
        )
        inputs = None if self.policy is None else self.price_inputs(self.policy, self.stream)
        self.proposal, told.price = next_proposal(
            self.proposal, event, self.policy, inputs, self.stream
        )

    def price_inputs(self, policy: Row, stream: int) -> Inputs:
        edge = window(stream - W)
        ends = range(edge - DAY + W, edge + W, W)
        return Inputs(
            policy=policy,
            timeline=self.timeline,
            on_hand=self.ledger.on_hand(),
            in_transit=self.in_transit,
            allocated=self.allocated,
            stock_known=self.stock_known,
            observed_days=self.demand.observed_days,
            quiet_windows=self.demand.quiet_windows,
            d=self.d_and_mad[0],
            sold_last_24h=units_sold(self.windows, [end - W for end in ends]),
            stream=stream,
        )

    def check_range(self, told: Told) -> None:
        """Raise Refused if a stored integer or an output exceeds the range of section 0."""
        numbers: list[Any] = [
            self.unavailable,
            self.on_order,
            self.in_transit,
            self.ledger.on_hand(),
        ]
        numbers += [self.ledger.sum_movements(), self.ledger.sum_variances(), self.ledger.shrink()]
        numbers += [number for row in self.windows.values() for number in row]
        numbers += [*self.windows, *(window(m.at) for m in self.ledger.movements)]
        numbers += [count.at for count in self.ledger.counts]
        numbers += [self.demand.p or 0, self.final.p or 0, self.demand.quiet_windows]
        numbers += [self.stream or 0, self.episode.until or 0, self.proposal.blocked_until or 0]
        numbers += [number for row in self.timeline for number in (row.at, row.price, row.step)]
        levels = self.levels
        if levels is not None:
            numbers += [levels.safety, levels.s, levels.upto or 0]
        for name, value in (self.policy or {}).items():
            if name != "recorded_at":
                numbers += value if isinstance(value, list) else [value]
        if told.price is not None:
            shown = told.price.candidate
            numbers += [shown.old, shown.new, shown.effective_at]
        if any(isinstance(number, int) and abs(number) > EDGE for number in numbers):
            reason = "overflow"
            raise Refused(reason)


def edge_of(stream: int | None) -> int | None:
    return None if stream is None else window(stream - W)


def answered_id(change: Change) -> str | None:
    """Return the reorder id that an order or transfer line carries for the first time."""
    if change.after is None or change.op not in ("c", "u"):
        return None
    row = change.after
    if change.table == "shipment_line" and row["leg"] != "transfer_in":
        return None
    if change.table not in ("purchase_order_line", "shipment_line"):
        return None
    carried = None if change.before is None else change.before["reorder_id"]
    new: Any = row["reorder_id"]
    return None if new == carried else new
