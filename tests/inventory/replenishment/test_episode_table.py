"""A key of the worked episode of domain.md 5.3 (s 20, S 60, pack 6, h 2) with a given B."""

from inventory.model.episode import IDLE
from inventory.replenishment.needs import next_episode
from inventory.replenishment.triggers import ReplenishmentTrigger
from tests.inventory.decision_inputs import KEY, NOW_US, at, policy, stock

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


def test_a_need_has_base_position_levels_and_terms_that_add_up():
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
