"""Simulation of seeds, in this process or in child processes."""

import os
import signal
from collections.abc import Generator, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from typing import Never

import structlog

from bench.simulation.disk import Disk
from bench.simulation.plan import draw_plan
from bench.simulation.shrink import Found, Kept, shortest, violation_of


def sizes(seed: int) -> tuple[int, int]:
    """Return the numbers of steps and faults of a seed's history."""
    plan = draw_plan(seed)
    return len(plan.steps), len(plan.faults)


def replay(seed: int, kept: Kept | None = None) -> Found | None:
    """Return the failure of a seed, or None if its history passes.

    With `kept`, run only these steps and faults. Without it, reduce a failing history to as few
    steps and faults as possible.
    """
    with silent(), Disk() as disk:
        return shortest(seed, disk, kept)


def failing_seeds(batch: tuple[int, int]) -> list[int]:
    """Return the seeds of a batch (first seed, number of seeds) that violate a guarantee."""
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
    """Return the first failing seed with its shortest history; None if no seed fails."""
    with silent(), Disk() as disk:
        for seed in range(start, start + seeds):
            if violation_of(draw_plan(seed), disk)[0] is not None:
                return shortest(seed, disk)
    return None


def failing_batches(
    batches: list[tuple[int, int]], workers: int
) -> Generator[list[int], None, None]:
    """Yield the failing seeds of each batch, in order, from `workers` processes."""
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
    """Return the failing seeds of a batch. If SIGTERM ends the process, it deletes its files."""
    with silent(), Disk() as disk:
        # The handler raises no exception. If the signal arrives while Python runs a destructor,
        # Python would only print the exception and continue.
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
