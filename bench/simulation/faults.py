"""The faults of one simulated history, drawn from a seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from typing_extensions import override

from bench.simulation.history import PARTITIONS

SLOTS: Final = 2  # worker processes; a dead one is restarted in its slot

KILL: Final = "kill"
SLEEP: Final = "sleep"
LOSE_ACK: Final = "lose ack"
REFUSE: Final = "refuse commit"
MOVE: Final = "move"
STOP: Final = "stop"
EXPIRE: Final = "open transactions expire"
COMPACT: Final = "compact"
REPUBLISH: Final = "republish"
KEEP: Final = "snapshot on a slow disk"
SLOW: Final = "broker commits late"
TEAR: Final = "tear snapshots"
FLIP: Final = "flip a bit of snapshots"
AGE: Final = "restore the first snapshots"
SWAP: Final = "swap snapshots of partitions"
SPOOF: Final = "snapshots of another generation"
WIPE: Final = "delete changelogs, kill all workers"
CUT: Final = "truncate the source"
REMAKE: Final = "recreate the source, kill all workers"
CUT_ROWS: Final = "truncate window rows"
CUT_LEVELS: Final = "truncate levels"

LEAVE_OUT: Final = "fetch leaves a record out"
FETCH_TWICE: Final = "fetch gives records twice"

# If a consumer seeks twice in quick succession, one chunk can have records of both positions. Then
# a record is missing or comes twice.
FETCHES: Final = (LEAVE_OUT, FETCH_TWICE)
LOSSES: Final = (
    CUT,
    REMAKE,
    CUT_ROWS,
    CUT_LEVELS,
)  # permanent: a worker that needs the lost records must halt
DAMAGES: Final = (TEAR, FLIP, AGE, SWAP, SPOOF)  # a killed worker restarts with damaged snapshots
_KINDS: Final = {
    KILL: 6,
    SLEEP: 4,
    LOSE_ACK: 3,
    REFUSE: 1,
    MOVE: 4,
    STOP: 2,
    EXPIRE: 1,
    COMPACT: 2,
    REPUBLISH: 2,
    TEAR: 1,
    FLIP: 1,
    AGE: 2,
    SWAP: 1,
    SPOOF: 1,
    WIPE: 1,
}
# Weights of faults in histories that delete changelogs. Snapshots then outlive their changelogs.
_REBUILDING: Final = {WIPE: 2, KILL: 1, MOVE: 1, AGE: 1, COMPACT: 1, SLEEP: 1}
# Faults that are dangerous in sequence. Independent faults rarely give such a sequence: only 1 of
# 20,000 histories had two workers that slept one after the other at a critical moment. The letters
# are workers: "a" has most partitions at first, "b" is the other one. In (SLEEP, "ab"), worker "a"
# sleeps, and afterwards all partitions belong to "b".
_CHAINS: Final = (
    ((SLEEP, "ab"), (MOVE, "aa")),  # the worker misses a rebalance and wakes up in the next one
    ((SLEEP, "ab"), (SLEEP, "ba")),
    ((SLEEP, "ab"), (SLEEP, "ba"), (MOVE, "ab")),
    ((SLEEP, "ab"), (KILL, "ba")),
    ((MOVE, "ab"), (MOVE, "aa")),  # the second rebalance begins during the first
    ((MOVE, "ab"), (SLEEP, "ba"), (MOVE, "ab")),
    ((KILL, "aa"), (SLEEP, "ab"), (MOVE, "aa")),  # the worker sleeps during its restore
    ((KILL, "aa"), (KILL, "aa")),
    ((STOP, "ab"), (STOP, "ba")),
)
_CHAINED: Final = 1 / 3  # share of histories with such a sequence
# Faults while a worker writes a snapshot. Drawn independently, they rarely happen at that time.
# While the keys are encoded, the state changes, the worker stops, or a commit never happens. Then a
# worker restarts from the snapshot. With a single letter, no partition changes its owner.
_KEEPING: Final = (
    ((KEEP, "a"), (KEEP, "a"), (KEEP, "a")),
    ((KEEP, "a"), (STOP, "aa")),
    ((KEEP, "a"), (SLOW, "a"), (KILL, "aa")),
    ((KEEP, "a"), (SLOW, "a"), (KILL, "aa"), (KILL, "aa")),  # with a second kill: the rarest case
    ((KEEP, "a"), (KILL, "aa"), (KEEP, "a")),
)
_HELD: Final = {KEEP: (5, 10, 20, 40, 80), SLOW: (80,)}
_PAUSES: Final = (2, 5, 10, 20, 30, 40, 60, 80)
_REJOINING: Final = (KILL, MOVE, SLEEP, STOP, WIPE, *DAMAGES)
_LATEST: Final = 160
_MOST: Final = 5
_MOST_BESIDE: Final = 2
QUARTERS: Final = 4
HALVES: Final = 2


@dataclass(frozen=True, slots=True)
class Fault:
    """An event before the scheduler's step `at`; most kinds affect the worker in `slot`.

    * `to` has the owner of each partition after a rebalance.
    * `quarter` is the new committed offset of the group: 3 means after three quarters of the log's
      records. The offset may be lower or higher than the progress in the changelogs.
    * `steps` is the number of steps for which a worker sleeps or an effect is delayed.
    * `part` is the size of a loss. For a truncated topic, it is the number of lost quarters. For a
      recreated source, 1 means half as many records as before, 3 means 1.5 times as many.
    """

    at: int
    kind: str
    slot: int = 0
    to: tuple[int, ...] = ()
    quarter: int | None = None
    steps: int = 0
    part: int = 0

    @override
    def __str__(self) -> str:
        """Return a description for the list that a failing seed prints."""
        words = [f"at step {self.at}: {self.kind}"]
        if self.kind not in (MOVE, COMPACT, EXPIRE, WIPE, *LOSSES):
            words.append(f"worker {self.slot}")
        if self.steps:
            words.append(f"for {self.steps} steps")
        if self.part:
            words.append(f"{self.part}/{HALVES if self.kind == REMAKE else QUARTERS} of it")
        if self.to:
            words.append("partitions to workers " + " ".join(map(str, self.to)))
        if self.quarter is not None:
            words.append(f"group continues at {self.quarter}/{QUARTERS} of the log")
        return ", ".join(words)


def draw_faults(random: Random, *, rebuilding: bool = False) -> tuple[Fault, ...]:
    """Return 0 to 5 faults in the order in which they happen.

    With `rebuilding`, deletion of the changelogs is the most frequent kind of fault.
    """
    kinds = _REBUILDING if rebuilding else _KINDS
    chain: list[Fault] = []
    if random.random() < _CHAINED:
        chain = _chain(random, first=int(random.random() < 1 / 4))
    beside = random.randint(0, _MOST_BESIDE if chain else _MOST)
    drawn = [*chain, *(_drawn(random, kinds) for _ in range(beside))]
    return tuple(sorted(drawn, key=lambda fault: fault.at))


def draw_keeping(random: Random, *, first: int) -> tuple[Fault, ...]:
    """Return faults of the worker in slot `first`, which writes snapshots on a slow disk."""
    at = random.randrange(15, _LATEST)
    chosen: list[Fault] = []
    for kind, whom in random.choice(_KEEPING):
        moved = (first,) * PARTITIONS if len(whom) > 1 else ()
        held = random.choice(_HELD.get(kind, (0,)))
        chosen.append(Fault(at, kind, first, to=moved, steps=held))
        at += random.choice(_PAUSES[:-3])
    return tuple(chosen)


def draw_loss(random: Random) -> Fault:
    """Return a fault that loses records for ever; a worker that needs these records must halt."""
    kind = random.choice(LOSSES)
    return Fault(random.randrange(10, _LATEST), kind, part=random.randint(1, QUARTERS))


def draw_fetch(random: Random, *, slot: int) -> Fault:
    """Return a fault in a fetch of the worker in `slot`: a record is missing, or some repeat."""
    return Fault(_early(random), random.choice(FETCHES), slot)


def _chain(random: Random, *, first: int) -> list[Fault]:
    """Return a random sequence of `_CHAINS`; `first` is the slot of its worker "a"."""
    at = _early(random)
    faults: list[Fault] = []
    for kind, (whom, whose) in random.choice(_CHAINS):
        slots = {"a": first, "b": 1 - first}
        faults.append(
            Fault(
                at=at,
                kind=kind,
                slot=slots[whom],
                to=(slots[whose],) * PARTITIONS,
                quarter=_quarter(random),
                steps=random.choice((20, 80, 300)) if kind == SLEEP else 0,
            )
        )
        at += random.choice(_PAUSES)
    return faults


def _drawn(random: Random, kinds: Mapping[str, int]) -> Fault:
    kind = random.choices(tuple(kinds), tuple(kinds.values()))[0]
    is_moved = kind == MOVE or (kind == SLEEP and random.random() < 3 / 4)
    return Fault(
        at=_early(random),
        kind=kind,
        slot=int(random.random() < 1 / 4),
        to=tuple(random.randrange(SLOTS) for _ in range(PARTITIONS)) if is_moved else (),
        quarter=_quarter(random) if kind in _REJOINING else None,
        steps=random.choice((5, 20, 80)) if kind == SLEEP else 0,
    )


def _early(random: Random) -> int:
    """Return a random step; early steps are more frequent, because short histories end early."""
    return min(random.randrange(1, _LATEST), random.randrange(1, _LATEST))


def _quarter(random: Random) -> int | None:
    return random.choice((None, 0, 1, 2, 3, 4))
