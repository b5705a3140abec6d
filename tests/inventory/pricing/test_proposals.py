"""States of a price proposal, domain.md 6.3 and 11.9: precedence, closings, blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.model.arithmetic import DAY_US, HOUR_US
from inventory.model.episode import NO_PROPOSAL, PriceEpisode
from inventory.model.ids import ProposalId
from inventory.pricing.proposals import PricingTrigger, next_proposal
from tests.inventory.decision_inputs import (
    KEY,
    NOW_US,
    at,
    market,
    price_word,
    priced,
    row,
    written,
)

WEEK_US = 168 * HOUR_US
START_US = NOW_US + HOUR_US
EFFECTIVE_US = NOW_US + HOUR_US + HOUR_US // 2
MINE = "P:L|S:1-1"
BUSY = {"rate_micro": 50_000_000}


class Key:
    """The price proposal of a key after each record. The first record opens a proposal of 849."""

    def __init__(self, ranged=None):
        self.ranged = ranged or priced()
        self.proposal = NO_PROPOSAL

    def record(self, offset, *, later_us=0, ranged=..., inputs=None, **trigger):
        used = self.ranged if ranged is ... else ranged
        found = {"stream_time_us": START_US + later_us} | (inputs or {})
        self.proposal, output = next_proposal(
            KEY,
            at(offset),
            self.proposal,
            market(used, **({"old": 999} | found)),
            PricingTrigger(**trigger),
        )
        if output is None:
            return None
        return output.id, output.revision, output.status, output.new_minor, output.reason

    def output(self):
        assert self.proposal.last_output is not None
        return self.proposal.last_output


def opened():
    key = Key()
    assert key.record(1, evaluate=True) == (MINE, 1, "open", 849, None)
    assert key.output().effective_at_us == EFFECTIVE_US
    return key


def test_nothing_is_proposed_between_evaluations():
    assert Key().record(1) is None


def test_a_repeated_evaluation_with_the_same_price_has_no_output():
    key = opened()
    before = key.proposal
    assert key.record(2, later_us=DAY_US, evaluate=True) is None
    assert key.proposal == before


def test_a_new_price_amends_the_open_proposal_with_a_later_effective_time():
    key = opened()
    wider = priced(ladder_permille=(190, 300), endings=())
    assert key.record(2, later_us=HOUR_US, ranged=wider, evaluate=True) == (
        MINE,
        2,
        "open",
        809,
        None,
    )
    assert key.output().effective_at_us == EFFECTIVE_US + HOUR_US


@pytest.mark.domain("11.9 Reasons")
@pytest.mark.parametrize(
    ("ranged", "inputs", "reason"),
    [
        (..., BUSY, "no_signal"),
        (..., {"stock_known": False}, "no_signal"),
        (priced(ladder_permille=()), {}, "ladder_end"),
        (priced(ladder_permille=(0,)), {}, "no_change"),
        (priced(no_touch_from_us=0), {}, "no_touch"),
        (priced(max_step_permille=0), {}, "max_step"),
        (priced(max_step_permille=10, endings=(49,)), {}, "max_step,ending_up"),
        (..., {"timeline": (row(NOW_US, 999),)}, "cooldown"),
        (
            priced(cooldown_hours=0),
            {"timeline": (row(NOW_US, 999, kind="rule"),)},
            "one_per_day",
        ),
    ],
)
def test_an_evaluation_without_a_candidate_cancels_the_open_proposal(ranged, inputs, reason):
    key = opened()
    assert key.record(2, ranged=ranged, inputs=inputs, evaluate=True) == (
        MINE,
        2,
        "cancelled",
        849,
        reason,
    )
    assert (key.proposal.id, key.proposal.blocked_until_us) == (None, None)
    assert key.record(3, evaluate=True) == ("P:L|S:1-3", 1, "open", 849, None)


def test_an_evaluation_without_a_candidate_stores_its_reason():
    key = Key()
    assert key.record(1, inputs=BUSY, evaluate=True) is None
    assert key.proposal.reason == "no_signal"
    before = key.proposal
    assert key.record(2, inputs=BUSY, evaluate=True) is None
    assert key.proposal is before


def test_below_floor_passes_every_gate():
    blocked = priced(cost_minor=800, no_touch_from_us=0)
    key = Key(blocked)
    timeline = (row(NOW_US, 999, kind="rule"),)
    assert key.record(1, inputs={"timeline": timeline}, evaluate=True)[3] == 1249


def test_a_price_row_with_the_proposal_id_accepts_the_proposal():
    key = opened()
    mine = written(EFFECTIVE_US, 849, proposal_id=MINE)
    assert key.record(2, price_row=mine, evaluate=True) == (MINE, 2, "accepted", 849, None)
    assert (key.proposal.id, key.proposal.proposal_price_minor) == (None, None)


@pytest.mark.domain("11.9 Reasons")
@pytest.mark.parametrize("other", [None, "P:L|S:1-0"])
def test_a_price_row_without_this_proposal_id_supersedes_the_proposal(other):
    key = opened()
    assert key.record(2, ranged=None, price_row=written(1, 5, proposal_id=other)) == (
        MINE,
        2,
        "cancelled",
        849,
        "superseded",
    )


def test_a_price_row_without_an_open_proposal_closes_nothing():
    key = Key()
    assert key.record(1, price_row=written(1, 5), evaluate=True)[2] == "open"


@pytest.mark.domain("11.9 Off")
@pytest.mark.parametrize(
    "off",
    [
        None,
        priced(price_mode="off"),
        priced(status="inactive"),
        priced(regular_minor=None),
    ],
)
def test_a_missing_or_disabled_price_policy_cancels_the_open_proposal(off):
    key = opened()
    assert key.record(2, ranged=off) == (MINE, 2, "cancelled", 849, "policy_off")
    assert key.record(3, ranged=off, evaluate=True) is None


def test_unknown_stock_alone_cancels_nothing_between_evaluations():
    key = opened()
    assert key.record(2, inputs={"stock_known": False}) is None


@pytest.mark.domain("11.9 One output", "11.9 Blocks")
@pytest.mark.parametrize(("beyond", "status"), [(-1, None), (0, "expired")])
def test_a_proposal_expires_two_days_after_its_effective_time(beyond, status):
    key = opened()
    after_us = EFFECTIVE_US + 48 * HOUR_US - START_US + beyond
    said = key.record(2, later_us=after_us)
    assert (said and said[2]) == status
    if status:
        assert key.proposal.blocked_until_us == START_US + after_us + WEEK_US


@pytest.mark.domain("11.9 Blocks")
@pytest.mark.parametrize(("rest", "opens"), [(WEEK_US - 1, False), (WEEK_US, True)])
def test_a_reject_blocks_every_signal_for_one_cooldown(rest, opens):
    for ranged in (priced(), priced(cost_minor=800)):
        key = opened()
        no = price_word("reject", MINE, reason="season")
        assert key.record(2, decision=no) == (MINE, 2, "rejected", 849, "season")
        assert (key.record(3, later_us=rest, ranged=ranged, evaluate=True) is not None) is opens


@pytest.mark.domain("11.9 Blocks")
@pytest.mark.parametrize(
    ("until", "blocked"), [(START_US + 5, START_US + 5), (None, START_US + WEEK_US)]
)
def test_a_snooze_blocks_proposals_until_its_end_or_for_one_cooldown(until, blocked):
    key = opened()
    later = price_word("snooze", MINE, until_at_us=until)
    assert key.record(2, decision=later) == (MINE, 2, "snoozed", 849, None)
    assert key.proposal.blocked_until_us == blocked
    assert key.record(3, later_us=blocked - START_US - 1, evaluate=True) is None
    assert key.proposal.reason == "blocked"
    assert key.record(4, later_us=blocked - START_US, evaluate=True) is not None


def test_a_reject_of_another_proposal_is_stale_and_approvals_change_nothing():
    key = opened()
    assert key.record(2, decision=price_word("reject", "P:other")) is None
    assert key.record(3, decision=price_word("approve", "P:other")) is None
    assert key.record(4, decision=price_word("approve", MINE)) is None
    assert key.proposal.stale_decisions == 1


@pytest.mark.domain("11.9 One output")
def test_a_decision_takes_precedence_over_policy_off_and_expiry():
    key = opened()
    assert key.record(2, ranged=None, decision=price_word("reject", MINE))[2] == "rejected"
    key = opened()
    no = price_word("reject", MINE)
    assert key.record(2, later_us=9 * DAY_US, decision=no)[2] == "rejected"
    key = opened()
    assert key.record(2, later_us=9 * DAY_US, ranged=None)[4] == "policy_off"


@pytest.mark.domain("11.9 One output")
def test_a_record_that_closes_a_proposal_opens_no_other():
    key = opened()
    assert key.record(2, later_us=9 * DAY_US, evaluate=True)[2] == "expired"
    assert key.proposal.id is None


@pytest.mark.domain("11.9 In force")
def test_the_old_price_of_a_proposal_is_the_scheduled_price():
    key = Key(priced(cooldown_hours=0))
    scheduled = (row(NOW_US - 99 * DAY_US, 999), row(EFFECTIVE_US, 849, id=2, step=1))
    assert key.record(1, inputs={"timeline": scheduled}, evaluate=True)[3] == 749 + 50
    assert key.output().old_minor == 849
    assert key.output().step == 2


def test_an_open_proposal_without_an_output_is_a_defect():
    broken = PriceEpisode(id=ProposalId("P:x"), revision=1)
    with pytest.raises(ValueError, match="has no last output"):
        next_proposal(
            KEY, at(2), broken, market(priced(), old=999, **BUSY), PricingTrigger(evaluate=True)
        )


@st.composite
def price_policies(draw):
    """Draw policies whose bounds lie close together, so that each bound applies now and then."""
    regular = draw(st.integers(500, 3000))
    return priced(
        regular_minor=regular,
        cost_minor=regular * draw(st.sampled_from([100, 500, 700, 800])) // 1000,
        margin_permille=draw(st.integers(0, 150)),
        tax_bp=draw(st.integers(0, 1000)),
        ladder_permille=tuple(draw(st.lists(st.integers(100, 600), min_size=2, max_size=4))),
        raise_permille=tuple(draw(st.lists(st.integers(50, 300), min_size=1, max_size=3))),
        endings=tuple(draw(st.lists(st.integers(0, 99), max_size=3))),
        max_step_permille=draw(st.sampled_from([50, 200, 1000])),
        max_off_permille=draw(st.sampled_from([200, 500, 1000])),
        cap_permille=draw(st.sampled_from([0, 40, 100])),
        scarce_enabled=draw(st.sampled_from([True, True, False])),
    )


@pytest.mark.domain("9 W13 *")
@given(
    price_policies(),
    st.sampled_from([1000, 1000, 850, 700, 1050]),
    st.sampled_from([0, 0, 1, -1, 2]),
    st.sampled_from([3, 40, 400]),
    st.sampled_from([0, 500_000, 5_000_000, 60_000_000]),
)
def test_w13_a_price_stays_within_floor_step_total_and_ceiling(
    ranged, old_permille, step, on_hand, rate
):
    old = ranged.regular_minor * old_permille // 1000
    inputs = market(
        ranged,
        old=old,
        step=step,
        on_hand_units=on_hand,
        rate_micro=rate,
        sold_last_24h_units=rate // 500_000,
    )
    trigger = PricingTrigger(evaluate=True)
    proposal, output = next_proposal(KEY, at(1), NO_PROPOSAL, inputs, trigger)
    if output is None:
        assert proposal.reason
        return
    again, silence = next_proposal(KEY, at(2), proposal, inputs, trigger)
    assert (again, silence) == (proposal, None)
    new, regular = output.new_minor, output.regular_minor
    assert new >= output.floor_minor
    assert new != old
    assert not ranged.endings or new % 100 in ranged.endings or new == regular
    if output.signal == "below_floor":
        return
    assert abs(new - old) * 1000 <= old * ranged.max_step_permille
    if new < old:
        assert (regular - new) * 1000 <= regular * ranged.max_off_permille
    else:
        assert (new - regular) * 1000 <= regular * ranged.cap_permille


@pytest.mark.domain("9 W13 *")
@given(
    st.lists(st.tuples(st.integers(-40, 40), st.sampled_from(["rule", "manual"])), max_size=4),
    st.integers(0, 24),
)
def test_w13_the_rule_changes_a_price_once_a_day(changes, hour):
    timeline = tuple(
        row(NOW_US + hours * HOUR_US, 999, id=number, kind=kind)
        for number, (hours, kind) in enumerate(sorted(changes))
    )
    inputs = market(
        priced(cooldown_hours=0),
        old=999,
        timeline=timeline,
        stream_time_us=NOW_US + hour * HOUR_US,
    )
    _, output = next_proposal(KEY, at(1), NO_PROPOSAL, inputs, PricingTrigger(evaluate=True))
    if output is not None:
        ruled = [one.effective_from_us // DAY_US for one in timeline if one.kind == "rule"]
        assert output.effective_at_us // DAY_US not in ruled
