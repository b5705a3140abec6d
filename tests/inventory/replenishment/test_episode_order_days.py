"""Periodic families wait for an order day (domain.md 5.1, 5.3, 11.7)."""

import pytest

from inventory.model.arithmetic import weekday_of
from inventory.replenishment.families import FAMILIES
from tests.inventory.decision_inputs import NOW_US, policy, word
from tests.inventory.replenishment.test_episode_states import HOLDS
from tests.inventory.replenishment.test_episode_table import FIRST, Key

PERIODIC = [family.code for family in FAMILIES.values() if family.is_periodic]
TODAY = 1 << weekday_of(NOW_US)


def periodic(family="RsS", mask=TODAY, **columns):
    return policy(
        replenish_family=family,
        reorder_point_units=20,
        order_up_to_units=60,
        order_quantity_units=40,
        order_days_mask=mask,
        **columns,
    )


@pytest.mark.domain("5.1 family *", "5.3 cell idle × B ≤ s")
@pytest.mark.parametrize("family", PERIODIC)
@pytest.mark.parametrize(
    ("mask", "reviewed", "opens"),
    [(TODAY, True, True), (TODAY, False, False), (127 - TODAY, True, False), (127, True, True)],
)
def test_a_periodic_family_opens_only_at_a_review_on_an_order_day(family, mask, reviewed, opens):
    key = Key(periodic(family, mask))
    key.record(2, 20, reviewed=reviewed)
    assert (key.episode.state == "open") is opens
    if not opens:
        assert key.episode.reason == "not_order_day"


def test_a_periodic_family_amends_upwards_only_at_a_review():
    key = Key(periodic())
    key.record(2, 20, reviewed=True)
    assert key.record(3, 10) == (("open", 40), None)
    assert key.record(4, 10, reviewed=True)[0] == ("open", 50)


def test_a_periodic_family_amends_downwards_and_cancels_at_once():
    key = Key(periodic())
    key.record(2, 0, reviewed=True)
    assert key.record(3, 20)[0] == ("open", 40)
    key.record(4, 23)
    assert key.outputs[-1].status == "cancelled"


@pytest.mark.domain("11.7 Order day")
@pytest.mark.parametrize("state", HOLDS)
def test_a_periodic_item_opens_a_need_after_a_hold_only_at_a_review(state):
    key = Key(periodic())
    key.record(2, 20, reviewed=True)
    if state == "held-short":
        key.record(3, 20, answered_ids=(FIRST,))
    else:
        action = "snooze" if state == "held-snoozed" else "reject"
        key.record(3, 20, decision=word(action, FIRST))
    assert key.record(4, 20, columns_changed=True) == ((state, None), None)
    assert key.episode.until_us == NOW_US
    assert key.record(5, 20, reviewed=True)[0] == ("open", 40)


@pytest.mark.domain("11.7 Order day")
def test_an_ended_periodic_snooze_without_an_allowed_order_is_cancelled_at_once():
    key = Key(periodic())
    key.record(2, 20, reviewed=True)
    key.record(3, 20, decision=word("snooze", FIRST))
    key.record(4, 20, ranged=periodic(max_order_units=0), columns_changed=True)
    assert key.outputs[-1].status == "cancelled"
