"""Items for `inventory bench policy`, and a year of their customers' demand.

Items have four classes: fast and steady, slow, intermittent (long gaps, then several units at
once), and seasonal. A rule that suits one class may fail for another. The year begins on Monday,
2026-01-05.
"""

from dataclasses import dataclass
from math import cos, pi
from random import Random
from typing import Final

FAST, SLOW, INTERMITTENT, SEASONAL = "fast", "slow", "intermittent", "seasonal"
CLASSES: Final = (FAST, SLOW, INTERMITTENT, SEASONAL)
WEEKDAYS: Final = (0.85, 0.85, 0.9, 1.0, 1.2, 1.5, 0.7)
AMPLITUDE: Final = 0.85
FIRST_DAY: Final = 20_458  # days since 1970 of Monday 2026-01-05
MANY: Final = 40
PERISHABLE_PERCENT: Final = 35


@dataclass(frozen=True, slots=True)
class Item:
    """An item in one store: its cost, its supply and its average demand.

    `guess_micro` is the daily demand (micro-units) that a planner assumes. The policies with fixed
    levels calculate those levels from it.
    """

    number: int
    kind: str
    cost_minor: int
    price_minor: int
    pack_units: int
    lead_days: int
    lead_sd_centidays: int
    life_days: int | None
    daily_units: float
    guess_micro: int


def items(seed: int, number: int) -> list[Item]:
    """Return `number` items, with the four classes in turn."""
    return [_item(seed, place) for place in range(number)]


def _item(seed: int, number: int) -> Item:
    random = Random(f"{seed}:item:{number}")  # noqa: S311 -- a simulation, not a secret
    kind = CLASSES[number % len(CLASSES)]
    daily = {
        FAST: random.uniform(4, 12),
        SLOW: random.uniform(0.3, 1.0),
        INTERMITTENT: random.uniform(0.08, 0.3),
        SEASONAL: random.uniform(1.5, 4),
    }[kind]
    cost = random.randrange(150, 3000)
    keeps = random.randrange(100) >= PERISHABLE_PERCENT
    return Item(
        number=number,
        kind=kind,
        cost_minor=cost,
        price_minor=round(cost * random.uniform(1.5, 1.9)),
        pack_units=random.choice((1, 1, 6) if daily < 1 else (1, 6, 12)),
        lead_days=random.randrange(2, 9),
        lead_sd_centidays=random.choice((50, 100, 200)),
        life_days=None if keeps else random.choice((45, 90)),
        daily_units=daily,
        guess_micro=round(daily * random.uniform(0.7, 1.3) * 1_000_000),
    )


def year_of(seed: int, item: Item, days: int) -> list[int]:
    """Return the units that customers want on each day."""
    random = Random(f"{seed}:demand:{item.number}")  # noqa: S311 -- a simulation, not a secret
    peak = random.random()
    return [_wanted(random, item, day, peak) for day in range(days)]


def _wanted(random: Random, item: Item, day: int, peak: float) -> int:
    mean = item.daily_units * WEEKDAYS[day % 7]
    if item.kind == SEASONAL:
        mean *= 1 + AMPLITUDE * cos(2 * pi * (day / 365 - peak))
    if item.kind == INTERMITTENT:
        # Few days have a customer, who takes two to six units.
        return random.randint(2, 6) if random.random() < mean / 4 else 0
    return _arrivals(random, mean)


def _arrivals(random: Random, mean: float) -> int:
    if mean > MANY:
        return max(0, round(random.gauss(mean, mean**0.5)))
    total, waited = 0, random.expovariate(1)
    while waited < mean:
        total += 1
        waited += random.expovariate(1)
    return total


def lead_days(seed: int, item: Item, order: int) -> int:
    """Return the lead time in days of the item's order with number `order`.

    The orders of an item are numbered from 1. An order number has the same lead time under every
    policy.
    """
    random = Random(f"{seed}:lead:{item.number}:{order}")  # noqa: S311 -- a simulation
    return max(1, round(random.gauss(item.lead_days, item.lead_sd_centidays / 100)))
