"""How many arrive, when so many arrive on average."""

from random import Random
from typing import Final

MANY: Final = 50  # above it the normal curve is as good and needs one draw


def thinned(random: Random, mean: float) -> int:
    """A whole number that is `mean` on average, with the spread of independent arrivals."""
    if mean > MANY:
        return max(0, round(random.gauss(mean, mean**0.5)))
    total, waited = 0, random.expovariate(1)
    while waited < mean:
        total += 1
        waited += random.expovariate(1)
    return total
