"""Needs and proposals compared with the second implementation, over walks of one key.

A walk ends at the first difference, and Hypothesis shows the shortest one.
"""

from dataclasses import astuple, fields
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from inventory.model.arithmetic import DAY_US, half_even
from inventory.model.episode import IDLE, NO_PROPOSAL
from inventory.model.policy import ItemLocation
from inventory.model.price_timeline import Timeline, add_row, prune
from inventory.pricing.proposals import PricingInputs, PricingTrigger, next_proposal
from inventory.replenishment.evaluation import ReplenishmentInputs
from inventory.replenishment.levels import demand_micro
from inventory.replenishment.needs import base_position_units, next_episode
from inventory.replenishment.triggers import ReplenishmentTrigger
from tests.inventory.decision_inputs import (
    KEY,
    NOW_US,
    at,
    price_word,
    sold_recently,
    word,
    written,
)
from tests.oracle import episode as second_need
from tests.oracle import prices as second_timeline
from tests.oracle import pricing as second_price
from tests.strategies import LATER_US, ranged_items

RATES = st.none() | st.sampled_from([0, 5_000_000]) | st.integers(0, 9_000_000)
UNTIL = st.none() | st.integers(-5, 120).map(lambda days: days * DAY_US)
WORDS = st.none() | st.tuples(
    st.sampled_from(["reject", "snooze", "resume", "approve"]),
    st.booleans(),
    UNTIL,
    st.sampled_from([None, "too early"]),
)
PRICE_WORDS = st.none() | st.tuples(
    st.sampled_from(["reject", "snooze", "approve"]),
    st.booleans(),
    UNTIL,
    st.sampled_from([None, "wrong season"]),
)
NEED_STEPS = st.lists(
    st.tuples(
        st.integers(0, 3),  # index of the policy; 3 means no policy
        LATER_US,
        st.tuples(st.integers(-10, 90), st.integers(-5, 30), st.integers(0, 10)),
        st.sampled_from([True, True, True, False]),
        RATES,
        WORDS,
        st.sampled_from(["", "", "answered", "reviewed", "reviewed", "changed"]),
    ),
    max_size=20,
)
ROWS = st.none() | st.tuples(
    st.integers(-8, 8),
    st.integers(1, 1500),
    st.integers(-2, 3),
    st.sampled_from(["initial", "rule", "manual", "emergency", "rollback"]),
    st.booleans(),
)
PRICE_STEPS = st.lists(
    st.tuples(
        st.integers(0, 2),
        LATER_US,
        st.tuples(st.integers(-10, 900), st.integers(-3, 20), st.integers(0, 10)),
        st.sampled_from([13, 14, 20]),
        st.tuples(RATES, st.sampled_from([0, 5000]), st.integers(0, 30)),
        PRICE_WORDS,
        ROWS,
        st.booleans(),
    ),
    max_size=20,
)


def as_row(ranged: ItemLocation | None) -> dict[str, Any] | None:
    if ranged is None:
        return None
    columns = {column.name: getattr(ranged, column.name) for column in fields(ranged)}
    times = ("no_touch_from", "no_touch_until")
    return columns | {name: columns[f"{name}_us"] for name in times}


def spoken(said, own_id, stream):
    """Return a drawn decision in the form that both models take."""
    if said is None:
        return None
    action, names, wait, reason = said
    until = None if wait is None else stream + wait
    named = own_id if names and own_id else "other"
    return {"action": action, "until_at": until, "reason": reason, "id": named}


def my_need(episode, offset, ranged, stream, step):
    _, _, stock, known, rate, said, what = step
    heard = spoken(said, episode.id, stream)
    decision = heard and word(
        heard["action"], heard["id"], until_at_us=heard["until_at"], reason=heard["reason"]
    )
    answers = (episode.id,) if what == "answered" and episode.id else ()
    mad = None if rate is None else rate // 3
    on_hand, on_order, allocated = stock
    inputs = ReplenishmentInputs(ranged, on_hand, on_order, allocated, known, rate, mad, stream)
    trigger = ReplenishmentTrigger(answers, decision, what == "reviewed", what == "changed")
    return next_episode(KEY, at(offset), episode, inputs, trigger)


def their_need(episode, offset, ranged, stream, step):
    _, _, stock, known, rate, said, what = step
    heard = spoken(said, episode.id if episode.state != "idle" else None, stream)
    event = second_need.Event(
        f"R:{KEY}:1-{offset}",
        episode.id if what == "answered" else None,
        heard and heard | {"reorder_id": heard["id"]},
        what == "reviewed",
        what == "changed",
    )
    demand = demand_micro(ranged, rate)
    mad = half_even(demand, 2) if rate is None else rate // 3
    need = second_need.Need(as_row(ranged), known, base_position_units(*stock), demand, mad, stream)
    return second_need.next_episode(episode, event, need)


@given(st.lists(ranged_items(), min_size=3, max_size=3), NEED_STEPS)
def test_needs_agree_with_the_second_model(policies, steps):
    mine, theirs, stream = IDLE, second_need.Episode(), NOW_US
    for offset, step in enumerate(steps):
        stream += step[1]
        ranged = [*policies, None][step[0]]
        mine, output = my_need(mine, offset, ranged, stream, step)
        theirs, other = their_need(theirs, offset, ranged, stream, step)
        shown = (mine.state, mine.id, mine.quantity_units, mine.until_us, mine.reason)
        assert shown == (theirs.state, theirs.id, theirs.q, theirs.until, theirs.reason)
        said = output and (output.status, output.quantity_units, output.flags, output.reason)
        assert said == (other and astuple(other))


class Prices:
    """The timelines and proposals of both models, side by side."""

    def __init__(self):
        self.mine, self.theirs = NO_PROPOSAL, second_price.Proposal()
        self.timeline: Timeline = ()
        self.other_timeline: second_timeline.Timeline = []

    def written(self, offset, stream, drawn):
        """Add the drawn row to both timelines. Return it in the product's form, or None."""
        fact = None
        if drawn is not None:
            half_days, price, step, kind, names = drawn
            effective = stream + half_days * DAY_US // 2
            own = self.mine.id if names else None
            fact = written(effective, price, id=offset, step=step, kind=kind, proposal_id=own)
            self.timeline = add_row(self.timeline, fact)
            row = second_timeline.Price(effective, offset, price, step, kind)
            self.other_timeline = [*self.other_timeline, row]
        self.timeline = prune(self.timeline, stream)
        self.other_timeline = second_timeline.prune(self.other_timeline, stream)
        return fact

    def step(self, offset, ranged, stream, step):
        _, _, stock, days, (rate, quiet, sold), said, drawn, evaluate = step
        heard = spoken(said, self.mine.id, stream)
        fact = self.written(offset, stream, drawn)
        decision = heard and price_word(
            heard["action"], heard["id"], until_at_us=heard["until_at"], reason=heard["reason"]
        )
        on_hand, in_transit, allocated = stock
        known = (on_hand, in_transit, allocated, True, days, quiet)
        self.mine, output = next_proposal(
            KEY,
            at(offset),
            self.mine,
            PricingInputs(ranged, self.timeline, *known, rate, sold_recently(sold), stream),
            PricingTrigger(evaluate, fact, decision),
        )
        event = second_price.PriceEvent(
            f"P:{KEY}:1-{offset}",
            evaluate,
            fact and {"proposal_id": fact.proposal_id},
            heard and heard | {"proposal_id": heard["id"]},
        )
        row, demand = as_row(ranged) or {}, demand_micro(ranged, rate)
        inputs = second_price.Inputs(row, self.other_timeline, *known, demand, sold, stream)
        self.theirs, other = second_price.next_proposal(self.theirs, event, row, inputs, stream)
        return output, other


def proposed(output):
    return output and (
        (output.id, output.revision, output.status, output.reason),
        (output.old_minor, output.new_minor, output.step, output.signal, output.clamps),
        (output.effective_at_us, output.prior_minor),
    )


def other_proposed(said):
    price = said and said.candidate
    return said and (
        (said.id, said.revision, said.status, said.reason),
        (price.old, price.new, price.step, price.signal, price.clamps),
        (price.effective_at, price.prior),
    )


@given(st.lists(ranged_items(), min_size=3, max_size=3), PRICE_STEPS)
def test_proposals_agree_with_the_second_model(policies, steps):
    prices, stream = Prices(), NOW_US
    for offset, step in enumerate(steps):
        stream += step[1]
        output, other = prices.step(offset, policies[step[0]], stream, step)
        kept = [astuple(row) for row in prices.timeline]
        assert kept == [tuple(row) for row in prices.other_timeline]
        assert prices.mine.id == prices.theirs.id
        assert proposed(output) == other_proposed(other)
