"""`inventory bench restore`: the time of a worker's restore, without any service.

The changelogs are made in memory, like a compacted topic: one level per key, and the window rows of
every tenth key. A cold restore reads only the changelogs. A warm restore reads a snapshot file
first. Each restore runs in a new process. The figures don't include the work of a Kafka client:
fetching, checking and decompressing.
"""

import asyncio
import gc
import resource
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, TypeVar

from bench.fold_retailer import Retailer
from cdc.contracts.decode import decode
from cdc.contracts.progress import Progress, progress_headers
from cdc.contracts.state import encode_level, encode_window
from cdc.contracts.topics import ON_HAND_CHANGELOG, PARTITIONS, STOCK_EVENTS
from inventory.fold.partition import Partition
from inventory.model.state import KeyState
from streams.engine.garbage import collect_rarely
from streams.engine.records import LogRecord, TopicIds
from streams.engine.restore import CHANGELOGS, restore
from streams.engine.snapshot import Snapshot, load, save
from streams.engine.store import OwnedPartition

GENERATION: Final = 1
MEGABYTE: Final = 1 << 20
_TEMPLATES: Final = 500  # distinct keys; the others are copies of them
_WITH_ROWS: Final = 10
_BATCH: Final = 2_000

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """Result of a cold or warm restore; `memory_mb` is the growth of resident memory in MiB."""

    way: str
    seconds: float
    cpu_s: float
    memory_mb: float


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """The measurements of a run."""

    keys: int
    level_bytes: int
    files_mb: float
    save_s: float
    making_s: float  # CPU seconds to make the records that a cold restore reads
    ways: tuple[RestoreResult, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return asdict(self)

    def as_text(self) -> str:
        """Return the report as a table."""
        lines = [
            f"{self.keys} keys in {PARTITIONS} partitions, {self.level_bytes} bytes a level",
            f"snapshots of {self.files_mb:.1f} MiB, written in {self.save_s:.1f} s",
            f"making the records takes {self.making_s:.1f} CPU s of the cold restore",
            "",
            f"{'restore':<8} {'seconds':>8} {'CPU s':>8} {'MiB more':>8}",
        ]
        lines += [
            f"{way.way:<8} {way.seconds:>8.2f} {way.cpu_s:>8.2f} {way.memory_mb:>8.0f}"
            for way in self.ways
        ]
        return "\n".join(lines)

    __str__ = as_text


@dataclass(slots=True)
class SyntheticLog:
    """Changelogs of one partition: `keys` keys copied from a few templates; implements `Log`."""

    keys: int
    number: int
    templates: Sequence[tuple[str, bytes, Sequence[tuple[int, bytes]]]]

    @property
    def level_bytes(self) -> int:
        """Return the average bytes of a level record."""
        sizes = [
            len(one.value or b"") for one in self._levels(0, min(self.keys, len(self.templates)))
        ]
        return sum(sizes) // len(sizes)

    async def bounds(self, topic: str, partition: int) -> tuple[int, int]:  # noqa: ARG002 -- the protocol's
        """Return first and end offset as if compaction had removed no record."""
        return (0, self.keys) if topic != STOCK_EVENTS else (0, 1 << 40)

    async def topic_ids(self, topics: Sequence[str]) -> TopicIds:
        """Return the names as ids, because no topic is ever deleted here."""
        return {topic: topic for topic in topics}

    async def read(
        self,
        topic: str,
        partition: int,  # noqa: ARG002 -- the protocol's
        start: int,
        end: int,
    ) -> AsyncIterator[Sequence[LogRecord]]:
        """Yield batches of changelog records.

        Yield nothing for the source topic. A restore reads that topic only to fill the dedupe ring,
        which stays empty here.
        """
        if topic == STOCK_EVENTS:
            return
        make = self._levels if topic == ON_HAND_CHANGELOG else self._windows
        batch: list[LogRecord] = []
        for record in make(start, end):
            batch.append(record)
            if len(batch) == _BATCH:
                yield batch
                batch = []
        yield batch

    def _copy(self, index: int) -> tuple[bytes, bytes, str, Sequence[tuple[int, bytes]]]:
        key, level, rows = self.templates[index % len(self.templates)]
        name = f"{key}-{self.number:02}-{index:07}"
        return name.encode(), level.replace(key.encode(), name.encode()), key, rows

    def _levels(self, start: int, end: int) -> Iterator[LogRecord]:
        for index in range(start, end):
            key, level, _, _ = self._copy(index)
            headers: tuple[tuple[str, bytes], ...] = ()
            if index == self.keys - 1:
                headers = progress_headers(Progress(1, 1, 1, streamed=True, ring_from=1))
            yield LogRecord(index, key, level, headers)

    def _windows(self, start: int, end: int) -> Iterator[LogRecord]:
        for index in range(start, end, _WITH_ROWS):
            name, _, key, rows = self._copy(index)
            for at_us, row in rows:
                content = row.replace(key.encode(), name)
                yield LogRecord(index, name + f"@{at_us}".encode(), content)


def run(*, keys: int, seed: int = 1) -> RestoreReport:
    """Return the times of a cold restore, of writing snapshots, and of a warm restore.

    `keys` is rounded up to a multiple of 12, the number of partitions.
    """
    templates = _templates(seed)
    each = -(-keys // PARTITIONS)
    logs = [SyntheticLog(each, number, templates) for number in range(PARTITIONS)]
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        making_s = _making_s(logs)
        cold, files_mb, save_s = _alone(_cold_and_saved, logs, home)
        warm = _alone(_warm_restore, logs, home)
    return RestoreReport(
        each * PARTITIONS, logs[0].level_bytes, files_mb, save_s, making_s, (cold, warm)
    )


def _alone(
    work: Callable[[Sequence[SyntheticLog], Path], Result], logs: Sequence[SyntheticLog], home: Path
) -> Result:
    """Return the result of `work` in a new process.

    In a process that has done other work, a restore would reuse memory that this work has freed.
    Then the measured growth of the process would be too small.
    """
    with ProcessPoolExecutor(1, get_context("spawn"), collect_rarely) as process:  # as a worker
        return process.submit(work, logs, home).result()


def _cold_and_saved(logs: Sequence[SyntheticLog], home: Path) -> tuple[RestoreResult, float, float]:
    """Restore cold, then write snapshots. Return the result, MiB written and seconds of writing."""
    owned, result = _timed("cold", lambda: [_restored(log) for log in logs])
    began = time.perf_counter()
    files = [save(one, home) for one in owned]
    save_s = time.perf_counter() - began
    return result, sum(path.stat().st_size for path in files) / MEGABYTE, save_s


def _warm_restore(logs: Sequence[SyntheticLog], home: Path) -> RestoreResult:
    _owned, result = _timed("warm", lambda: [_warm(log, home) for log in logs])
    return result


def _restored(log: SyntheticLog, snapshot: Snapshot | None = None) -> OwnedPartition:
    found: list[OwnedPartition] = []

    async def run() -> None:
        # This coroutine returns nothing, because `asyncio.run` formats the result as text. The text
        # of a partition would have hundreds of megabytes.
        found.append(await restore(log.number, GENERATION, log, snapshot))

    asyncio.run(run())
    return found[0]


def _making_s(logs: Sequence[SyntheticLog]) -> float:
    """Return the CPU seconds of making all changelog records, without a restore."""

    async def read_only(log: SyntheticLog) -> None:
        for topic in CHANGELOGS:
            async for _ in log.read(topic, log.number, 0, log.keys):
                pass

    before_s = _cpu_s()
    for log in logs:
        asyncio.run(read_only(log))
    return _cpu_s() - before_s


def _warm(log: SyntheticLog, home: Path) -> OwnedPartition:
    owned = _restored(log, load(home, log.number, GENERATION))
    if owned.restored_records:
        problem = f"partition {log.number}: the snapshot was not used"
        raise AssertionError(problem)
    return owned


def _timed(
    way: str, work: Callable[[], list[OwnedPartition]]
) -> tuple[list[OwnedPartition], RestoreResult]:
    before_mb, cpu_s, began = _resident_mb(), _cpu_s(), time.perf_counter()
    owned = work()
    seconds, cpu_s = time.perf_counter() - began, _cpu_s() - cpu_s
    return owned, RestoreResult(way, seconds, cpu_s, _resident_mb() - before_mb)


def _resident_mb() -> float:
    """Return the resident memory of the process in MiB, after a garbage collection."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / MEGABYTE


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _templates(seed: int) -> list[tuple[str, bytes, list[tuple[int, bytes]]]]:
    """Return key, level record and window rows of keys that have traded for a while."""
    partition, retailer = Partition(GENERATION), Retailer(_TEMPLATES, seed)
    events = [*retailer.opening(), *retailer.trading(6)]
    for offset, event in enumerate(events):
        partition.apply(decode(event.key, event.value, offset=offset))
    return [_template(state) for state in partition.states.values()]


def _template(state: KeyState) -> tuple[str, bytes, list[tuple[int, bytes]]]:
    rows = [
        (at, encode_window(state.key, row, state.position)) for at, row in state.windows.items()
    ]
    return state.key, encode_level(state, list(state.windows)[-1:]), rows
