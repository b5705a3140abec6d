"""Signals, candidates and proposals of prices (section 6, 11.9)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.oracle.arithmetic import DAY, HOUR, MINUTE, W, ceil, day, floor
from tests.oracle.levels import Policy
from tests.oracle.prices import Timeline, in_force, prior_price

UP, DOWN = 1, -1
DEAREST = 10**9


@dataclass(frozen=True)
class Candidate:
    """Price that the rules would set."""

    old: int
    new: int
    step: int
    signal: str
    clamps: tuple[str, ...]
    effective_at: int
    prior: int | None


@dataclass(frozen=True)
class Inputs:
    """The numbers of the key after the record."""

    policy: Policy
    timeline: Timeline
    on_hand: int
    in_transit: int
    allocated: int
    stock_known: bool
    observed_days: int
    quiet_windows: int
    d: int
    sold_last_24h: int
    stream: int


@dataclass(frozen=True)
class Start:
    """Start of an evaluation: regular price, price and step at `effective_at`, price floor."""

    effective_at: int
    regular: int
    old: int
    k: int
    lowest: int


def floor_price(policy: Policy) -> int:
    net = ceil(policy["cost_minor"] * 1000, 1000 - policy["margin_permille"])
    return ceil(net * (10_000 + policy["tax_bp"]), 10_000)


def start_of(inputs: Inputs) -> Start:
    policy = inputs.policy
    effective_at = ceil(inputs.stream + policy["lead_minutes"] * MINUTE, W) * W
    row = in_force(inputs.timeline, effective_at)
    old, k = (policy["regular_minor"], 0) if row is None else (row.price, row.step)
    return Start(effective_at, policy["regular_minor"], old, k, floor_price(policy))


def cover_of(inputs: Inputs) -> int | None:
    """Return centidays of cover; None is unbounded."""
    supply = max(0, inputs.on_hand - inputs.allocated) + max(0, inputs.in_transit)
    return None if inputs.d == 0 else floor(supply * 10**8, inputs.d)


def signal_of(inputs: Inputs, start: Start) -> tuple[str, int, int] | None:
    """Return (signal, new step, direction) of the first signal that holds, or None."""
    policy, k = inputs.policy, start.k
    if start.old < start.lowest:
        return "below_floor", k, UP
    if not inputs.stock_known or inputs.observed_days < 14:
        return None
    cover, available = cover_of(inputs), inputs.on_hand - inputs.allocated
    centidays = 10**30 if cover is None else cover
    if is_scarce(inputs, centidays):
        return "scarce", k - 1, UP
    if available > 0 and centidays > policy["overstock_days"] * 100:
        return "overstock", k + 1, DOWN
    if available > 0 and inputs.quiet_windows >= policy["idle_days"] * policy["trading_windows"]:
        return "idle", k + 1, DOWN
    return restore_of(policy, k, centidays)


def is_scarce(inputs: Inputs, centidays: int) -> bool:
    policy, d = inputs.policy, inputs.d
    if not policy["scarce_enabled"] or d <= 0 or centidays >= policy["scarce_days"] * 100:
        return False
    return 1000 * inputs.sold_last_24h * 10**6 >= 1500 * d


def restore_of(policy: Policy, k: int, centidays: int) -> tuple[str, int, int] | None:
    if k > 0 and centidays < policy["restore_days"] * 100:
        return "restore", k - 1, UP
    return ("restore", k + 1, DOWN) if k < 0 else None


def target_of(policy: Policy, step: int) -> int | None:
    """Return the price of a step, None past the end of its ladder."""
    regular: int = policy["regular_minor"]
    if step == 0:
        return regular
    ladder = policy["ladder_permille"] if step > 0 else policy["raise_permille"]
    if abs(step) > len(ladder):
        return None
    off = ladder[abs(step) - 1]
    return floor(regular * (1000 - off if step > 0 else 1000 + off), 1000)


def is_price(e: int) -> bool:
    """Return True if a price row may have this price (section 0)."""
    return 1 <= e <= DEAREST


def is_allowed(policy: Policy, e: int) -> bool:
    endings = policy["endings"]
    return not endings or e == policy["regular_minor"] or e % 100 in endings


def smallest_allowed(policy: Policy, lowest: int) -> int | None:
    """Return the smallest allowed price ≥ `lowest`, or None. The regular price is allowed too."""
    regular: int = policy["regular_minor"]
    near = next((e for e in range(lowest, lowest + 100) if is_allowed(policy, e)), None)
    if near is None and regular >= lowest:
        return regular
    return near


def largest_allowed(policy: Policy, highest: int) -> int | None:
    regular: int = policy["regular_minor"]
    near = next((e for e in range(highest, highest - 100, -1) if is_allowed(policy, e)), None)
    if near is None and regular <= highest:
        return regular
    return near


Priced = tuple[int | None, tuple[str, ...]]


def priced_down(policy: Policy, start: Start, t: int) -> Priced:
    clamps = []
    bounds = (
        ("floor", start.lowest),
        ("max_step", start.old - floor(start.old * policy["max_step_permille"], 1000)),
        ("max_off", start.regular - floor(start.regular * policy["max_off_permille"], 1000)),
    )
    for name, bound in bounds:
        if t < bound:
            t = bound
            clamps.append(name)
    e = largest_allowed(policy, t)
    if e is not None and all(e >= bound for _, bound in bounds):
        if e < t:
            clamps.append("ending")
    else:
        clamps.append("ending_up")
        e = smallest_allowed(policy, t + 1)
    if e is None or e >= start.old or e < start.lowest:
        return None, tuple(clamps)
    return e, tuple(clamps)


def priced_up(policy: Policy, start: Start, t: int) -> Priced:
    clamps = []
    if t < start.lowest:
        t = start.lowest
        clamps.append("floor")
    ceilings = (
        ("max_step", start.old + floor(start.old * policy["max_step_permille"], 1000)),
        ("ceiling", start.regular + floor(start.regular * policy["cap_permille"], 1000)),
    )
    for name, ceiling in ceilings:
        if t > ceiling:
            t = ceiling
            clamps.append(name)
    e = largest_allowed(policy, t)
    if e is not None and e > start.old and e >= start.lowest:
        if e < t:
            clamps.append("ending")
        return e, tuple(clamps)
    clamps.append("ending_up")
    e = smallest_allowed(policy, t + 1)
    within = e is not None and all(e <= ceiling for _, ceiling in ceilings)
    if e is None or not within or e <= start.old or e < start.lowest:
        return None, tuple(clamps)
    return e, tuple(clamps)


def cooled_down(inputs: Inputs, start: Start, new: int) -> bool:
    rows = sorted(inputs.timeline)
    changes = [place for place, row in enumerate(rows) if row.kind != "initial"]
    if not changes:
        return True
    last = rows[changes[-1]]
    before = rows[changes[-1] - 1].price if changes[-1] > 0 else last.price
    turns = (last.price - before) * (new - start.old) < 0
    factor = 2 if turns or last.kind == "rollback" else 1
    wait = factor * inputs.policy["cooldown_hours"] * HOUR
    return bool(start.effective_at >= last.at + wait)


def gate_of(inputs: Inputs, start: Start, new: int) -> str | None:
    """Return the name of the gate that blocks a candidate, or None."""
    policy, at = inputs.policy, start.effective_at
    if not cooled_down(inputs, start, new):
        return "cooldown"
    until, since = policy["no_touch_until"], policy["no_touch_from"]
    if (until is not None and at < until) or (since is not None and at >= since):
        return "no_touch"
    if any(row.kind == "rule" and day(row.at) == day(at) for row in inputs.timeline):
        return "one_per_day"
    return None


def candidate_of(inputs: Inputs) -> Candidate | str:
    """Return the candidate, or the reason why there is none."""
    policy, start = inputs.policy, start_of(inputs)
    found = signal_of(inputs, start)
    if found is None:
        return "no_signal"
    signal, step, _ = found
    if signal == "below_floor":
        new = smallest_allowed(policy, start.lowest)
        if new is None or not is_price(new):
            return "floor"
        return Candidate(start.old, new, step, signal, ("floor",), start.effective_at, None)
    return gated_candidate(inputs, start, found)


def gated_candidate(inputs: Inputs, start: Start, found: tuple[str, int, int]) -> Candidate | str:
    """Return the candidate of a signal except `below_floor`, or the reason why there is none."""
    policy, (signal, step, direction) = inputs.policy, found
    target = target_of(policy, step)
    if target is None:
        return "ladder_end"
    if (target - start.old) * direction <= 0:
        return "no_change"
    pricer: Callable[[Policy, Start, int], Priced]
    pricer = priced_up if direction == UP else priced_down
    new, clamps = pricer(policy, start, target)
    if new is None or not is_price(new):
        return ",".join(clamps)
    gate = gate_of(inputs, start, new)
    if gate is not None:
        return gate
    prior = None
    if new < start.old:
        prior = prior_price(inputs.timeline, start.effective_at, policy["prior_rule"])
    return Candidate(start.old, new, step, signal, clamps, start.effective_at, prior)


@dataclass(frozen=True)
class Proposal:
    """The open proposal of a key, and the block that a decision about the last proposal left."""

    id: str | None = None
    revision: int = 0
    candidate: Candidate | None = None
    blocked_until: int | None = None


@dataclass(frozen=True)
class PriceSaid:
    """An output: the proposal's numbers with a status and a reason."""

    id: str
    revision: int
    status: str
    candidate: Candidate
    reason: str | None = None


@dataclass(frozen=True)
class PriceEvent:
    """Parts of the record that the price evaluation needs, for example a decision."""

    new_id: str
    evaluate: bool = False
    price_row: dict[str, Any] | None = None
    decision: dict[str, Any] | None = None


PriceOutcome = tuple[Proposal, PriceSaid | None]


def closed(
    was: Proposal, status: str, reason: str | None, until: int | None = None
) -> PriceOutcome:
    if was.id is None or was.candidate is None:
        message = "only an open proposal can be closed"
        raise AssertionError(message)
    said = PriceSaid(was.id, was.revision + 1, status, was.candidate, reason)
    return Proposal(blocked_until=until if until is not None else was.blocked_until), said


def is_off(policy: Policy | None) -> bool:
    if policy is None or policy["status"] != "active":
        return True
    return policy["price_mode"] == "off" or policy["regular_minor"] is None


def answer(
    was: Proposal, event: PriceEvent, policy: Policy | None, stream: int
) -> PriceOutcome | None:
    """Return the first outcome of 11.9 by which the record closes the open proposal, or None."""
    if was.candidate is None:
        return None
    if event.price_row is not None:
        if event.price_row["proposal_id"] == was.id:
            return closed(was, "accepted", None)
        return closed(was, "cancelled", "superseded")
    cooldown = stream + (0 if policy is None else policy["cooldown_hours"]) * HOUR
    word = event.decision
    if word is not None and word["proposal_id"] == was.id and word["action"] != "approve":
        if word["action"] == "reject":
            return closed(was, "rejected", word["reason"], cooldown)
        until = word["until_at"]
        return closed(was, "snoozed", word["reason"], cooldown if until is None else until)
    if is_off(policy):
        return closed(was, "cancelled", "policy_off")
    if stream >= was.candidate.effective_at + 2 * DAY:
        return closed(was, "expired", None, cooldown)
    return None


def next_proposal(
    was: Proposal, event: PriceEvent, policy: Policy | None, inputs: Inputs | None, stream: int
) -> PriceOutcome:
    """Return the next proposal, and an output or None. Without a policy, `inputs` is None."""
    answered = answer(was, event, policy, stream)
    if answered is not None:
        return answered
    if not event.evaluate or is_off(policy) or inputs is None:
        return was, None
    if was.blocked_until is not None and stream < was.blocked_until:
        return was, None
    candidate = candidate_of(inputs)
    if isinstance(candidate, str):
        return (was, None) if was.candidate is None else closed(was, "cancelled", candidate)
    if was.candidate is None or was.id is None:
        opened = Proposal(event.new_id, 1, candidate, was.blocked_until)
        return opened, PriceSaid(event.new_id, 1, "open", candidate)
    if was.candidate.new == candidate.new:
        return was, None
    amended = Proposal(was.id, was.revision + 1, candidate, was.blocked_until)
    return amended, PriceSaid(was.id, amended.revision, "open", candidate)
