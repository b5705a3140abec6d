"""Runs of one worker and of two on the same log, in the order 1, 2, 2, 1.

Most of the log exists before the workers start. When every partition has an owner and a worker
answers queries, the bench writes up to 5,000 more lines, and the measured time begins. So records
are left to measure even if a worker starts late. The measured time ends when the workers have
committed the last record. A wrong key or window in the outputs is an error.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.errors import BenchFailed
from bench.peers.catalogue import fresh_worker
from bench.peers.groups import committed, wake_groups
from bench.peers.outputs import of_worker
from bench.peers.peer import PeerContext, Services
from bench.peers.sales import Sums, draw
from bench.peers.topics import ends, produce
from bench.peers.worker_prelude import opening, opening_units
from bench.scaling.fleet import Fleet, started
from bench.scaling.query_load import QueryLoad
from cdc.contracts.topics import APP_ID, STOCK_EVENTS

COUNTS: Final = (1, 2)
_ASKED: Final = 50  # keys that a client queries in turn during the measurement
_FOLLOW: Final = 5_000  # largest number of lines that a run adds to the log

Progress = Callable[[str], None]
Ports = Callable[[int], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Plan:
    """Size of the measurement: sale lines, keys, and blocks (`rounds`).

    Each block has one run with one worker and one with two. `timeout_s` limits each wait of a run.
    """

    records: int
    keys: int
    rounds: int
    timeout_s: float

    def order(self) -> Iterator[int]:
        """Yield the number of workers of each run; every second block has the reverse order."""
        for block in range(self.rounds):
            yield from COUNTS if block % 2 == 0 else reversed(COUNTS)


@dataclass(frozen=True, slots=True)
class Figures:
    """One run: records, seconds and CPU seconds of the measured part, and the waits of queries.

    `load` is the machine's load average of one minute at the end.
    """

    workers: int
    records: int
    wall_s: float
    cpu_s: float
    answers: int
    unanswered: int
    wait_p99_s: float
    wait_longest_s: float
    load: float

    @property
    def rate(self) -> float:
        """Records per second."""
        return self.records / self.wall_s


@dataclass(frozen=True, slots=True)
class Report:
    """All runs in their order, and the numbers of keys and windows in the expected outputs."""

    runs: Sequence[Figures]
    keys: int
    windows: int

    @property
    def gain(self) -> float:
        """Median rate of two workers, divided by the median rate of one."""
        one, two = (median(run.rate for run in self.of(count)) for count in COUNTS)
        return two / one

    def of(self, workers: int) -> list[Figures]:
        """Return the runs with this number of workers."""
        return [run for run in self.runs if run.workers == workers]

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        runs = [{**asdict(run), "records_per_s": run.rate} for run in self.runs]
        return {"keys": self.keys, "windows": self.windows, "gain": self.gain, "runs": runs}

    def as_text(self) -> str:
        """Return a table with one row per run, and the gain of two workers.

        The table has no column for wrong outputs, because they end the bench with `BenchFailed`.
        """
        lines = ["workers   records records/s  CPU-s/M  answers  p99 ms longest ms  load"]
        lines += [
            f"{run.workers:>7} {run.records:>9,} {run.rate:>9,.0f} "
            f"{run.cpu_s * 1e6 / run.records:>8.1f} {run.answers:>8,} "
            f"{run.wait_p99_s * 1e3:>7.0f} {run.wait_longest_s * 1e3:>10.0f} {run.load:>5.1f}"
            for run in self.runs
        ]
        gain = f"two workers fold {self.gain:.2f} times as fast as one"
        return "\n".join([*lines, "", gain])


def run(plan: Plan, services: Services, ports: Ports, scratch: Path, progress: Progress) -> Report:
    """Write the log once. Then process it in several runs, with one worker or with two.

    Raises:
        BenchFailed: a worker ended, a deadline passed, or a key or window was wrong.
    """
    order = list(plan.order())
    follow = min(_FOLLOW, plan.records)
    sales = draw(plan.records + follow * (len(order) - 1), plan.keys)
    lines, written = sales.records(), plan.records - follow
    wake_groups(services.bootstrap)
    ahead = chain(opening(plan.keys), islice(lines, written))
    produce(services.bootstrap, STOCK_EVENTS, ahead)
    asked, expected = sales.names[:_ASKED], Sums()
    runs = []
    for number, workers in enumerate(order, 1):
        context = PeerContext(services, STOCK_EVENTS, APP_ID, scratch / f"{number}", plan.keys)
        fresh_worker(context)
        with started(services, ports(workers), context.directory) as fleet:
            last = list(islice(lines, follow))
            runs.append(_measured(context, fleet, asked, last, plan.timeout_s))
        written += follow
        expected = sales.first(written).sums()
        _refuse_wrong(context, expected)
        progress(f"{workers} workers: {runs[-1].rate:,.0f} records/s, every key and window right")
    return Report(runs, len(expected.on_hand), len(expected.windows))


def _measured(
    context: PeerContext,
    fleet: Fleet,
    asked: Sequence[str],
    last: Sequence[tuple[bytes, bytes]],
    timeout_s: float,
) -> Figures:
    workers, bootstrap = len(fleet.urls), context.services.bootstrap
    length = sum(ends(bootstrap, STOCK_EVENTS).values()) + len(last)
    fleet.until(lambda: len(fleet.owners()) == workers, "owner of each partition", timeout_s)
    with QueryLoad(fleet.urls[0], fleet.token, asked) as query_load:
        fleet.until(lambda: bool(query_load.waited_s), "answer", timeout_s)
        before, cpu_before, began = _position(context), fleet.cpu_s(), time.monotonic()
        produce(bootstrap, STOCK_EVENTS, last)
        fleet.until(lambda: _position(context) >= length, "commit of the last record", timeout_s)
        wall_s, cpu_s = time.monotonic() - began, fleet.cpu_s() - cpu_before
    return Figures(
        workers=workers,
        records=length - before,
        wall_s=wall_s,
        cpu_s=cpu_s,
        answers=len(query_load.waited_s),
        unanswered=query_load.unanswered,
        wait_p99_s=query_load.p99_s,
        wait_longest_s=max(query_load.waited_s),
        load=os.getloadavg()[0],
    )


def _position(context: PeerContext) -> int:
    return sum(committed(context.services.bootstrap, context.name, context.topic).values())


def _refuse_wrong(context: PeerContext, expected: Sums) -> None:
    found = of_worker(context.services.bootstrap, opening_units(context.keys))
    differing = expected.differing(found)
    if differing:
        problem = f"{differing:,} keys and windows differ from the expected outputs"
        raise BenchFailed(problem)
