"""Running a plan, and making a failing one as short as possible by leaving things out."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from bench.simulation.checks import Violation
from bench.simulation.disk import Disk
from bench.simulation.plan import Plan, draw_plan
from bench.simulation.world import World

_MOST_TRIES: Final = 600
_LAST_LINES: Final = 25

Kept = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Found:
    """A failing seed, and the shortest history of it that fails: places in its plan."""

    seed: int
    promise: str
    kept: Kept
    steps: tuple[str, ...]
    faults: tuple[str, ...]
    trace: tuple[str, ...]

    @property
    def command(self) -> str:
        """Replays the shortest history, and nothing else."""
        steps, faults = (",".join(map(str, places)) or "-" for places in self.kept)
        return f"inventory bench simulate --seed {self.seed} --keep {steps}/{faults}"

    def as_text(self) -> str:
        """What a person reads who has to mend it."""
        lines = [f"seed {self.seed}: {self.promise}", "shortest history:"]
        lines += [f"  {line}" for line in (*self.steps, *self.faults)]
        lines += ["how it ended:", *(f"  {line}" for line in self.trace[-_LAST_LINES:])]
        return "\n".join([*lines, f"replay: {self.command}"])


def violation_of(plan: Plan, disk: Disk) -> tuple[Violation | None, list[str]]:
    """What the run of a plan violates, and everything that happened in it."""
    trace: list[str] = []
    try:
        world = World(plan, disk)
        trace = world.trace
        world.run()
    except Violation as violation:
        return violation, trace
    return None, trace


def shortest(seed: int, disk: Disk, kept: Kept | None = None) -> Found | None:
    """The seed's failure with as little as possible around it; None if it does not fail.

    Greedy: a fault, a step, or two of them are left out if the rest still fails, for any reason.
    """
    plan = draw_plan(seed)
    whole = tuple(range(len(plan.steps))), tuple(range(len(plan.faults)))
    steps, faults = whole if kept is None else kept
    if violation_of(plan.kept(steps, faults), disk)[0] is None:
        return None
    tries = 0
    is_shorter = kept is None
    while is_shorter and tries < _MOST_TRIES:
        is_shorter = False
        for candidate in _shorter(steps, faults):
            tries += 1
            if tries > _MOST_TRIES:
                break
            if violation_of(plan.kept(*candidate), disk)[0] is not None:
                steps, faults = candidate
                is_shorter = True
                break
    return _found(plan.kept(steps, faults), (steps, faults), disk)


def _shorter(steps: tuple[int, ...], faults: tuple[int, ...]) -> Iterator[Kept]:
    """Everything that has one thing less, then two things less, faults before steps.

    Pairs, because whatever is left out changes every interleaving behind it.
    """
    things = [(True, fault) for fault in faults] + [(False, step) for step in reversed(steps)]
    for gone in (*combinations(things, 1), *combinations(things, 2)):
        yield (
            tuple(step for step in steps if (False, step) not in gone),
            tuple(fault for fault in faults if (True, fault) not in gone),
        )


def _found(plan: Plan, kept: Kept, disk: Disk) -> Found:
    violation, trace = violation_of(plan, disk)
    return Found(
        seed=plan.seed,
        promise=str(violation),
        kept=kept,
        steps=tuple(f"{step.number}: {step}" for step in plan.steps),
        faults=tuple(map(str, plan.faults)),
        trace=tuple(trace),
    )
