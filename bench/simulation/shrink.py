"""Run a plan. If it fails, reduce it to the shortest history that still fails."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from bench.simulation.checks import Violation
from bench.simulation.disk import Disk
from bench.simulation.plan import Plan, draw_plan
from bench.simulation.simulation import Simulation

_MOST_TRIES: Final = 600
_LAST_LINES: Final = 25

Kept = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Found:
    """A failing seed, and the steps and faults of its shortest failing history.

    `kept` has their indexes in the plan of the seed.
    """

    seed: int
    promise: str
    kept: Kept
    steps: tuple[str, ...]
    faults: tuple[str, ...]
    trace: tuple[str, ...]

    @property
    def command(self) -> str:
        """Return the command that replays the shortest history."""
        steps, faults = (",".join(map(str, places)) or "-" for places in self.kept)
        return f"inventory bench simulate --seed {self.seed} --keep {steps}/{faults}"

    def as_text(self) -> str:
        """Return the violated guarantee, the shortest history with its last events, the command."""
        lines = [f"seed {self.seed}: {self.promise}", "shortest history:"]
        lines += [f"  {line}" for line in (*self.steps, *self.faults)]
        lines += ["end of the trace:", *(f"  {line}" for line in self.trace[-_LAST_LINES:])]
        return "\n".join([*lines, f"replay: {self.command}"])


def violation_of(plan: Plan, disk: Disk) -> tuple[Violation | None, list[str]]:
    """Return the violation of a plan's run, if any, and the trace of the run.

    Any other exception counts as a violation, too, for example `LogMismatch` from a final restore.
    """
    trace: list[str] = []
    try:
        simulation = Simulation(plan, disk)
        trace = simulation.trace
        simulation.run()
    except Violation as violation:
        return violation, trace
    except Exception as error:  # noqa: BLE001 -- without its seed nobody could repeat the history
        failure = Violation(f"a history ends without an error: {error!r}")
        failure.__cause__ = error
        return failure, trace
    return None, trace


def shortest(seed: int, disk: Disk, kept: Kept | None = None) -> Found | None:
    """Return the seed's failure in a history as short as possible; None if it does not fail.

    Leave out one or two faults or steps. If the rest still fails, with the same or another
    violation, continue with the rest. Repeat this. Try at most 600 histories.

    With `kept`, run only the history of these steps and faults, and don't shorten it.
    """
    plan = draw_plan(seed)
    complete = tuple(range(len(plan.steps))), tuple(range(len(plan.faults)))
    steps, faults = complete if kept is None else kept
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
    """Yield each history without one fault or step, then without two; leave out faults first.

    Leaving out one step changes all later interleavings. So the failure may remain without two
    steps, even if it disappears without one step.
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
