"""Every explanation adds up, for all states that generated histories reach (domain.md 5)."""

import os
from collections.abc import Iterator

import pytest

from inventory.explain.key import Provenance, explain
from inventory.explain.lines import ADD, SUM, Line, Section, gaps
from inventory.fold.partition import Partition
from inventory.fold.record import Applied
from inventory.model.arithmetic import MAX_STORED, half_even
from inventory.model.outputs import PriceOutput, ReorderOutput
from inventory.model.record import Record
from inventory.model.state import KeyState
from tests.oracle.generate import history

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
SEEDS = int(os.environ.get("INVENTORY_EXPLAIN_SEEDS", "300" if LONG else "40"))
FOLLOWED = frozenset({*range(10), 18, 30})  # seeds whose histories reach every explanation line
FROM = Provenance(partition=3, logic_revision=1, as_of_us=77)


def steps(seed: int) -> Iterator[Applied]:
    """Yield the fold result of each applied record in the history of this seed."""
    partition = Partition(1)
    for row in history(seed):
        folded = partition.apply(Record(**row))
        if isinstance(folded, Applied):
            yield folded


def explained(state: KeyState, *, has_windows: bool = True) -> dict[str, Section]:
    sections = explain(state, None, FROM, has_windows=has_windows)
    assert gaps(sections) == ()
    return {section.name: section for section in sections}


def value_of(section: Section, name: str, part: str | None = None) -> object:
    """Return the amount of the section's last line of this name."""
    found = [line for line in section.lines if line.name == name and part in (None, line.part)]
    assert found, (name, section)
    return found[-1].amount


def has(section: Section, name: str, part: str) -> bool:
    return any(line.name == name and line.part == part for line in section.lines)


def check_state(state: KeyState) -> None:
    """Assert that the explanation's sums equal the state's numbers, with and without windows."""
    for has_windows in (True, False):
        found = explained(state, has_windows=has_windows)
        assert value_of(found["stock"], "on_hand_units", SUM) == state.on_hand_units
        assert value_of(found["stock"], "base_position_units", SUM) == state.base_position_units
        assert value_of(found["levels"], "reorder_point_units") == state.reorder_point_units
        if has(found["levels"], "order_up_to_units", SUM):
            assert value_of(found["levels"], "order_up_to_units") == state.order_up_to_units
        if has(found["demand"], "learned_rate_micro", SUM):
            learned = value_of(found["demand"], "learned_rate_micro", SUM)
            assert learned == (state.demand.rate_micro or 0)
        requested = state.episode.quantity_units or 0
        assert value_of(found["hold"], "requested_units", ADD) == requested
        assert value_of(found["source"], "policy_offset") == state.position.offset


def check_days(state: KeyState) -> None:
    """Assert that each day's rate change follows from the observed units in the lines before it."""
    section = explained(state)["demand"]
    if value_of(section, "demand_method") == "tsb" or state.demand.tsb_p_micro is not None:
        return
    alpha = value_of(section, "demand_alpha_permille")
    assert isinstance(alpha, int)
    rate = state.final_demand.rate_micro
    for observed, change in days_of(section):
        seen = observed.amount
        if isinstance(seen, int):
            wanted = seen if rate is None else rate + half_even((seen - rate) * alpha, 1000)
            expected = saturated(wanted) - (rate or 0)
        else:
            initial = None if state.policy is None else state.policy.initial_rate_micro
            expected = saturated(initial or 0) if change.detail == "the initial rate" else 0
        assert change.amount == expected
        if isinstance(seen, int) or change.detail:
            rate = (rate or 0) + expected


def saturated(micro: int) -> int:
    return max(-MAX_STORED, min(MAX_STORED, micro))


def days_of(section: Section) -> Iterator[tuple[Line, Line]]:
    """Return the line of each retained day with the line of the rate change that it causes."""
    observed = [line for line in section.lines if line.name == "observed_micro"]
    changes = [line for line in section.lines if line.name == "rate_change_micro"]
    return zip(observed, changes, strict=True)


def check_decisions(folded: Applied) -> None:
    """Assert that the explanation has the values of each open decision in the outputs."""
    for output in folded.outputs:
        found = explained(folded.state)
        match output:
            case ReorderOutput(status="open"):
                assert value_of(found["quantity"], "quantity_units", SUM) == output.quantity_units
                assert value_of(found["quantity"], "flags") == ",".join(output.flags)
            case PriceOutput(status="open"):
                price = found["price"]
                assert value_of(price, "new_minor", SUM) == output.new_minor
                assert value_of(price, "signal") == output.signal
                assert value_of(price, "old_minor", ADD) == output.old_minor
                assert [line.detail for line in price.lines if line.name == "clamps_minor"] == [
                    ", ".join(output.clamps)
                ]
            case _:
                pass


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(seed, marks=() if seed in FOLLOWED else pytest.mark.generated)
        for seed in sorted({*range(SEEDS), *FOLLOWED})
    ],
)
def test_explanation_lines_add_up_after_every_record(seed: int) -> None:
    for folded in steps(seed):
        check_state(folded.state)
        check_days(folded.state)
        check_decisions(folded)
