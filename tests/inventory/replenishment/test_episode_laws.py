"""Laws W9 and W10 of domain.md 9 over random walks of one key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.model.arithmetic import DAY_US
from inventory.replenishment.families import FAMILIES
from inventory.replenishment.levels import levels
from tests.inventory.decision_inputs import NOW_US, policy, word
from tests.inventory.replenishment.test_episode_table import Key

FINAL = ("accepted", "cancelled", "rejected")


@st.composite
def ranged_policies(draw):
    reorder_point = draw(st.integers(0, 40))
    return policy(
        replenish_family=draw(st.sampled_from([*FAMILIES])),
        status=draw(st.sampled_from(["active", "active", "active", "exit"])),
        reorder_point_units=reorder_point,
        order_up_to_units=reorder_point + draw(st.integers(1, 60)),
        order_quantity_units=draw(st.integers(1, 30)),
        pack_units=draw(st.integers(1, 12)),
        pack_rounding=draw(st.sampled_from(["up", "down", "threshold"])),
        moq_units=draw(st.integers(0, 40)),
        max_order_units=draw(st.none() | st.integers(0, 90)),
        capacity_units=draw(st.none() | st.integers(0, 120)),
        order_days_mask=draw(st.integers(0, 127)),
        hysteresis_units=draw(st.none() | st.integers(0, 9)),
    )


STEPS = st.lists(
    st.tuples(
        st.integers(-10, 80),
        st.integers(0, 4),
        st.sampled_from(["", "", "", "answer", "reject", "snooze", "resume", "columns", "review"]),
    ),
    max_size=40,
)


def trigger_of(key, what):
    if what == "answer":
        return {"answered_ids": (key.episode.id or "R:none",)}
    if what in ("reject", "snooze", "resume"):
        return {"decision": word(what, key.episode.id or "R:none")}
    return {"columns_changed": what == "columns", "reviewed": what == "review"}


@pytest.mark.domain("9 W9 *", "9 W10 *", "11.7 Quantity")
@given(st.lists(ranged_policies(), min_size=1, max_size=3), STEPS)
def test_w9_w10_needs_are_numbered_closed_once_and_never_lost(policies, steps):
    key = Key()
    stream_time_us = NOW_US
    revisions: dict[str, int] = {}
    closed: set[str] = set()
    for offset, (base, days, what) in enumerate(steps):
        stream_time_us += days * DAY_US
        ranged = policies[offset % len(policies)]
        said = len(key.outputs)
        key.record(
            offset, base, ranged=ranged, stream_time_us=stream_time_us, **trigger_of(key, what)
        )
        assert len(key.outputs) - said <= 1
        for output in key.outputs[said:]:
            assert output.id not in closed
            assert output.revision == revisions.get(output.id, 0) + 1
            revisions[output.id] = output.revision
            if output.status in FINAL:
                closed.add(output.id)
            assert (output.quantity_units is not None) == (output.status == "open")
        assert len(revisions) - len(closed) <= 1
        assert (key.episode.state == "open") == (key.episode.quantity_units is not None)
        reorder_point = levels(ranged, None, None).reorder_point_units
        if ranged.status == "active" and reorder_point is not None and base <= reorder_point:
            assert key.episode.state != "idle" or key.episode.reason in (
                "not_order_day",
                "limit_below_minimum",
            )
