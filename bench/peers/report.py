"""The report of all runs, as a table and as JSON."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Final

from bench.peers.peer import Peer
from bench.peers.trial import MEGABYTE, Figures, Trial

COLUMNS: Final = (
    "peer",
    "outputs",
    "records",
    "records/s",
    "of each run",
    "CPU-s/M",
    "server",
    "broker",
    "peak MB",
    "start s",
    "restore s",
    "load",
)
Reading = Callable[[Figures], float]
_READINGS: Final[tuple[tuple[Reading, str], ...]] = (
    (lambda f: f.records, ",.0f"),
    (lambda f: f.records / f.wall_s, ",.0f"),
    (lambda f: f.cpu_s * 1e6 / f.records, ".2f"),
    (lambda f: f.beside_cpu_s * 1e6 / f.records, ".2f"),
    (lambda f: f.broker_cpu_s * 1e6 / f.records, ".2f"),
    (lambda f: f.peak_bytes / MEGABYTE, ",.0f"),
    (lambda f: f.start_s, ".1f"),
)


@dataclass(frozen=True, slots=True)
class Report:
    """All trials in the order in which they ran, and the size of the compared outputs."""

    peers: Sequence[Peer]
    trials: Sequence[Trial]
    keys: int
    windows: int

    def rows(self) -> list[list[str]]:
        """Return one row per peer: medians of its runs, or its problem if a run was not correct."""
        return [self._row(peer) for peer in self.peers]

    def as_text(self) -> str:
        """Return the table, then a description of each peer, then the problems."""
        rows = [list(COLUMNS), *self.rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        notes = [f"{peer.name}: {peer.title}; {peer.what}" for peer in self.peers]
        problems = [f"{trial.peer}: {trial.problem}" for trial in self.trials if trial.problem]
        return "\n".join([*lines, "", *notes, *problems])

    def as_json(self) -> dict[str, Any]:
        """Return every trial unchanged."""
        return {
            "keys": self.keys,
            "windows": self.windows,
            "trials": [asdict(trial) for trial in self.trials],
        }

    def _row(self, peer: Peer) -> list[str]:
        trials = [trial for trial in self.trials if trial.peer == peer.name]
        right = [trial.figures for trial in trials if trial.figures is not None]
        if not right or len(right) < len(trials):
            return [peer.name, _problem(trials), *[""] * (len(COLUMNS) - 2)]
        cells = [format(median(map(reading, right)), form) for reading, form in _READINGS]
        cells.insert(2, " ".join(format(f.records / f.wall_s, ",.0f") for f in right))
        restores = [trial.restore_s for trial in trials if trial.restore_s is not None]
        cells.append(format(median(restores), ".1f") if restores else "–")
        loads = [figures.load for figures in right]
        cells.append(f"{min(loads):.1f}–{max(loads):.1f}")
        return [peer.name, "right", *cells]


def _problem(trials: Sequence[Trial]) -> str:
    differing = max(trial.differing for trial in trials)
    return f"WRONG, {differing:,} differ" if differing else "no figures; the reason is below"
