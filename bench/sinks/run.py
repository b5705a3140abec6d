"""`inventory bench sinks`: the rate of each sink alone, on a generated log, with its CPU time.

The bench writes the complete log before the first sink starts. Then one sink after the other runs
as a process, as in a stack. The measured time begins when the sink logs the line before its first
read, and ends when the effect of the last record is committed. Then the bench stops the sink and
compares its contents with the log: every archived record, rows and sums of the read model, numbers
of proposals, or the levels that the hub of the pages remembers. A difference ends the bench.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from subprocess import Popen
from typing import Any, Final

import psycopg

from bench.backfill.archive import Size, events
from bench.children import log_tail, stop
from bench.errors import BenchFailed
from bench.peers.usage import usage
from bench.sinks.log import KafkaWriter, MadeLog, write_log
from bench.sinks.sinks import Place, Sink, sinks
from cdc.capture.admin import create_topics
from streams.engine.garbage import collect_rarely

GOAL: Final = 20_000  # records/s of each sink
_POLL_S: Final = 0.02
_STARTED_S: Final = 120.0
_SILENT_S: Final = 60.0  # longest time without a newly committed record
_COLUMNS: Final = (
    f"{'sink':<10} {'records':>10} {'seconds':>8} {'records/s':>10} "
    f"{'CPU-us a record: sink':>22} {'Postgres':>9} {'broker':>7} {'load':>5}"
)

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """One sink: records, seconds, and the CPU time of sink, Postgres and broker in µs per record.

    `load` is the machine's load average of one minute before the sink started.
    """

    name: str
    records: int
    seconds: float
    sink_us: float
    postgres_us: float
    broker_us: float
    load: float

    @property
    def rate(self) -> float:
        """Records per second."""
        return self.records / self.seconds

    def as_text(self) -> str:
        """Return the sink as a row of the table."""
        return (
            f"{self.name:<10} {self.records:>10,} {self.seconds:>8.1f} {self.rate:>10,.0f} "
            f"{self.sink_us:>22.1f} {self.postgres_us:>9.1f} {self.broker_us:>7.1f} "
            f"{self.load:>5.1f}"
        )


@dataclass(frozen=True, slots=True)
class Report:
    """All sinks in their order, with the size of the log."""

    facts: int
    keys: int
    seed: int
    sinks: tuple[Measured, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        rows = [{**asdict(sink), "records_per_s": sink.rate} for sink in self.sinks]
        return {"facts": self.facts, "keys": self.keys, "seed": self.seed, "sinks": rows}

    def as_text(self) -> str:
        """Return the report as a table, and the sinks that miss the goal.

        The table has no column for wrong contents, because they end the bench with `BenchFailed`.
        """
        slow = [sink.name for sink in self.sinks if sink.rate < GOAL]
        reached = f"missed by {', '.join(slow)}" if slow else "reached by each"
        return "\n".join(
            [
                f"{self.facts:,} facts of {self.keys:,} keys, seed {self.seed}",
                "",
                _COLUMNS,
                *(sink.as_text() for sink in self.sinks),
                "",
                f"goal of {GOAL:,} records/s: {reached}",
            ]
        )


def run(size: Size, place: Place, progress: Progress) -> Report:
    """Write the log, then measure one sink after the other.

    Raises:
        BenchFailed: a sink ended, committed no record for a minute, or wrote wrong contents.
    """
    collect_rarely()  # as a worker does, because this process folds the log
    progress(f"folding and writing {size.records:,} facts of {size.keys:,} keys")
    create_topics(place.bootstrap)
    writer = KafkaWriter(place.bootstrap)
    made = write_log(events(size), writer)
    writer.flush()
    measured = []
    with psycopg.connect(place.database_url, autocommit=True) as connection:
        for sink in sinks(place, connection):
            measured.append(_measured(sink, made, place))
            progress(f"{sink.name}: {measured[-1].rate:,.0f} records/s, equal to the log")
    return Report(size.records, made.keys, size.seed, tuple(measured))


def _measured(sink: Sink, made: MadeLog, place: Place) -> Measured:
    records, load = made.records(*sink.topics), os.getloadavg()[0]
    sink.prepare()
    log = place.home / f"bench-{sink.name}.log"
    with _started(sink, place, log) as process:
        _await_begin(sink, process, log)
        pids = (process.pid, place.postgres_pid, place.broker_pid)
        began, before = time.monotonic(), [usage(pid).cpu_s for pid in pids]
        _await_position(sink, made, records, process, log)
        seconds, after = time.monotonic() - began, [usage(pid).cpu_s for pid in pids]
    _refuse_wrong(sink, made)
    own, postgres, broker = (
        (end - start) * 1e6 / records for end, start in zip(after, before, strict=True)
    )
    return Measured(sink.name, records, seconds, own, postgres, broker, load)


@contextmanager
def _started(sink: Sink, place: Place, log: Path) -> Iterator[Popen[bytes]]:
    process = place.start(sink.service, sink.arguments, log)
    try:
        yield process
    finally:
        stop(process)


def _await_begin(sink: Sink, process: Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _STARTED_S
    while f'"{sink.begins}"' not in log.read_text("utf-8", errors="replace"):
        _refuse_ended(sink, process, log)
        if time.monotonic() > deadline:
            problem = f"{sink.name} has not begun after {_STARTED_S:.0f} s: {log_tail(log)}"
            raise BenchFailed(problem)
        time.sleep(_POLL_S)


def _await_position(
    sink: Sink, made: MadeLog, records: int, process: Popen[bytes], log: Path
) -> None:
    """Wait until the sink's position is at the end of its topics."""
    position, moved_at = sink.position(made), time.monotonic()
    while position < records:
        _refuse_ended(sink, process, log)
        if time.monotonic() - moved_at > _SILENT_S:
            problem = (
                f"{sink.name}: no record was committed for {_SILENT_S:.0f} s after {position:,} of "
                f"{records:,}: {log_tail(log)}"
            )
            raise BenchFailed(problem)
        time.sleep(_POLL_S)
        former, position = position, sink.position(made)
        if position != former:
            moved_at = time.monotonic()


def _refuse_ended(sink: Sink, process: Popen[bytes], log: Path) -> None:
    if process.poll() is not None:
        problem = f"{sink.name} ended with {process.returncode}: {log_tail(log)}"
        raise BenchFailed(problem)


def _refuse_wrong(sink: Sink, made: MadeLog) -> None:
    """Raise `BenchFailed` if the sink has skipped records or wrote wrong contents."""
    expected, found = sink.expected(made), sink.found(made)
    wrong = [
        f"{name}: expected {number:,}, found {found[name]:,}"
        for name, number in expected.items()
        if found[name] != number
    ]
    if wrong:
        problem = f"{sink.name} wrote wrong contents: {'; '.join(wrong)}"
        raise BenchFailed(problem)
