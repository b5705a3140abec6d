"""Cached policies of encoded states are never mixed up and take little memory."""

import gc
import tracemalloc
from dataclasses import replace

import orjson
import pytest

from cdc.contracts import state as contract
from cdc.contracts import state_documents as documents
from cdc.contracts.versions import UnknownVersion, UnreadableRecord
from inventory.model.ids import InvKey, Position
from inventory.model.policy import ItemLocation
from inventory.model.state import KeyState, WindowRow

KEY = InvKey("L|A")


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty the policy cache, so that the measured memory has no policies of earlier tests."""
    monkeypatch.setattr(documents, "_POLICIES", {})


def ranged(reorder_point_units: int) -> KeyState:
    policy = ItemLocation(1, KEY, reorder_point_units=reorder_point_units)
    return KeyState(KEY, Position(1, 7), policy=policy)


def test_a_cached_and_an_uncached_policy_are_encoded_equally() -> None:
    first = ranged(20)

    assert contract.encode_state(first) == contract.encode_state(replace(first))
    assert contract.encode_state(first) == contract.encode_state(ranged(20))


def test_a_cached_policy_takes_less_than_3_kb_of_memory() -> None:
    policies = [ranged(point) for point in range(200)]
    contract.encode_state(policies[0])
    tracemalloc.start()
    for state in policies:
        contract.encode_state(state)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert taken / len(policies) < 3_000


def test_the_cache_drops_a_policy_with_its_last_state() -> None:
    state = ranged(20)
    remembered = id(state.policy)

    contract.encode_state(state)
    assert remembered in documents._POLICIES

    del state
    gc.collect()
    assert remembered not in documents._POLICIES


def test_the_cache_distinguishes_policies_that_reuse_a_memory_address() -> None:
    for point in range(200):
        state = ranged(point)

        assert contract.decode_state(contract.encode_state(state)) == state


def test_encode_changed_returns_the_same_window_records_as_encode_window() -> None:
    rows = {at: WindowRow(at, sold_units=at, moves={at: -2}) for at in (1_200, 600, 1_800)}
    state = replace(ranged(20), windows=rows)

    level, windows = contract.encode_changed(state, [1_200, 600, 0])

    found, dropped = contract.decode_level(level)
    assert (found.windows, dropped) == ({at: rows[at] for at in (600, 1_200)}, (0,))
    assert list(windows) == [600, 1_200]
    for at, record in windows.items():
        assert record == contract.encode_window(KEY, rows[at], state.position)


@pytest.mark.parametrize("encoded", ["level", "window", "state"])
def test_field_names_of_encoded_records_are_sorted_at_every_depth(encoded: str) -> None:
    row = WindowRow(600, moves={600_000_000: -2})
    state = replace(ranged(20), windows={600: row})
    level, windows = contract.encode_changed(state, [600])
    content = {"level": level, "window": windows[600], "state": contract.encode_state(state)}

    document = orjson.loads(content[encoded])

    assert content[encoded] == orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


def test_read_level_returns_chosen_fields_and_refuses_unknown_fields_and_versions() -> None:
    level = contract.encode_level(ranged(20), ())

    assert contract.read_level(level, lambda found: found["inv_key"]) == KEY
    with pytest.raises(UnreadableRecord):
        contract.read_level(level, lambda found: found["a_field_of_no_version"])
    with pytest.raises(UnknownVersion):
        contract.read_level(level.replace(b'"schema":1', b'"schema":9'), lambda found: found)
