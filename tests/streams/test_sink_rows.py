"""A row of the read model equals the state whose level it was made from."""

import pytest

from bench.fold_log import Event
from bench.fold_retailer import Retailer
from cdc.contracts.decode import decode
from cdc.contracts.state import encode_level
from cdc.contracts.versions import UnreadableRecord
from inventory.fold.partition import Partition
from inventory.model.ids import InvKey, Position
from inventory.model.price_timeline import in_force, step_at
from inventory.model.state import KeyState
from streams.sinks.rows import STOCK, stock_row

KEYS, ROUNDS, PARTITION, AS_OF_US = 60, 40, 3, 1_700_000_000_000_000
SAME = (
    *("inv_key", "on_hand_units", "unavailable_units", "on_order_units", "in_transit_units"),
    *("allocated_units", "available_to_sell_units", "stock_known", "base_position_units"),
    *("reorder_point_units", "order_up_to_units", "stream_time_us"),
)


def traded() -> list[KeyState]:
    """Return states with and without a policy, a price and a decision."""
    retailer, partition = Retailer(KEYS, seed=5), Partition(generation=1)
    events: list[Event] = [*retailer.opening(), *retailer.trading(ROUNDS)]
    for offset, event in enumerate(events):
        partition.apply(decode(event.key, event.value, offset=offset))
    return [KeyState(InvKey("STORE|UNKNOWN"), Position(1, 0)), *partition.states.values()]


def test_each_column_of_a_stock_row_equals_the_state() -> None:
    states = traded()
    assert any(state.episode.id for state in states)
    for state in states:
        level = encode_level(state, ())
        row = stock_row(level, PARTITION, AS_OF_US)
        at, us = state.timeline, state.stream_time_us
        price = None if us is None else in_force(at, us)

        assert row.keys() == STOCK.columns.keys()
        assert {name: row[name] for name in SAME} == {name: getattr(state, name) for name in SAME}
        assert (row["price_minor"], row["price_step"]) == (
            None if price is None else price.price_minor, 0 if us is None else step_at(at, us),
        )  # fmt: skip
        assert row["demand_rate_micro"] == state.demand.rate_micro
        assert (row["episode_state"], row["reorder_id"], row["requested_units"]) == (
            state.episode.state, state.episode.id, state.episode.quantity_units or 0,
        )  # fmt: skip
        assert row["price_proposal_id"] == state.price_episode.id
        assert row["policy_active"] == (
            state.policy is not None and state.policy.status == "active"
        )
        assert (row["generation"], row["offset"]) == (
            state.position.generation,
            state.position.offset,
        )
        assert (row["partition"], row["as_of_us"]) == (PARTITION, AS_OF_US)
        assert row["state"] == level.decode()


def test_a_stock_row_without_as_of_time_uses_the_stream_time_of_the_key() -> None:
    state = traded()[1]

    row = stock_row(encode_level(state, ()), PARTITION, None)

    assert row["as_of_us"] == state.stream_time_us


def test_a_level_without_a_field_is_not_readable() -> None:
    level = encode_level(traded()[1], ()).replace(b'"on_hand_units"', b'"on_hand_unit"')

    with pytest.raises(UnreadableRecord, match="on_hand_units"):
        stock_row(level, PARTITION, AS_OF_US)
