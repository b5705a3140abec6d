"""States on the wire: what is remembered between two records is never the wrong policy."""

import gc
import tracemalloc
from dataclasses import replace

import pytest

from cdc.contracts import state as contract
from inventory.model.ids import InvKey, Position
from inventory.model.policy import ItemLocation
from inventory.model.state import KeyState

KEY = InvKey("L|A")


def ranged(reorder_point_units: int) -> KeyState:
    policy = ItemLocation(1, KEY, reorder_point_units=reorder_point_units)
    return KeyState(KEY, Position(1, 7), policy=policy)


def test_an_equal_policy_is_written_equally_whether_remembered_or_new() -> None:
    first = ranged(20)

    assert contract.encode_state(first) == contract.encode_state(replace(first))
    assert contract.encode_state(first) == contract.encode_state(ranged(20))


def test_a_remembered_policy_takes_no_more_room_than_its_bytes() -> None:
    policies = [ranged(point) for point in range(200)]
    contract.encode_state(policies[0])
    tracemalloc.start()
    for state in policies:
        contract.encode_state(state)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert taken / len(policies) < 3_000


def test_a_remembered_policy_is_forgotten_with_its_last_state() -> None:
    remembered = len(contract._POLICIES)
    state = ranged(20)

    contract.encode_state(state)
    assert len(contract._POLICIES) == remembered + 1

    del state
    gc.collect()
    assert len(contract._POLICIES) == remembered


def test_policies_that_follow_each_other_in_the_same_memory_are_never_mixed_up() -> None:
    for point in range(200):
        state = ranged(point)

        assert contract.decode_state(contract.encode_state(state)) == state
