"""`inventory bench simulate`: simulation of the stream engine under random faults.

Each seed is a short history of trade and faults on a broker in memory, run by the engine's own
code. The results are compared with a single pass over the same records (docs/testing.md). The bench
needs no stack.
"""

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from bench.simulation.batches import failing_batches, replay
from bench.simulation.shrink import Found

MOST_FOUND: Final = 5  # failing seeds to shorten; further ones probably show the same defect
_BATCH: Final = 250
_REPORT_SEEDS: Final = 1_000
_REPORT_S: Final = 60.0

Progress = Callable[[str], None]


@dataclass(slots=True)
class Report:
    """The number of seeds that ran, and the failures found."""

    start: int
    seeds: int = 0
    seconds: float = 0.0
    found: list[Found] = field(default_factory=list)
    failed: int = 0
    is_cut_off: bool = False

    @property
    def exit_code(self) -> int:
        """Return 130 if the run was interrupted, else 1 if a seed failed, else 0."""
        return 130 if self.is_cut_off else int(self.failed > 0)

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
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
        """Return the failures and a summary line as text for a terminal."""
        rate = self.seeds / self.seconds if self.seconds else 0
        summary = (
            f"{self.seeds} seeds from {self.start} in {self.seconds:.0f} s ({rate:.0f}/s), "
            f"{self.failed} failed"
        )
        if self.is_cut_off:
            summary += f"; continue with --start {self.start + self.seeds}"
        return "\n\n".join([*(found.as_text() for found in self.found), summary])


def run(*, start: int, seeds: int, workers: int, progress: Progress) -> Report:
    """Simulate `seeds` histories. Shorten the first failing ones. Return the report.

    SIGINT or SIGTERM ends the simulation after the current batch. The same signal again ends it at
    once. The report has the number of finished seeds, and no child process is left.
    """
    report = Report(start)
    try:
        with _signals() as arrived:
            _run(report, seeds, workers, progress, arrived)
    except KeyboardInterrupt:
        report.is_cut_off = True
    return report


def _run(
    report: Report, seeds: int, workers: int, progress: Progress, arrived: Sequence[int]
) -> None:
    began, reported_s, reported_seeds = time.monotonic(), 0.0, 0
    end = report.start + seeds
    batches = [(first, min(_BATCH, end - first)) for first in range(report.start, end, _BATCH)]
    with closing(failing_batches(batches, workers)) as results:
        for (_, size), failing in zip(batches, results, strict=True):
            report.seeds += size
            report.failed += len(failing)
            for seed in islice(failing, MOST_FOUND - len(report.found)):
                found = replay(seed)
                if found is not None:
                    report.found.append(found)
                    progress(f"seed {found.seed} fails")
            report.seconds = time.monotonic() - began
            if (
                report.seeds - reported_seeds >= _REPORT_SEEDS
                or report.seconds - reported_s >= _REPORT_S
            ):
                reported_s, reported_seeds = report.seconds, report.seeds
                progress(f"{report.seeds} seeds, {report.failed} failed, {report.seconds:.0f} s")
            if arrived:
                report.is_cut_off = True
                return


@contextmanager
def _signals() -> Iterator[Sequence[int]]:
    """Yield a list of the signals that have arrived. A repeated signal raises an exception.

    The first signal raises no exception, because Python would only print and ignore an exception
    in a destructor.
    """
    arrived: list[int] = []

    def note(number: int, _frame: object) -> None:
        arrived.append(number)
        signal.signal(number, signal.default_int_handler)

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        if before[number] is not signal.SIG_IGN:  # SIG_IGN: a script started us with &
            signal.signal(number, note)
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
