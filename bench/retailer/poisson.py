"""Random numbers of independent arrivals (Poisson)."""

from random import Random
from typing import Final

MANY: Final = 50  # above this mean, one draw from a normal distribution is close enough


def poisson(random: Random, mean: float) -> int:
    """Return a Poisson-distributed number of arrivals with this mean."""
    if mean > MANY:
        return max(0, round(random.gauss(mean, mean**0.5)))
    total, waited = 0, random.expovariate(1)
    while waited < mean:
        total += 1
        waited += random.expovariate(1)
    return total
