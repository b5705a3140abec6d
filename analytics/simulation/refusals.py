"""Errors of a simulation: problem, what was kept, next step."""

from typing import Final

from analytics.damage import Damage

KEPT: Final = "nothing was simulated, and no file was changed"


class SimulationRefused(Damage, ValueError):
    """A scenario, an option or a directory can't be used."""

    exit_code = 2


def refused(problem: str, step: str) -> SimulationRefused:
    """Return the error of a simulation that has not begun."""
    return SimulationRefused(problem, KEPT, step)
