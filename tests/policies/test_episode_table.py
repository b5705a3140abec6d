"""The worked episode of domain.md 5.3: s 20, S 60, pack 6, h 2, record by record."""

from inventory.model.arithmetic import DAY_US
from inventory.model.episode import IDLE
from inventory.policies.replenishment import ReplenishmentTrigger, next_episode
from tests.policies.builders import KEY, NOW_US, at, policy, stock, word

RANGED = policy(reorder_point_units=20, order_up_to_units=60, pack_units=6)
FIRST, SECOND = "R:L|S:1-2", "R:L|S:1-11"


class Key:
    """A key whose B is given per record."""

    def __init__(self, ranged=RANGED):
        self.ranged = ranged
        self.episode = IDLE
        self.outputs = []

    def record(self, offset, base, *, ranged=..., stream_time_us=NOW_US, known=True, **trigger):
        used = self.ranged if ranged is ... else ranged
        self.episode, output = next_episode(
            KEY,
            at(offset),
            self.episode,
            stock(base, used, stream_time_us=stream_time_us, stock_known=known),
            ReplenishmentTrigger(**trigger),
        )
        if output is not None:
            self.outputs.append(output)
        return self.shown(), None if output is None else self.said(output)

    def shown(self):
        return self.episode.state, self.episode.quantity_units

    @staticmethod
    def said(output):
        return output.id, output.revision, output.status, output.quantity_units


def test_the_worked_episode_goes_as_the_table_says():
    key = Key()
    assert key.record(1, 24) == (("idle", None), None)
    assert key.record(2, 20) == (("open", 42), (FIRST, 1, "open", 42))
    assert key.record(3, 18) == (("open", 42), None)
    assert key.record(4, 14) == (("open", 48), (FIRST, 2, "open", 48))
    assert key.record(5, 22) == (("open", 48), None)
    assert key.record(6, 22, decision=word("reject", "R:L|S:1-1")) == (("open", 48), None)
    assert key.episode.stale_decisions == 1
    snooze = word("snooze", FIRST, until_at_us=NOW_US + 2 * DAY_US)
    assert key.record(7, 22, decision=snooze) == (
        ("held-snoozed", None),
        (FIRST, 3, "snoozed", None),
    )
    just_before = NOW_US + 2 * DAY_US - 1
    assert key.record(8, 20, stream_time_us=just_before) == (("held-snoozed", None), None)
    over = NOW_US + 2 * DAY_US
    assert key.record(9, 19, stream_time_us=over) == (("open", 42), (FIRST, 4, "open", 42))
    assert key.record(10, 31, stream_time_us=over, answered_ids=(FIRST,)) == (
        ("idle", None),
        (FIRST, 5, "accepted", None),
    )
    assert key.episode.reason == "above_reorder_point"
    assert key.record(11, 19, stream_time_us=over) == (
        ("open", 42),
        (SECOND, 1, "open", 42),
    )


def test_an_output_carries_b_and_levels_and_terms_that_add_up():
    key = Key()
    key.record(2, 20)
    [output] = key.outputs
    assert (output.base_position_units, output.reorder_point_units) == (20, 20)
    assert output.order_up_to_units == 60
    assert output.flags == ("no_demand_history",)
    terms = dict(output.terms)
    assert (
        terms["on_hand_units"]
        + terms["on_hand_clamp_units"]
        + terms["on_order_units"]
        + terms["on_order_clamp_units"]
        + terms["allocated_units"]
        == terms["base_position_units"]
    )
    assert (terms["need_units"], terms["packed_units"], terms["quantity_units"]) == (40, 42, 42)
