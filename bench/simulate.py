"""`inventory bench simulate`: the stream engine against everything that can happen to it.

Each seed is a short history of trade and faults on a broker in memory, run by the engine's own code
and compared with a single pass over the same records (docs/testing.md). Needs no stack.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context
from typing import Any, Final, Never

import structlog

from bench.simulation.disk import Disk
from bench.simulation.plan import draw_plan
from bench.simulation.shrink import Found, Kept, shortest, violation_of

MOST_FOUND: Final = 5  # failing seeds that are shortened; the others would be the same defect
_BATCH: Final = 250

Tell = Callable[[str], None]


@dataclass(slots=True)
class Report:
    """How many seeds ran, and what they found."""

    start: int
    seeds: int = 0
    seconds: float = 0.0
    found: list[Found] = field(default_factory=list)
    failed: int = 0

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "start": self.start,
            "seeds": self.seeds,
            "seconds": round(self.seconds, 1),
            "failed": self.failed,
            "found": [
                {"seed": f.seed, "promise": f.promise, "command": f.command} for f in self.found
            ],
        }

    def as_text(self) -> str:
        """For people."""
        rate = self.seeds / self.seconds if self.seconds else 0
        summary = (
            f"{self.seeds} seeds from {self.start} in {self.seconds:.0f} s ({rate:.0f}/s), "
            f"{self.failed} failed"
        )
        return "\n\n".join([*(found.as_text() for found in self.found), summary])


def run(*, start: int, seeds: int, workers: int, tell: Tell) -> Report:
    """Simulate `seeds` histories; the first failing ones are shortened."""
    report = Report(start)
    began = time.monotonic()
    batches = [
        (first, min(_BATCH, start + seeds - first)) for first in range(start, start + seeds, _BATCH)
    ]
    for (first, size), failing in zip(batches, _failing(batches, workers), strict=True):
        report.seeds += size
        report.failed += len(failing)
        for seed in islice(failing, MOST_FOUND - len(report.found)):
            found = replay(seed)
            if found is not None:
                report.found.append(found)
                tell(f"seed {found.seed} fails")
        report.seconds = time.monotonic() - began
        if first // 10_000 != (first + size) // 10_000:
            tell(f"{report.seeds} seeds, {report.failed} failed, {report.seconds:.0f} s")
    return report


def replay(seed: int, kept: Kept | None = None) -> Found | None:
    """What fails in one seed, as short as possible, or as short as `kept` says."""
    with silent(), Disk() as disk:
        return shortest(seed, disk, kept)


def failing_seeds(batch: tuple[int, int]) -> list[int]:
    """Those of `size` seeds from `first` on that violate a promise."""
    first, size = batch
    with silent(), Disk() as disk:
        return [
            seed
            for seed in range(first, first + size)
            if violation_of(draw_plan(seed), disk)[0] is not None
        ]


def first_found(start: int, seeds: int) -> Found | None:
    """The first failing seed, shortened; None if none of them fails."""
    with silent(), Disk() as disk:
        for seed in range(start, start + seeds):
            if violation_of(draw_plan(seed), disk)[0] is not None:
                return shortest(seed, disk)
    return None


def _failing(batches: list[tuple[int, int]], workers: int) -> Iterator[list[int]]:
    if workers == 1:
        yield from map(failing_seeds, batches)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        yield from pool.map(failing_seeds, batches)


@contextmanager
def silent() -> Iterator[None]:
    """Let nobody write logs of simulated workers."""
    before = structlog.get_config()
    structlog.configure(processors=[_drop], cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)


def _drop(*_: object) -> Never:
    raise structlog.DropEvent
