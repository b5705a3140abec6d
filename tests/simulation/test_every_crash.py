"""A worker is killed or suspended at each possible event of small histories."""

import itertools
import os
from collections.abc import Iterator

import pytest

from bench.simulation.batches import silent
from bench.simulation.disk import Disk
from bench.simulation.faults import KILL, SLEEP, Fault
from bench.simulation.history import HOUR_US, Step
from bench.simulation.plan import Plan
from bench.simulation.simulation import Simulation

FOR_EVER = 10_000
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
ALPHABET = (
    Step(0, "range", 0),
    Step(0, "count", 0, units=2),
    Step(0, "sale", 0, units=3),
    Step(0, "old_sale", 0, units=9),
    Step(0, "sale", 0, units=3, gap_us=100 * HOUR_US),
    Step(0, "garbage", 0),
    Step(0, "beat", 0),
)
PAIRS = {
    "needed, amended, sent again": ("range", "count", "sale", "resend"),
    "late, refused, deleted": ("sale", "old_sale", "zero", "delete"),
    "priced after a snapshot": ("snapshot_range", "price_rule", "price", "sale"),
}


@pytest.fixture
def disk() -> Iterator[Disk]:
    with silent(), Disk() as disk:
        yield disk


def numbered(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple(
        Step(number, step.kind, 0, units=step.units, gap_us=step.gap_us)
        for number, step in enumerate(steps)
    )


def length(plan: Plan, disk: Disk) -> int:
    """Run the plan. Return its number of events."""
    simulation = Simulation(plan, disk)
    simulation.run()
    return simulation.step


def disturbed(at: int) -> Iterator[tuple[Fault, int]]:
    """Yield each fault of the only worker at event `at`, and the number of its successor."""
    yield Fault(at, KILL), 0
    yield Fault(at, SLEEP, to=(1,), steps=FOR_EVER), 1


def explore(steps: tuple[Step, ...], disk: Disk, *, in_pairs: bool) -> int:
    """Run each fault alone and, if `in_pairs`, with each later kill. Return the number of runs."""
    base = Plan(0, steps, (), to=(0,), sizes=(2,), in_order=True)
    runs = 1
    for at in range(1, length(base, disk) + 1):
        for fault, owner in disturbed(at):
            first = Plan(0, steps, (fault,), to=(0,), sizes=(2,), in_order=True)
            taken = length(first, disk)
            runs += 1
            for then in range(at + 1, taken + 1) if in_pairs else ():
                both = (fault, Fault(then, KILL, slot=owner))
                length(Plan(0, steps, both, to=(0,), sizes=(2,), in_order=True), disk)
                runs += 1
    return runs


def test_a_crash_at_any_event_of_two_record_histories_changes_no_result(disk: Disk) -> None:
    histories = list(itertools.product(ALPHABET, repeat=2))
    chosen = histories if LONG else histories[::7]

    runs = sum(explore(numbered(steps), disk, in_pairs=False) for steps in chosen)

    assert runs > 40 * len(chosen)


@pytest.mark.soak
@pytest.mark.parametrize("kinds", PAIRS.values(), ids=PAIRS.keys())
def test_two_crashes_at_any_events_of_four_record_histories_change_no_result(
    kinds: tuple[str, ...], disk: Disk
) -> None:
    steps = tuple(
        Step(number, kind, 0, refers=0 if kind in ("delete", "resend") else None)
        for number, kind in enumerate(kinds)
    )

    assert explore(steps, disk, in_pairs=True) > 1_000
