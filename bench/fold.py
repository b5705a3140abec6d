"""`inventory bench fold`: records per second of one core, and the CPU time of each processing step.

The command needs no service. It makes a log of change events in memory, and processes it in chunks
of one partition each, as a worker does while it catches up. The steps for each record are: decode
it, check it with the dedupe ring, fold it, and encode the changelog records. A reference program
(`bench.fold_reference`) adds up the same records in plain dictionaries. Its rate depends only on
the machine. So ratios to the reference can be compared between machines.
"""

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.errors import BenchFailed
from bench.fold_log import Event, Stores, file_events
from bench.fold_reference import Counters
from bench.fold_retailer import Retailer
from bench.fold_sizes import Sizes, sizes
from bench.machine import machine
from cdc.contracts.decode import decode
from cdc.contracts.partition import partition_of
from cdc.contracts.progress import Progress
from inventory.fold.partition import Partition
from inventory.fold.record import Applied
from inventory.log.dedupe import Ring
from inventory.model.ids import InvKey
from inventory.model.record import Record
from streams.engine.effects import Effects, Writer
from streams.engine.garbage import collect_rarely
from streams.engine.records import Stage
from streams.engine.restore import CHANGELOGS
from streams.settings import WorkerSettings

GENERATION: Final = 1
KEYS: Final = (10_000, 100_000)
ROUNDS: Final = 4
CHUNK: Final[int] = WorkerSettings.model_fields["chunk_records"].default

ReportProgress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Case:
    """Measurements of one log: CPU microseconds per record for each step, and sizes.

    `changelog_bytes_per_record` is the number of bytes that a worker writes to the two changelogs
    for one record of the log: keys and values, before compression.
    """

    name: str
    keys: int
    records: int
    rejected: int
    outputs: int
    decode_us: float
    dedupe_us: float
    fold_us: float
    encode_us: float
    reference_us: float
    changelog_bytes_per_record: float
    sizes: Sizes

    @property
    def apply_us(self) -> float:
        """Return the CPU microseconds per record of dedupe and fold, without decode and encode."""
        return self.dedupe_us + self.fold_us

    @property
    def whole_us(self) -> float:
        """Return the CPU microseconds per record of decode, dedupe, fold and encode."""
        return self.decode_us + self.apply_us + self.encode_us

    def as_json(self) -> dict[str, Any]:
        """Return the case with its rates and its ratio to the reference."""
        rates = {
            "apply_us": self.apply_us,
            "records_per_s": 1e6 / self.apply_us,
            "whole_records_per_s": 1e6 / self.whole_us,
            "times_the_reference": self.apply_us / self.reference_us,
        }
        return {**asdict(self), **rates}


@dataclass(frozen=True, slots=True)
class FoldReport:
    """The measured cases, the machine and its load."""

    machine: str
    load: float
    cases: tuple[Case, ...]

    @property
    def growth(self) -> float | None:
        """Return the last retailer's `apply_us` / the first's, or None without two retailers."""
        of_retailer = [case for case in self.cases if case.name == "retailer"]
        if len(of_retailer) < 2:  # noqa: PLR2004 -- nothing to compare
            return None
        return of_retailer[-1].apply_us / of_retailer[0].apply_us

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        cases = [case.as_json() for case in self.cases]
        found = {"machine": self.machine, "load": self.load, "growth": self.growth}
        return {**found, "cases": cases}

    def as_text(self) -> str:
        """Return the report as two tables."""
        lines = [f"{self.machine}, load {self.load:.1f}; CPU us per record", ""]
        lines.append(
            f"{'log':<9} {'keys':>8} {'records':>8} {'decode':>7} {'dedupe':>7} {'fold':>7} "
            f"{'encode':>7} {'plain':>7} {'records/s':>10} {'whole/s':>8}"
        )
        lines += [_row(case) for case in self.cases]
        lines.append("")
        lines.append(
            f"{'log':<9} {'keys':>8} {'bytes a key':>11} {'level':>6} {'row':>5} "
            f"{'changelog B/record':>18} rows"
        )
        lines += [_size_row(case) for case in self.cases]
        if self.growth is not None:
            lines += ["", f"cost of a record, most keys divided by fewest keys: {self.growth:.2f}"]
        return "\n".join(lines)

    __str__ = as_text


@dataclass(slots=True)
class _Lane:
    """One partition, and a second dedupe ring (identities of recent records) for its records.

    The partition's own ring is part of the fold. The second ring measures the time of dedupe alone.
    """

    partition: Partition = field(default_factory=lambda: Partition(GENERATION))
    ring: Ring = field(default_factory=Ring)
    offset: int = 0

    def decoded(self, events: Iterable[Event]) -> list[Record]:
        """Return the events as decoded records, with consecutive offsets from `offset` on."""
        return [decode(e.key, e.value, offset=n) for n, e in enumerate(events, self.offset)]

    def encoded(self, effects: Effects) -> list[Stage]:
        """Return the output records of a chunk, encoded as a worker encodes them."""
        ring = self.partition.ring
        progress = Progress(self.offset, ring.newest_commit_us, ring.highest_lsn, streamed=True)
        return Writer(GENERATION, 0).stages(effects, self.partition.states, progress)


@dataclass(slots=True)
class _Bench:
    """All measured partitions; times are CPU nanoseconds of this process."""

    lanes: dict[int, _Lane] = field(default_factory=lambda: defaultdict(_Lane))
    plain: Counters = field(default_factory=Counters)
    records: int = 0
    rejected: int = 0
    outputs: int = 0
    decode_ns: int = 0
    dedupe_ns: int = 0
    apply_ns: int = 0
    encode_ns: int = 0
    plain_ns: int = 0
    changelog_bytes: int = 0

    def prepare(self, events: Iterable[Event]) -> None:
        """Process events without measuring them."""
        for place, chunk in _chunks(events):
            lane = self.lanes[place]
            for record in lane.decoded(chunk):
                lane.partition.apply(record)
                lane.ring.admit(record)
                self.plain.apply(record)
            lane.offset += len(chunk)

    def measure(self, events: Iterable[Event]) -> None:
        """Process events in chunks and add up the CPU time of each step."""
        for place, chunk in _chunks(events):
            lane = self.lanes[place]
            began = time.process_time_ns()
            records = lane.decoded(chunk)
            lane.offset += len(chunk)
            decoded = time.process_time_ns()
            effects = self._folded(lane.partition, records)
            folded = time.process_time_ns()
            stages = lane.encoded(effects)
            encoded = time.process_time_ns()
            for record in records:
                lane.ring.admit(record)
            judged = time.process_time_ns()
            for record in records:
                self.plain.apply(record)
            self.plain_ns += time.process_time_ns() - judged
            self.decode_ns += decoded - began
            self.apply_ns += folded - decoded
            self.encode_ns += encoded - folded
            self.dedupe_ns += judged - encoded
            self.records += len(records)
            self.changelog_bytes += _changelog_bytes(stages)

    def case(self, name: str) -> Case:
        """Return the measurements per record."""
        each = 1_000 * self.records
        states = [state for lane in self.lanes.values() for state in lane.partition.states.values()]
        return Case(
            name=name,
            keys=len(states),
            records=self.records,
            rejected=self.rejected,
            outputs=self.outputs,
            decode_us=self.decode_ns / each,
            dedupe_us=self.dedupe_ns / each,
            fold_us=(self.apply_ns - self.dedupe_ns) / each,
            encode_us=self.encode_ns / each,
            reference_us=self.plain_ns / each,
            changelog_bytes_per_record=self.changelog_bytes / self.records,
            sizes=sizes(states),
        )

    def _folded(self, partition: Partition, records: Sequence[Record]) -> Effects:
        effects = Effects()
        apply = partition.apply
        for record in records:
            folded = apply(record)
            if not isinstance(folded, Applied):
                self.rejected += 1
                continue
            effects.add_changed(InvKey(record.key), folded.windows_changed)
            if folded.outputs:
                self.outputs += len(folded.outputs)
                effects.add_decisions(folded.outputs, folded.state)
        return effects


@dataclass(frozen=True, slots=True)
class SalesFile:
    """A file in the UCI Online Retail layout; only the first `limit` valid lines are read."""

    path: Path
    stores: Stores = "single"
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Retailers:
    """Generated retailers: one for each number of keys in `keys`.

    After the opening records, which aren't measured, a retailer has `rounds` records per key on
    average.
    """

    keys: Sequence[int] = KEYS
    rounds: int = ROUNDS
    seed: int = 1


def run(
    *,
    file: SalesFile | None,
    retailers: Retailers,
    progress: ReportProgress = lambda _text: None,
) -> FoldReport:
    """Measure the sales file, if given, then one generated retailer for each number of keys.

    Return one case for each of them.

    Raises:
        BenchFailed: no line of the file is a valid sale line.
    """
    collect_rarely()  # as a worker does
    cases = []
    if file is not None:
        progress(f"reading {file.path}")
        cases.append(_of_file(file))
    for number in retailers.keys:
        progress(f"a retailer of {number} keys")
        cases.append(_of_retailer(number, retailers))
    return FoldReport(machine(), os.getloadavg()[0], tuple(cases))


def _of_file(file: SalesFile) -> Case:
    bench = _Bench()
    bench.measure(file_events(file.path, file.stores, file.limit))
    if not bench.records:
        problem = f"{file.path} has no valid sale line"
        raise BenchFailed(problem)
    return bench.case("file")


def _of_retailer(keys: int, retailers: Retailers) -> Case:
    bench, retailer = _Bench(), Retailer(keys, retailers.seed)
    bench.prepare(retailer.opening())
    bench.measure(retailer.trading(retailers.rounds))
    return bench.case("retailer")


def _chunks(events: Iterable[Event]) -> Iterator[tuple[int, list[Event]]]:
    """Yield a partition's number and a chunk of its events. Chunks that aren't full come last."""
    waiting: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        place = partition_of(event.key)
        waiting[place].append(event)
        if len(waiting[place]) == CHUNK:
            yield place, waiting.pop(place)
    yield from waiting.items()


def _changelog_bytes(stages: Iterable[Stage]) -> int:
    sends = (send for stage in stages for send in stage if send.topic in CHANGELOGS)
    return sum(len(send.key or b"") + len(send.value) for send in sends)


def _row(case: Case) -> str:
    return (
        f"{case.name:<9} {case.keys:>8} {case.records:>8} {case.decode_us:>7.2f} "
        f"{case.dedupe_us:>7.2f} {case.fold_us:>7.2f} {case.encode_us:>7.2f} "
        f"{case.reference_us:>7.2f} {1e6 / case.apply_us:>10.0f} {1e6 / case.whole_us:>8.0f}"
    )


def _size_row(case: Case) -> str:
    found = case.sizes
    return (
        f"{case.name:<9} {case.keys:>8} {found.memory:>11} {found.level_record:>6} "
        f"{found.window_record:>5} {case.changelog_bytes_per_record:>18.0f} {found.windows:.1f}; "
        f"the most {found.largest_windows}, {found.largest_memory} bytes"
    )
