"""Seeded demand: seed and tick in, commands out. Pure, so the same seed always trades the same.

A tick is a tenth of a second of planned time. Every tick has its own generator, so that a run that
starts later or was interrupted plans the same ticks.
"""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Final, NamedTuple

from webui.trading.scenarios import Scenario

TICKS_PER_S: Final = 10
SKEW: Final = 0.8
LOSS_REASONS: Final = ("theft", "damage", "waste", "found")
AHEAD_S: Final = 400
UNITS: Final = (1, 2, 3, 4)
UNIT_SHARES: Final = (80, 10, 6, 4)
MANY: Final = 50  # above it the normal curve is as good and needs one draw


class PlannedLine(NamedTuple):
    """A sale or return of the key with this index; `shift_s` moves its time (negative: earlier)."""

    key: int
    units: int
    condition: str
    shift_s: float


class Errand(NamedTuple):
    """Anything else that happens in a shop: what, and at the key with this index."""

    kind: str
    key: int
    units: int
    reason: str


@dataclass(frozen=True, slots=True)
class Tick:
    """What a tenth of a second brings."""

    number: int
    lines: tuple[PlannedLine, ...]
    errands: tuple[Errand, ...]


class Demand:
    """The plan of a run over `keys` keys, the most popular first."""

    def __init__(self, *, seed: int, keys: int, rate: float, scenario: Scenario) -> None:
        self._seed = seed
        self._rate = rate
        self._scenario = scenario
        self._popularity: Sequence[float] = list(
            accumulate(1 / (rank + 1) ** SKEW for rank in range(keys))
        )

    def tick(self, number: int) -> Tick:
        """The commands of one tick."""
        random = Random(f"{self._seed}:{number}")  # noqa: S311 -- traffic, not a secret
        count = self._arrivals(random, self._rate / TICKS_PER_S)
        lines = tuple(self._line(random) for _ in range(count))
        return Tick(number, lines, tuple(self._errands(random)))

    def _line(self, random: Random) -> PlannedLine:
        scenario = self._scenario
        hot = random.random() < scenario.on_one_key
        key = 0 if hot else self._key(random)
        units = random.choices(UNITS, UNIT_SHARES)[0]
        shift = 0.0
        if random.random() < scenario.late:
            shift = -random.expovariate(1 / scenario.late_mean_s)
        elif random.random() < scenario.ahead:
            shift = float(AHEAD_S)
        if random.random() < scenario.returned:
            condition = random.choices(("resaleable", "damaged"), (4, 1))[0]
            return PlannedLine(key, -units, condition, shift)
        return PlannedLine(key, units, "resaleable", shift)

    def _errands(self, random: Random) -> list[Errand]:
        per_line = self._rate / TICKS_PER_S / 100
        scenario = self._scenario
        wanted = (
            ("transfer", scenario.transfers_per_100),
            ("count", scenario.counts_per_100),
            ("adjustment", scenario.adjustments_per_100),
        )
        return [
            Errand(kind, self._key(random), random.randrange(1, 4), random.choice(LOSS_REASONS))
            for kind, per_100 in wanted
            for _ in range(self._arrivals(random, per_100 * per_line))
        ]

    def _key(self, random: Random) -> int:
        return bisect(self._popularity, random.random() * self._popularity[-1])

    @staticmethod
    def _arrivals(random: Random, mean: float) -> int:
        """How many arrive in a span in which `mean` arrive on average."""
        if mean > MANY:
            return max(0, round(random.gauss(mean, mean**0.5)))
        total, waited = 0, random.expovariate(1)
        while waited < mean:
            total += 1
            waited += random.expovariate(1)
        return total
