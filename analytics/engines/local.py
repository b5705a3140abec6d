"""The local engine: units over a pool of processes."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from analytics.engines.task import recompute
from analytics.engines.unit import ArchiveUnit, ManifestRow


def run_units(
    units: Sequence[ArchiveUnit], results: Path, *, processes: int | None = None
) -> Iterator[ManifestRow]:
    """One manifest row per unit, in the order in which they finish."""
    if not units:
        return
    count = min(processes or os.cpu_count() or 1, len(units))
    # spawn: the caller may have Kafka and database threads, which a fork would copy half-alive.
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(recompute, unit, results) for unit in units}
        try:
            for done in as_completed(waiting):
                yield done.result()
        finally:
            pool.shutdown(cancel_futures=True)
