"""The local engine: it computes units in a pool of processes."""

import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from itertools import islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

from analytics.engines.failure import UnitFailed
from analytics.engines.task import attempt
from analytics.engines.tasks import Result, RunTasks, Task
from analytics.engines.unit import ArchiveUnit, ManifestRow

# One unit runs and one waits, so that a process never waits for the driver.
UNITS_PER_PROCESS = 2


def run_units(
    units: Sequence[ArchiveUnit], results: Path, *, processes: int | None = None
) -> Iterator[ManifestRow | UnitFailed]:
    """Compute the units in a pool of processes. Yield one result per unit as units finish.

    After a failed unit no further unit is submitted. Units that are in the pool already may still
    be computed: at most `UNITS_PER_PROCESS` for each process.
    """
    if not units:
        return
    with opened_pool(len(units), processes=processes) as run_tasks:
        yield from run_tasks(units, partial(attempt, results=results))


@contextmanager
def opened_pool(most: int, *, processes: int | None = None) -> Iterator[RunTasks]:
    """Start a pool of processes. Yield the function that runs tasks in the pool.

    The pool has `processes` processes, by default one per core, and never more than `most`.
    """
    count = max(1, min(processes or os.cpu_count() or 1, most))
    # spawn: the caller may have Kafka and database threads, whose locks a fork would copy.
    with ProcessPoolExecutor(
        count, mp_context=get_context("spawn"), initializer=_begin_child
    ) as pool:
        try:
            yield partial(_run, pool, UNITS_PER_PROCESS * count)
        finally:
            pool.shutdown(cancel_futures=True)


def _run(
    pool: ProcessPoolExecutor, most: int, units: Sequence[ArchiveUnit], task: Task[Result]
) -> Iterator[Result | UnitFailed]:
    """Yield results as units finish. At any time, at most `most` units are in the pool.

    After a failed unit, cancel the units that wait in the pool. On a busy machine the pool may have
    finished all of them before this process notices the failure.
    """
    left = iter(units)
    waiting = {_submit(pool, task, unit) for unit in islice(left, most)}
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        found = [_result(each) for each in done]
        if any(isinstance(each, UnitFailed) for each in found):
            left = iter(())
            # `wait` never returns a cancelled future, so wait only for those that have begun.
            waiting = {each for each in waiting if not each.cancel()}
        waiting |= {_submit(pool, task, unit) for unit in islice(left, len(done))}
        yield from found


def _submit(
    pool: ProcessPoolExecutor, task: Task[Result], unit: ArchiveUnit
) -> Future[Result | UnitFailed]:
    try:
        return pool.submit(task, unit)
    except BrokenProcessPool as error:  # a process was killed since the last result
        ended: Future[Result | UnitFailed] = Future()
        ended.set_exception(error)
        return ended


def _result(done: Future[Result | UnitFailed]) -> Result | UnitFailed:
    try:
        return done.result()
    except BrokenProcessPool:
        problem = (
            "stage fold: a process of the pool ended without a result: it was killed, or memory "
            "ran out"
        )
        step = "free some memory or raise `--buckets`, then start the same command again"
        return UnitFailed("", problem, step)


def _begin_child() -> None:
    """Make this child process end at SIGTERM, and when the driver ends or is killed."""
    # After a child was killed, the pool ends the others by SIGTERM and waits for them. A Python
    # handler could wait forever for a lock, for example that of a coverage tool.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # skips exit handlers and buffers: without a driver nothing reads them
