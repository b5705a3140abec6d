"""One simulated history: the retailer's steps, the faults, and the scheduler's random draws."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from bench.simulation.faults import (
    SLOTS,
    WIPE,
    Fault,
    draw_faults,
    draw_fetch,
    draw_keeping,
    draw_loss,
)
from bench.simulation.history import PARTITIONS, Step, draw_steps

# Shares of all histories; `_KEEPING` is a share of the histories without `_REBUILDING`.
_REBUILDING: Final = 1 / 5  # deletions of changelogs, which are rare in the other histories
_KEEPING: Final = 1 / 8  # faults while snapshots are written
_LOSING: Final = 1 / 12  # a loss of data, so the history may end early
_MISFETCHING: Final = 1 / 10  # a fetch that lacks or repeats records
_RESTING_TOGETHER: Final = 1 / 5  # compressed states that share blocks
_KEEPS: Final = (0.0, 0.0, 1 / 4, 3 / 4)


@dataclass(frozen=True, slots=True)
class Plan:
    """All inputs of a run; equal plans give equal runs.

    `to` has the first owner of each partition. `sizes` has the possible numbers of records of a
    fetch. `keeps` is the share of fetches after which workers write snapshots.

    With `large_sizes`, a block has the compressed states of several keys. If one of these keys
    changes, its old state stays in the block. A restore then also reads more source records than
    the dedupe ring needs.

    With `in_order`, all records arrive before anything else happens, and the scheduler draws
    nothing.
    """

    seed: int
    steps: tuple[Step, ...]
    faults: tuple[Fault, ...]
    to: tuple[int, ...]
    sizes: tuple[int, ...]
    keeps: float = 0.0
    in_order: bool = False
    large_sizes: bool = False

    @property
    def partitions(self) -> int:
        """Return the highest partition number with records, plus 1."""
        return 1 + max((step.partition for step in self.steps), default=0)

    def kept(self, steps: Collection[int], faults: Collection[int]) -> "Plan":
        """Return the same history with only these steps and faults, by their index in the plan."""
        return replace(
            self,
            steps=tuple(step for at, step in enumerate(self.steps) if at in steps),
            faults=tuple(fault for at, fault in enumerate(self.faults) if at in faults),
        )


def draw_plan(seed: int) -> Plan:
    """Return the history of a seed."""
    # Separate generators, so that these draws don't change the other draws of a seed.
    losing = Random(f"{seed}:loss")  # noqa: S311 -- a simulation, not a secret
    beside = Random(f"{seed}:else")  # noqa: S311 -- a simulation, not a secret
    plan = _draw_plan(seed)
    if losing.random() < _LOSING:
        plan = with_loss(plan, draw_loss(losing))
    if beside.random() < _MISFETCHING:
        plan = _with_fault(plan, draw_fetch(beside, slot=plan.to[0]))
    return replace(plan, large_sizes=beside.random() < _RESTING_TOGETHER)


def with_loss(plan: Plan, loss: Fault) -> Plan:
    """Return the plan with a loss of records, and with no deletion of changelogs after the loss."""
    kept = [fault for fault in plan.faults if fault.kind != WIPE or fault.at < loss.at]
    return _with_fault(replace(plan, faults=tuple(kept)), loss)


def _with_fault(plan: Plan, fault: Fault) -> Plan:
    return replace(plan, faults=tuple(sorted((*plan.faults, fault), key=lambda each: each.at)))


def _draw_plan(seed: int) -> Plan:
    random = Random(f"{seed}:plan")  # noqa: S311 -- a simulation, not a secret
    steps = draw_steps(random)
    to = tuple(int(random.random() < 1 / 4) for _ in range(PARTITIONS))
    sizes = tuple(random.randint(1, 4) for _ in range(SLOTS * PARTITIONS))
    if random.random() < _REBUILDING:
        return Plan(seed, steps, draw_faults(random, rebuilding=True), to, sizes, keeps=1 / 4)
    plan = Plan(seed, steps, draw_faults(random), to, sizes, keeps=random.choice(_KEEPS))
    if random.random() < _KEEPING:
        # Put both keys into one partition: while one is encoded, the other one has to change.
        together = tuple(replace(step, partition=0) for step in steps)
        return replace(plan, steps=together, faults=draw_keeping(random, first=to[0]), keeps=0.0)
    return plan
