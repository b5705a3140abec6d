"""Differences between proposals and decisions, such as a missing one or a lower revision."""

import pytest

from analytics.backfill.deciding_revision import DecidingRevision, deciding_after
from analytics.backfill.decisions import (
    EXTRA,
    LOWER,
    MISSING,
    OTHER,
    OTHER_RULES,
    DecisionRevision,
    closed_before,
    differences,
    newest,
)
from analytics.verification.reorders import _missing
from inventory.model.episode import Episode
from inventory.model.ids import InvKey, Position, ReorderId
from inventory.model.policy import ItemLocation
from inventory.model.state import Count, KeyState, Stock
from inventory.revision import LOGIC_REVISION

ENDS = {3: 100}


def said(revision: int, status: str = "open", offset: int = 50) -> DecisionRevision:
    return DecisionRevision(revision, status, 3, offset)


@pytest.mark.parametrize(
    ("decision", "proposal", "rule"),
    [
        (said(2), said(2), None),
        (said(2), None, MISSING),
        (None, said(1), EXTRA),
        (None, said(1, offset=100), None),
        (said(2), said(1), LOWER),
        (said(2), said(1, offset=100), LOWER),
        (said(2), said(3), EXTRA),
        (said(2), said(3, offset=100), None),
        (said(2, "accepted"), said(2, "open"), OTHER),
        (said(2, "cancelled"), said(2, "superseded"), None),
        (said(2, "accepted"), said(2, "superseded"), OTHER),
    ],
)
def test_proposals_differ_from_decisions_only_before_the_end_offsets(
    decision, proposal, rule
) -> None:
    decided = {} if decision is None else {"R:L|S:1-2": decision}
    proposed = {} if proposal is None else {"R:L|S:1-2": proposal}

    found = [entry["rule"] for entry in differences(decided, proposed, ENDS)]

    assert found == ([] if rule is None else [rule])


def test_proposals_that_a_former_generation_closed_are_not_compared() -> None:
    proposed = {
        "R:L|S:1-2": said(2, "cancelled"),
        "P:L|S:1-4": said(1, "accepted"),
        "R:L|T:1-9": said(1),
        "R:L|S:2-0": said(1, "cancelled"),
    }

    assert closed_before(2, proposed) == {"R:L|S:1-2", "P:L|S:1-4"}


OTHERS = LOGIC_REVISION + 1
SWITCHED = DecidingRevision(LOGIC_REVISION, {3: 40}, since_us=1000)
THEIRS = DecidingRevision(OTHERS, {3: 40}, since_us=1000)


def ours(
    status: str, *, revision: int = 2, offset: int = 30, commit_us: int = 900
) -> DecisionRevision:
    return DecisionRevision(revision, status, 3, offset, commit_us)


def of_others(status: str) -> DecisionRevision:
    return DecisionRevision(4, status, 3, 30, logic_revision=OTHERS)


@pytest.mark.parametrize(
    ("deciding", "decision", "proposal", "rule"),
    [
        (SWITCHED, ours("accepted"), None, None),
        (SWITCHED, ours("accepted"), ours("superseded", revision=1), None),
        (SWITCHED, ours("accepted"), of_others("accepted"), None),
        (SWITCHED, ours("accepted"), ours("open", revision=1), LOWER),
        (SWITCHED, ours("accepted", offset=60), None, None),
        (SWITCHED, ours("accepted", offset=60, commit_us=1001), None, MISSING),
        (SWITCHED, ours("open"), None, MISSING),
        (SWITCHED, ours("open"), ours("superseded"), OTHER),
        (SWITCHED, ours("open"), ours("open"), None),
        (SWITCHED, ours("open"), of_others("superseded"), OTHER_RULES),
        (SWITCHED, None, of_others("superseded"), None),
        (SWITCHED, None, of_others("open"), EXTRA),
        (SWITCHED, None, ours("open"), EXTRA),
        (THEIRS, ours("open"), None, None),
        (THEIRS, ours("open"), ours("superseded", revision=1), None),
        (THEIRS, ours("open"), of_others("open"), None),
        (THEIRS, ours("open"), ours("open"), EXTRA),
        (THEIRS, None, of_others("open"), None),
        (THEIRS, None, ours("superseded"), EXTRA),
        (THEIRS, ours("open"), ours("superseded", revision=3), EXTRA),
    ],
)
def test_decisions_need_a_proposal_only_while_their_logic_revision_decides(
    deciding: DecidingRevision,
    decision: DecisionRevision | None,
    proposal: DecisionRevision | None,
    rule: str | None,
) -> None:
    decided = {} if decision is None else {"R:L|S:1-2": decision}
    proposed = {} if proposal is None else {"R:L|S:1-2": proposal}

    found = [entry["rule"] for entry in differences(decided, proposed, ENDS, deciding)]

    assert found == ([] if rule is None else [rule])


def test_the_newest_switch_defines_the_deciding_revision_and_its_start() -> None:
    first: tuple[int, dict[str, int], int] = (LOGIC_REVISION, {}, 100)
    other, back = (OTHERS, {"3": 20}, 500), (LOGIC_REVISION, {"3": 40}, 1000)

    assert deciding_after([], 0) == DecidingRevision(LOGIC_REVISION)
    assert deciding_after([first], 0) == DecidingRevision(LOGIC_REVISION)
    assert deciding_after([first, other, back], 50) == SWITCHED
    assert deciding_after([first, other], 600) == DecidingRevision(OTHERS)


def test_the_highest_revision_of_a_decision_counts() -> None:
    events = [("A", said(1)), ("A", said(3, "accepted")), ("A", said(2)), ("B", said(1))]

    assert newest(events) == {"A": said(3, "accepted"), "B": said(1)}


def state(on_hand: int, episode: Episode) -> KeyState:
    policy = ItemLocation(
        id=1,
        inv_key=InvKey("L|S"),
        replenish_family="sS",
        reorder_point_units=20,
        order_up_to_units=60,
    )
    stock = Stock(on_hand_units=on_hand, counts=(Count(0, 1, on_hand, "opening"),))
    return KeyState(InvKey("L|S"), Position(1, 5), stock=stock, policy=policy, episode=episode)


@pytest.mark.parametrize(
    ("on_hand", "reason", "is_missing"),
    [
        (21, "above_reorder_point", False),
        (20, "above_reorder_point", True),
        (20, "", True),
        (20, "not_order_day", False),
        (20, "limit_below_minimum", False),
    ],
)
def test_a_need_is_missing_if_the_reason_for_none_does_not_fit_the_stock(
    on_hand, reason, is_missing
) -> None:
    found = _missing(state(on_hand, Episode(reason=reason)), set(), decides=True)

    assert (found is not None) == is_missing


def test_an_open_need_without_a_proposal_is_missing() -> None:
    opened = state(5, Episode(state="open", id=ReorderId("R:L|S:1-2"), revision=1))

    assert _missing(opened, set(), decides=True) == "an open need has a proposal"
    assert _missing(opened, {"R:L|S:1-2"}, decides=True) is None
    assert _missing(opened, set(), decides=False) is None
