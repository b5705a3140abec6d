"""`inventory bench simulate`: simulation of the stream engine under random faults.

Each seed is a short history of trade and faults on a broker in memory, run by the engine's own
code. The results are compared with a single pass over the same records (docs/testing.md). Needs no
stack.
"""

import os
import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from typing import Any, Final, Never

import structlog

from bench.simulation.disk import Disk
from bench.simulation.plan import draw_plan
from bench.simulation.shrink import Found, Kept, shortest, violation_of

MOST_FOUND: Final = 5  # failing seeds that are shortened; further ones are probably the same defect
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
        """Return 0 if no seed failed, 1 if one failed, 130 if the run was interrupted."""
        return 130 if self.is_cut_off else int(self.failed > 0)

    def as_json(self) -> dict[str, Any]:
        """Return the report for programs."""
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
    """Simulate `seeds` histories; shorten the first failing ones.

    SIGINT or SIGTERM ends the simulation after the current batch, a second signal at once. The
    report has the number of finished seeds, and no process is left.
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
    with closing(_failing(batches, workers)) as results:
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
    """Yield a list of the signals that have arrived. A second signal of a kind raises at once.

    The first signal raises no exception: Python would print and swallow one in a destructor.
    """
    arrived: list[int] = []

    def note(number: int, _frame: object) -> None:
        arrived.append(number)
        signal.signal(number, signal.default_int_handler)

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        if before[number] is not signal.SIG_IGN:  # ignored in the background of a script
            signal.signal(number, note)
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def sizes(seed: int) -> tuple[int, int]:
    """Return the numbers of steps and faults of a seed's history."""
    plan = draw_plan(seed)
    return len(plan.steps), len(plan.faults)


def replay(seed: int, kept: Kept | None = None) -> Found | None:
    """Return the shortest failure of a seed, or the one reduced to `kept`; None if it passes."""
    with silent(), Disk() as disk:
        return shortest(seed, disk, kept)


def failing_seeds(batch: tuple[int, int]) -> list[int]:
    """Return the seeds of a batch (first seed, number of seeds) that violate a promise."""
    with silent(), Disk() as disk:
        return _failing_on(disk, batch)


def _failing_on(disk: Disk, batch: tuple[int, int]) -> list[int]:
    first, size = batch
    return [
        seed
        for seed in range(first, first + size)
        if violation_of(draw_plan(seed), disk)[0] is not None
    ]


def first_found(start: int, seeds: int) -> Found | None:
    """Return the first failing seed, shortened; None if none of them fails."""
    with silent(), Disk() as disk:
        for seed in range(start, start + seeds):
            if violation_of(draw_plan(seed), disk)[0] is not None:
                return shortest(seed, disk)
    return None


def _failing(batches: list[tuple[int, int]], workers: int) -> Generator[list[int], None, None]:
    if workers == 1:
        yield from map(failing_seeds, batches)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_begin_child) as pool:
        try:
            # Children inherit the blocked signal: only the parent handles Ctrl-C, even during their
            # start.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            futures = [pool.submit(_in_child, batch) for batch in batches]
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            for future in futures:
                yield future.result()
        except BaseException:
            for child in active_children():
                child.terminate()
            raise


def _begin_child() -> None:
    """End this child when its parent ends, for any reason."""
    Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    parent = parent_process()
    assert parent is not None  # noqa: S101 -- this runs in spawned children only
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _in_child(batch: tuple[int, int]) -> list[int]:
    """Return the failing seeds of a batch; a process that is terminated leaves no files."""
    with silent(), Disk() as disk:
        # End without an exception: Python would print and swallow one in a destructor.
        signal.signal(signal.SIGTERM, lambda *_: _end_child(disk))
        found = _failing_on(disk, batch)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    return found


def _end_child(disk: Disk) -> Never:
    try:
        disk.__exit__(None, None, None)
    finally:
        os._exit(1)


@contextmanager
def silent() -> Iterator[None]:
    """Suppress the logs of simulated workers."""
    before = structlog.get_config()
    structlog.configure(processors=[_drop], cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)


def _drop(*_: object) -> Never:
    raise structlog.DropEvent
