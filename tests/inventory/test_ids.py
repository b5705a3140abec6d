"""Ids of needs and price proposals name the record that opened them."""

import pytest

from inventory.model.ids import InvKey, Position, generation_of, proposal_id, reorder_id


@pytest.mark.parametrize("make", [reorder_id, proposal_id])
def test_an_id_contains_the_generation_of_its_log(make) -> None:
    assert generation_of(make(InvKey("L-1|A:B-2"), Position(12, 345))) == 12
