"""The retailer's actions in one simulated history, drawn from a seed.

A step is a plain value, so a shorter history is the same list without some steps. A step that
deletes a row or sends a record again names the earlier step of this row or record. If a shorter
history lacks the earlier step, the later one does nothing.
"""

from dataclasses import dataclass
from random import Random
from typing import Final

from typing_extensions import override

SECOND_US: Final = 1_000_000
HOUR_US: Final = 3_600 * SECOND_US
KEYS: Final = ("S1|A", "S1|B")
PARTITIONS: Final = 2

# Kinds of steps with their weights. Some kinds give defective records.
_KINDS: Final = {
    "sale": 7,
    "return": 1,
    "old_sale": 3,
    "count": 3,
    "range": 2,
    "price_rule": 1,
    "price": 2,
    "delete": 1,
    "resend": 5,
    "snapshot": 1,
    "beat": 1,
    "garbage": 1,
    "tombstone": 1,
    "wrong_key": 1,
    "zero": 1,
}
# Times between two steps, with their weights. The limits of interest are 120 s (the dedupe ring),
# 600 s (a window), and the three to four days from the horizon to the present. A negative time sets
# the clock of Postgres back.
_GAPS_US: Final = {
    0: 6,
    SECOND_US: 8,
    30 * SECOND_US: 4,
    130 * SECOND_US: 2,
    700 * SECOND_US: 2,
    30 * HOUR_US: 1,
    100 * HOUR_US: 2,
    -HOUR_US: 1,
    -100 * SECOND_US: 1,
}
_SKEWS_MS: Final = {0: 8, -30_000: 1, 45_000: 1, -3_600_000: 1, 3_600_000: 1}
_FEWEST, _MOST = 2, 11
_REFERRING: Final = ("delete", "resend")
_OPENINGS: Final = (("range", "count"), ("price_rule", "count", "price"))
_OF_A_SNAPSHOT: Final = ("snapshot", "snapshot_range", "snapshot_count")


@dataclass(frozen=True, slots=True)
class Step:
    """One event in the shop, or between the shop and the log.

    `gap_us` is the time since the step before, on the clock of Postgres. `skew_ms` is the
    error of Connect's clock, which must not influence any result. `refers` is the number of
    the earlier step whose row is deleted or whose record is sent again.
    """

    number: int
    kind: str
    partition: int
    key: int = 0
    units: int = 1
    gap_us: int = SECOND_US
    skew_ms: int = 0
    refers: int | None = None

    @override
    def __str__(self) -> str:
        """Return a description for the list that a failing seed prints."""
        words = [f"{self.kind} [{self.partition}]"]
        if self.refers is not None:
            words.append(f"of {self.refers}")
        elif self.kind not in ("beat", "garbage", "tombstone"):
            words.append(f"{KEYS[self.key]} {self.units}")
        if self.gap_us != SECOND_US:
            words.append(f"after {self.gap_us // SECOND_US} s")
        if self.skew_ms:
            words.append(f"Connect's clock {self.skew_ms / 1000:+g} s")
        return " ".join(words)


def draw_steps(random: Random) -> tuple[Step, ...]:
    """Return a short history. It may begin with snapshot rows, or rows that cause decisions."""
    partitions = PARTITIONS if random.random() < 1 / 3 else 1
    kinds: list[str] = []
    opening = random.randrange(4)
    if opening == 0:
        kinds = random.choices(_OF_A_SNAPSHOT, k=random.randint(1, 3))
    elif opening > 1:
        kinds = list(random.choice(_OPENINGS))
    kinds += random.choices(tuple(_KINDS), tuple(_KINDS.values()), k=random.randint(_FEWEST, _MOST))
    steps: list[Step] = []
    for kind in kinds:
        steps.append(_drawn(random, len(steps), kind, partitions, steps))
    return tuple(steps)


def _drawn(random: Random, number: int, kind: str, partitions: int, before: list[Step]) -> Step:
    partition = random.randrange(partitions)
    refers = None
    if kind in _REFERRING:
        refers = _another(random, kind, partition, before)
        kind = "sale" if refers is None else kind
    return Step(
        number,
        kind,
        partition,
        key=int(random.random() < 1 / 4),
        units=random.randint(1, 9),
        gap_us=random.choices(tuple(_GAPS_US), tuple(_GAPS_US.values()))[0],
        skew_ms=random.choices(tuple(_SKEWS_MS), tuple(_SKEWS_MS.values()))[0],
        refers=refers,
    )


def _another(random: Random, kind: str, partition: int, before: list[Step]) -> int | None:
    """Return the number of a step to resend or delete, or None if there is no such step.

    A connector sends one of the newest four records again. A cashier deletes any sale, but only
    once.
    """
    here = [step for step in before if step.partition == partition]
    if kind == "resend":
        here = [step for step in here[-4:] if step.kind not in ("garbage", "tombstone")]
    else:
        gone = {step.refers for step in here if step.kind == "delete"}
        here = [step for step in here if step.kind == "sale" and step.number not in gone]
    return random.choice(here).number if here else None
