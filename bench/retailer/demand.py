"""Planned demand of a run, computed from seed and tick. Equal seeds give equal plans.

A tick is a tenth of a second of planned time. Every tick has its own random generator. So all
runs with the same seed, keys, rate and scenario plan the same ticks.
"""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import pi, sin
from random import Random
from typing import Final, NamedTuple

from bench.retailer.poisson import poisson
from bench.retailer.scenarios import Scenario

TICKS_PER_S: Final = 10
WAVE_TICKS: Final = 60 * TICKS_PER_S
OFFLINE_TICKS: Final = 45 * TICKS_PER_S
SKEW: Final = 0.6
LOSS_REASONS: Final = ("damage", "waste", "own_use", "found")
AHEAD_S: Final = 400
UNITS: Final = (1, 2, 3, 4)
UNIT_SHARES: Final = (80, 10, 6, 4)
UNITS_PER_LINE: Final = 1.34


class PlannedLine(NamedTuple):
    """A sale or return of key number `key`. `shift_s` moves its business time (< 0: earlier)."""

    key: int
    units: int
    condition: str
    shift_s: float


class PlannedAction(NamedTuple):
    """A transfer, count, adjustment, theft or price change: its kind, and the index of its key."""

    kind: str
    key: int
    units: int
    reason: str


@dataclass(frozen=True, slots=True)
class Tick:
    """The sale lines and other actions of a tenth of a second."""

    number: int
    lines: tuple[PlannedLine, ...]
    actions: tuple[PlannedAction, ...]


class Demand:
    """The plan of a run over `keys` keys, the most popular first. `rate` is in lines a second."""

    def __init__(self, *, seed: int, keys: int, rate: float, scenario: Scenario) -> None:
        self._seed = seed
        self._rate = rate
        self._keys = keys
        self._scenario = scenario
        self.hot = max(1, keys * scenario.hot_permille // 1000)
        self._popularity: Sequence[float] = list(
            accumulate(1 / (rank + 1) ** SKEW for rank in range(keys))
        )

    def tick(self, number: int) -> Tick:
        """Return the sale lines and other actions of one tick."""
        random = Random(f"{self._seed}:{number}")  # noqa: S311 -- traffic, not a secret
        # `swing` is a sine around 1, with a period of one minute. So waves don't change the number
        # of lines in a full minute.
        swing = 1 + self._scenario.waves * sin(2 * pi * number / WAVE_TICKS)
        count = poisson(random, self._rate / TICKS_PER_S * swing)
        lines = tuple(self._line(random) for _ in range(count))
        return Tick(number, lines, tuple(self._actions(random)))

    def expected_lines(self, seconds: float) -> list[float]:
        """Return the expected number of lines of each key in this many seconds."""
        scenario, total = self._scenario, self._rate * seconds
        special = scenario.on_one_key + scenario.on_hot_keys
        rest = total * (1 - special)
        weights = [1 / (rank + 1) ** SKEW for rank in range(self._keys)]
        expected = [rest * weight / self._popularity[-1] for weight in weights]
        expected[0] += total * scenario.on_one_key
        for key in range(self.hot):
            expected[key] += total * scenario.on_hot_keys / self.hot
        return expected

    def is_offline(self, store: str, number: int) -> bool:
        """Return True if the store's tills are offline at tick `number`; seed and tick decide."""
        share = self._scenario.offline_permille
        if not share:
            return False
        phase = number // OFFLINE_TICKS
        random = Random(f"{self._seed}:offline:{store}:{phase}")  # noqa: S311 -- traffic
        return random.randrange(1000) < share

    def _line(self, random: Random) -> PlannedLine:
        scenario = self._scenario
        key = self._bought(random)
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

    def _bought(self, random: Random) -> int:
        drawn = random.random()
        if drawn < self._scenario.on_one_key:
            return 0
        if drawn < self._scenario.on_one_key + self._scenario.on_hot_keys:
            return random.randrange(self.hot)
        return self._key(random)

    def _actions(self, random: Random) -> list[PlannedAction]:
        per_line = self._rate / TICKS_PER_S / 100
        scenario = self._scenario
        wanted = (
            ("transfer", scenario.transfers_per_100),
            ("count", scenario.counts_per_100),
            ("adjustment", scenario.adjustments_per_100),
            ("theft", scenario.thefts_per_100),
            ("price", scenario.prices_per_100),
        )
        return [
            PlannedAction(
                kind, self._key(random), random.randrange(1, 4), random.choice(LOSS_REASONS)
            )
            for kind, per_100 in wanted
            for _ in range(poisson(random, per_100 * per_line))
        ]

    def _key(self, random: Random) -> int:
        return bisect(self._popularity, random.random() * self._popularity[-1])
