"""The file that marks a simulation's directory. Readers of runs refuse such a directory."""

from pathlib import Path
from typing import Final

MARK: Final = "simulation.json"
FOLDER: Final = "simulations"  # below the home; runs are in backfill/runs
PREFIX: Final = "simulation-"
UNFINISHED: Final = f".{PREFIX}*.tmp"  # directories of running and killed simulations


def is_simulation(directory: Path) -> bool:
    """Return True if the directory holds the result of a simulation."""
    return (directory / MARK).exists()


def names_simulation(name: str) -> bool:
    """Return True if `name` is the name or the path of a simulation."""
    return Path(name).name.startswith(PREFIX) or (bool(name) and is_simulation(Path(name)))
