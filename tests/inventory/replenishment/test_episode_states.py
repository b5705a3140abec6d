"""Every cell of the state machine of domain.md 5.3, and both sides of its boundaries."""

import pytest

from inventory.model.arithmetic import DAY_US
from inventory.replenishment.needs import base_position_units, next_episode
from inventory.replenishment.triggers import ReplenishmentTrigger
from tests.inventory.decision_inputs import KEY, NOW_US, at, policy, stock, word
from tests.inventory.replenishment.test_episode_table import FIRST, RANGED, Key

WEEK_US = 7 * DAY_US
OFF = policy(replenish_family="off")
SMALL = policy(reorder_point_units=20, order_up_to_units=60, pack_units=6, max_order_units=5)


def open_key():
    key = Key()
    key.record(2, 20)
    return key


def held_key(state):
    """Return a key whose hold `state` began at B = 20. A snooze lasts two days."""
    key = open_key()
    if state == "held-short":
        key.record(3, 20, answered_ids=(FIRST,))
    elif state == "held-rejected":
        key.record(3, 20, decision=word("reject", FIRST, reason="too early"))
    else:
        key.record(3, 20, decision=word("snooze", FIRST, until_at_us=NOW_US + 2 * DAY_US))
    assert key.episode.state == state
    return key


HOLDS = ("held-snoozed", "held-rejected", "held-short")
CLOSED_HOLDS = ("held-rejected", "held-short")


def test_base_position_counts_negative_stock_and_orders_as_zero():
    assert base_position_units(-5, -3, 4) == -4
    assert base_position_units(7, 3, 4) == 6


@pytest.mark.domain("5.3 cell idle × not active", "11.7 Not active")
@pytest.mark.parametrize(
    ("ranged", "known", "reason"),
    [
        (None, False, "no_policy"),
        (RANGED, False, "stock_unknown"),
        (OFF, False, "stock_unknown"),
        (OFF, True, "not_replenished"),
        (policy(status="exit", order_up_to_units=9), True, "not_replenished"),
    ],
)
def test_an_inactive_key_is_idle_with_the_first_reason_that_applies(ranged, known, reason):
    key = Key()
    assert key.record(1, 0, ranged=ranged, known=known) == (("idle", None), None)
    assert key.episode.reason == reason


@pytest.mark.domain("5.3 cell idle × B > s+h", "5.3 cell idle × s < B ≤ s+h")
@pytest.mark.parametrize("base", [21, 22, 23])
def test_an_idle_key_above_its_reorder_point_opens_no_need(base):
    key = Key()
    assert key.record(1, base) == (("idle", None), None)
    assert key.episode.reason == "above_reorder_point"


@pytest.mark.domain("5.3 cell idle × B ≤ s", "11.7 Reason of idle")
def test_a_key_with_an_order_limit_below_the_minimum_stays_idle():
    key = Key(SMALL)
    assert key.record(1, 20) == (("idle", None), None)
    assert key.episode.reason == "limit_below_minimum"


def test_an_unchanged_idle_episode_is_the_same_object():
    key = Key()
    key.record(1, 30)
    before = key.episode
    key.record(2, 29)
    assert key.episode is before


@pytest.mark.domain("5.3 cell open × answered", "5.3 cell held-snoozed × answered", "11.7 Outputs")
@pytest.mark.parametrize(
    ("base", "after", "idle_reason"),
    [(20, "held-short", None), (21, "idle", "above_reorder_point")],
)
@pytest.mark.parametrize("start", ["open", "held-snoozed"])
def test_an_order_accepts_the_need_and_starts_a_hold_if_it_is_too_small(
    start, base, after, idle_reason
):
    key = open_key() if start == "open" else held_key(start)
    key.record(5, base, answered_ids=("R:other", FIRST))
    assert key.outputs[-1].status == "accepted"
    assert key.outputs[-1].flags == ()
    assert key.episode.state == after
    assert key.episode.reason == idle_reason
    if after == "held-short":
        assert key.episode.until_us == NOW_US + WEEK_US
        assert key.episode.floor_units == base
        assert key.episode.id == FIRST


@pytest.mark.domain("5.3 cell open × answered", "11.7 Not active", "11.7 Outputs")
@pytest.mark.parametrize("start", ["open", "held-snoozed"])
def test_an_order_for_an_inactive_key_accepts_the_need_and_sets_an_idle_reason(start):
    key = open_key() if start == "open" else held_key(start)
    key.record(5, 10, ranged=None, answered_ids=(FIRST,))
    assert key.outputs[-1].status == "accepted"
    assert (key.outputs[-1].reorder_point_units, key.outputs[-1].order_up_to_units) == (None, None)
    assert (key.episode.state, key.episode.reason) == ("idle", "no_policy")


@pytest.mark.domain(
    "5.3 cell open × not active", "5.3 cell held-snoozed × not active", "11.7 Reason of idle"
)
@pytest.mark.parametrize("start", ["open", "held-snoozed"])
def test_a_policy_set_to_off_cancels_an_open_or_snoozed_need(start):
    key = open_key() if start == "open" else held_key(start)
    key.record(5, 10, ranged=OFF)
    assert (key.outputs[-1].status, key.outputs[-1].reason) == ("cancelled", "policy_off")
    assert (key.episode.state, key.episode.reason) == ("idle", "not_replenished")


@pytest.mark.domain("5.3 cell held-rejected × not active", "5.3 cell held-short × not active")
@pytest.mark.parametrize("state", CLOSED_HOLDS)
def test_unknown_stock_ends_a_rejected_or_short_hold_without_output(state):
    key = held_key(state)
    assert key.record(5, 10, known=False) == (("idle", None), None)
    assert key.episode.reason == "stock_unknown"


@pytest.mark.domain("5.3 cell open × reject", "5.3 cell held-snoozed × reject", "11.7 Outputs")
@pytest.mark.parametrize("start", ["open", "held-snoozed"])
def test_a_reject_closes_the_need_and_starts_a_hold_of_one_week(start):
    key = open_key() if start == "open" else held_key(start)
    key.record(5, 40, decision=word("reject", FIRST, reason="no shelf", until_at_us=1))
    assert (key.outputs[-1].status, key.outputs[-1].reason) == ("rejected", "no shelf")
    assert (key.episode.state, key.episode.until_us) == ("held-rejected", NOW_US + WEEK_US)


@pytest.mark.domain("5.3 cell open × snooze", "5.3 cell held-snoozed × snooze", "11.7 Until")
@pytest.mark.parametrize(
    ("until", "expected"),
    [
        (None, NOW_US + WEEK_US),
        (NOW_US - 1, NOW_US - 1),
        (NOW_US + 90 * DAY_US, NOW_US + 90 * DAY_US),
        (NOW_US + 90 * DAY_US + 1, NOW_US + 90 * DAY_US),
    ],
)
@pytest.mark.parametrize("start", ["open", "held-snoozed"])
def test_a_snooze_lasts_until_its_given_end_but_at_most_ninety_days(start, until, expected):
    key = open_key() if start == "open" else held_key(start)
    key.record(5, 19, decision=word("snooze", FIRST, until_at_us=until))
    assert key.outputs[-1].status == "snoozed"
    assert (key.episode.state, key.episode.until_us) == ("held-snoozed", expected)


WORDS = [
    {"answered_ids": (FIRST,)},
    {"decision": word("reject", FIRST)},
    {"decision": word("snooze", FIRST)},
    {"columns_changed": True},
]


@pytest.mark.domain("5.3 cell idle × *", "11.7 Dash")
@pytest.mark.parametrize("trigger", WORDS)
@pytest.mark.parametrize(("base", "state"), [(21, "idle"), (20, "open")])
def test_an_idle_key_ignores_orders_and_decisions_and_opens_a_need_when_due(trigger, base, state):
    key = Key()
    key.record(1, base, **trigger)
    assert key.episode.state == state


@pytest.mark.domain("5.3 cell open × hold over", "11.7 Dash")
def test_an_open_need_has_no_end_of_a_hold():
    key = open_key()
    assert key.record(3, 20, columns_changed=True, stream_time_us=NOW_US + 99 * DAY_US) == (
        ("open", 42),
        None,
    )
    assert key.episode.until_us is None


@pytest.mark.domain("5.3 cell held-rejected × answered", "5.3 cell held-short × answered")
@pytest.mark.parametrize("state", CLOSED_HOLDS)
def test_an_order_for_a_closed_need_has_no_effect(state):
    key = held_key(state)
    said = len(key.outputs)
    assert key.record(5, 20, answered_ids=(FIRST,)) == ((state, None), None)
    assert len(key.outputs) == said


def test_an_approval_changes_nothing_and_is_not_stale():
    key = open_key()
    assert key.record(3, 20, decision=word("approve", FIRST)) == (("open", 42), None)
    assert key.record(4, 20, decision=word("approve", "R:other")) == (("open", 42), None)
    assert key.episode.stale_decisions == 0


def test_a_resume_of_an_open_need_changes_nothing():
    key = open_key()
    before = key.episode
    key.record(3, 20, decision=word("resume", FIRST))
    assert key.episode == before


@pytest.mark.domain(
    "5.3 cell held-rejected × reject",
    "5.3 cell held-rejected × snooze",
    "5.3 cell held-short × reject",
    "5.3 cell held-short × snooze",
    "11.7 Dash",
)
@pytest.mark.parametrize("state", CLOSED_HOLDS)
@pytest.mark.parametrize("action", ["reject", "snooze"])
def test_a_closed_need_cannot_be_rejected_or_snoozed(state, action):
    key = held_key(state)
    before = key.shown()
    assert key.record(5, 20, decision=word(action, FIRST)) == (before, None)


@pytest.mark.domain(
    "5.3 cell open × B > s+h",
    "5.3 cell held-* × B > s+h",
    "5.3 cell open × s < B ≤ s+h",
    "5.3 cell held-* × s < B ≤ s+h",
)
@pytest.mark.parametrize(("base", "gone"), [(22, False), (23, True)])
@pytest.mark.parametrize("start", ["open", *HOLDS])
def test_an_episode_ends_above_the_reorder_point_plus_hysteresis(start, base, gone):
    key = open_key() if start == "open" else held_key(start)
    said = len(key.outputs)
    key.record(5, base)
    assert (key.episode.state == "idle") is gone
    if gone and start in ("open", "held-snoozed"):
        assert (key.outputs[-1].status, key.outputs[-1].reason) == ("cancelled", "need_gone")
    else:
        assert len(key.outputs) == said
    if gone:
        assert key.episode.reason == "above_reorder_point"


def test_a_hysteresis_in_the_policy_replaces_the_default_tenth():
    ranged = policy(reorder_point_units=20, order_up_to_units=60, pack_units=6, hysteresis_units=0)
    key = Key(ranged)
    key.record(2, 20)
    key.record(3, 21)
    assert key.episode.state == "idle"


@pytest.mark.domain("5.3 cell held-snoozed × hold over", "11.7 Order day")
def test_a_snooze_that_ends_with_enough_stock_is_cancelled():
    key = held_key("held-snoozed")
    key.record(5, 21, stream_time_us=NOW_US + 2 * DAY_US)
    assert (key.outputs[-1].status, key.outputs[-1].reason) == ("cancelled", "need_gone")
    assert (key.episode.state, key.episode.reason) == ("idle", "above_reorder_point")


@pytest.mark.domain("5.3 cell held-snoozed × hold over", "11.7 Reason of idle")
def test_a_snooze_that_ends_with_too_low_an_order_limit_is_cancelled():
    key = held_key("held-snoozed")
    key.record(5, 20, ranged=SMALL, stream_time_us=NOW_US + 2 * DAY_US)
    assert (key.outputs[-1].status, key.outputs[-1].reason) == ("cancelled", "limit_below_minimum")
    assert (key.episode.state, key.episode.reason) == ("idle", "limit_below_minimum")


@pytest.mark.domain(
    "5.3 cell held-rejected × hold over",
    "5.3 cell held-short × hold over",
    "5.3 cell held-rejected × B ≤ s",
)
@pytest.mark.parametrize("state", CLOSED_HOLDS)
@pytest.mark.parametrize(("wait", "over"), [(WEEK_US - 1, False), (WEEK_US, True)])
def test_a_key_opens_a_new_need_after_a_rejected_or_short_hold(state, wait, over):
    key = held_key(state)
    key.record(5, 19, stream_time_us=NOW_US + wait)
    if over:
        assert (key.episode.state, key.episode.id, key.episode.revision) == ("open", "R:L|S:1-5", 1)
    else:
        assert key.episode.state == state


@pytest.mark.parametrize("state", CLOSED_HOLDS)
def test_a_rejected_or_short_hold_that_ends_above_the_reorder_point_is_idle(state):
    key = held_key(state)
    assert key.record(5, 21, stream_time_us=NOW_US + WEEK_US) == (("idle", None), None)
    assert key.episode.reason == "above_reorder_point"


@pytest.mark.domain("11.7 Reason of idle")
@pytest.mark.parametrize("state", CLOSED_HOLDS)
def test_a_key_is_idle_after_a_hold_if_its_order_limit_is_too_low(state):
    key = held_key(state)
    key.record(5, 20, ranged=SMALL, stream_time_us=NOW_US + WEEK_US)
    assert (key.episode.state, key.episode.reason) == ("idle", "limit_below_minimum")


@pytest.mark.domain("5.3 cell held-* × hold over", "11.7 Until")
@pytest.mark.parametrize("state", HOLDS)
def test_a_resume_or_a_changed_column_ends_a_hold(state):
    for trigger in ({"decision": word("resume", FIRST)}, {"columns_changed": True}):
        key = held_key(state)
        key.record(5, 20, **trigger)
        assert key.episode.state == "open"
        assert (key.episode.id == FIRST) is (state == "held-snoozed")


@pytest.mark.domain("5.3 cell held-snoozed × B ≤ s", "11.7 Decision rows")
def test_a_resume_that_names_another_id_is_stale():
    key = held_key("held-snoozed")
    key.record(5, 20, decision=word("resume", "R:other"))
    assert (key.episode.state, key.episode.stale_decisions) == ("held-snoozed", 1)


@pytest.mark.domain("5.3 cell held-short × B ≤ s")
@pytest.mark.parametrize(("base", "state"), [(15, "held-short"), (14, "open")])
def test_a_short_hold_opens_a_new_need_one_pack_below_its_floor(base, state):
    key = held_key("held-short")
    key.record(5, base)
    assert key.episode.state == state


@pytest.mark.domain("5.3 cell held-rejected × B ≤ s")
def test_a_rejected_need_does_not_open_again_for_a_lower_position():
    key = held_key("held-rejected")
    key.record(5, -50)
    assert key.episode.state == "held-rejected"


@pytest.mark.domain("5.3 cell open × B ≤ s")
@pytest.mark.parametrize(("base", "shown"), [(18, 42), (17, 48)])
def test_a_need_is_amended_by_at_least_a_pack(base, shown):
    key = open_key()
    key.record(3, base)
    assert key.episode.quantity_units == shown


@pytest.mark.domain("5.3 cell open × B ≤ s")
@pytest.mark.parametrize(("base", "shown"), [(9, 100), (10, 90), (-9, 100), (-10, 110)])
def test_a_need_is_amended_by_at_least_a_tenth(base, shown):
    key = Key(policy(reorder_point_units=20, order_up_to_units=100))
    key.record(2, 0)
    assert key.episode.quantity_units == 100
    key.record(3, base)
    assert key.episode.quantity_units == shown


@pytest.mark.domain("11.7 Over the limit")
def test_a_need_above_its_order_limit_is_amended_by_any_difference():
    key = Key(policy(reorder_point_units=20, order_up_to_units=100))
    key.record(2, 0)
    tighter = policy(reorder_point_units=20, order_up_to_units=100, max_order_units=99)
    key.record(3, 0, ranged=tighter)
    assert key.record(4, 0, ranged=tighter) == (("open", 99), None)
    assert key.outputs[-1].revision == 2


@pytest.mark.domain("5.3 cell open × B ≤ s")
def test_an_open_need_whose_order_became_impossible_is_cancelled():
    key = open_key()
    key.record(3, 20, ranged=SMALL)
    assert (key.outputs[-1].status, key.outputs[-1].reason) == ("cancelled", "limit_below_minimum")
    assert key.episode.reason == "limit_below_minimum"


def test_an_open_episode_without_an_id_is_a_defect():
    broken = type(open_key().episode)(state="open")
    with pytest.raises(ValueError, match="no reorder id"):
        next_episode(KEY, at(3), broken, stock(30, RANGED), ReplenishmentTrigger())
