"""`inventory bench publish`: seconds of each step from a log to a published logic revision.

A generated retailer is written into `stock.events` of a separate broker. Its records are archived,
recomputed by the local engine and published into the changelogs of this code's logic revision.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from analytics import kafka
from analytics.archive.complete import archive_until
from analytics.backfill.run import run as recompute
from bench.backfill.archive import Size, events
from bench.peers.topics import produce
from cdc.contracts.topics import PARTITIONS, STOCK_EVENTS
from cdc.settings import Connections

_ARCHIVED_S: Final = 3_600.0

Progress = Callable[[str], None]
Publish = Callable[[Connections, str], int]  # publishes a run, returns the number of keys


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its name, unit and number of units, seconds, and CPU seconds of this process.

    The CPU seconds of the step `recompute` include its pool of processes. No step includes the CPU
    time of the broker.
    """

    name: str
    unit: str
    count: int
    seconds: float
    cpu_s: float

    def as_text(self) -> str:
        """Return the step as a row of the table."""
        rate = f"{self.count / self.seconds:>10,.0f} {self.unit}/s"
        return f"{self.name:<10} {self.count:>11,} {self.seconds:>9.1f} {self.cpu_s:>8.1f} {rate}"


@dataclass(frozen=True, slots=True)
class Report:
    """The measured steps in the order in which they ran, and the machine's load before them.

    `load` is the load average over one minute, measured before the records were written.
    """

    keys: int
    records: int
    load: float
    steps: tuple[Step, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return asdict(self)

    def as_text(self) -> str:
        """Return the report as a table."""
        head = f"{self.keys:,} keys, {self.records:,} records, load {self.load:.1f}"
        columns = f"{'step':<10} {'count':>11} {'seconds':>9} {'CPU-s':>8} {'rate':>10}"
        return "\n".join([head, "", columns, *(step.as_text() for step in self.steps)])


def run(size: Size, bootstrap: str, scratch: Path, publish: Publish, progress: Progress) -> Report:
    """Write records to the source log. Return the times to archive, recompute and publish them.

    Raises:
        BenchFailed: the broker did not acknowledge all records.
    """
    settings = Connections(home=scratch, kafka_bootstrap=bootstrap)
    settings.archive_dir.mkdir(parents=True)
    load, steps = os.getloadavg()[0], list[Step]()
    progress(f"writing {size.records} records of {size.keys} keys")
    produce(bootstrap, STOCK_EVENTS, ((event.key, event.value) for event in events(size)))
    ends = kafka.end_offsets(bootstrap, STOCK_EVENTS, PARTITIONS)
    progress("archiving")
    with _timed(steps, "archive", "records") as counted:
        archive_until(settings, ends, timeout_s=_ARCHIVED_S)
        counted(sum(ends.values()))
    progress("recomputing")
    with _timed(steps, "recompute", "records") as counted:
        computed = recompute("local", settings=settings)
        counted(size.records)
    progress(f"publishing {computed.plan.run}")
    with _timed(steps, "publish", "keys") as counted:
        counted(publish(settings, computed.plan.run))
    return Report(size.keys, size.records, load, tuple(steps))


@contextmanager
def _timed(steps: list[Step], name: str, unit: str) -> Iterator[Callable[[int], None]]:
    """Measure the block and add it to `steps`. Yield a function that takes the number of units."""
    counts: list[int] = []
    began, before = time.monotonic(), os.times()
    yield counts.append
    after = os.times()
    cpu_s = sum(after[:4]) - sum(before[:4])
    steps.append(Step(name, unit, sum(counts), time.monotonic() - began, cpu_s))
