"""The writer of a worker's snapshots, which works while chunks are folded.

The writer holds a partition's lock only while it lists the content of the snapshot, which takes
milliseconds. It then adds the changed states to the states at rest, block by block and with pauses.
A thread writes the file. If a file can't be written, the worker continues, and the next restore
takes longer.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog

from streams.engine.snapshot import (
    Snapshot,
    SnapshotRefused,
    freeze,
    load,
    newest_first,
    prune,
    save,
    snapshot_of,
    write,
)
from streams.engine.store import OwnedPartition

SLICE_S: Final = 0.002  # longest work on the event loop without a pause
PAUSE_FACTOR: Final = 4  # a pause is this many slices, so the work takes a fifth of a core
STOP_S: Final = 4.0  # time limit at a stop; the supervisor kills the process after ten seconds

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class SnapshotCounts:
    """The counters of this process's snapshots.

    `at_s` is the time of each partition's last write, in seconds of a monotonic clock.
    """

    written: int = 0
    failed: int = 0
    discarded: int = 0
    seconds: float = 0.0
    at_s: dict[int, float] = field(default_factory=dict)

    def add_written(self, partition: int, seconds: float, now_s: float) -> None:
        """Count a snapshot that was written to disk."""
        self.written += 1
        self.seconds += seconds
        self.at_s[partition] = now_s


class SnapshotWriter:
    """The writer of one worker's snapshots, which are files in `directory`.

    `ready` returns the worker's ready partitions. `search` returns the directories in which `find`
    searches, by default only `directory`. Directories of other workers are useful, too: their
    snapshots shorten the restore of a partition that moves to this worker.
    """

    def __init__(
        self,
        directory: Path,
        generation: int,
        ready: Callable[[], Mapping[int, OwnedPartition]],
        search: Callable[[], Iterable[Path]] | None = None,
    ) -> None:
        self._directory = directory
        self._search = search or (lambda: (directory,))
        self._generation = generation
        self._ready = ready
        self._written_offsets: dict[int, int] = {}  # partition -> next offset in its newest file
        self._at_work = asyncio.Lock()
        self._stopping = False
        self.counts = SnapshotCounts()

    async def find(self, partition: int) -> Snapshot | None:
        """Return the newest usable snapshot of the partition, or None if there is none.

        If a file can't be used, log the reason. `restore` checks the snapshot of another worker
        like one of this worker: each is the state after an acknowledged chunk.
        """
        wanted = partition, self._generation
        for directory in await asyncio.to_thread(self._directories, *wanted):
            try:
                found = await asyncio.to_thread(load, directory, *wanted)
            except SnapshotRefused as refused:
                self.counts.discarded += 1
                log.warning("snapshot discarded", partition=partition, reason=str(refused))
            else:
                if found is not None:  # its worker may have deleted the file since it was listed
                    return found
        return None

    def _directories(self, partition: int, generation: int) -> list[Path]:
        return newest_first(self._search(), partition, generation)

    async def write_changed(self) -> float:
        """Write a snapshot of each ready partition that has changed since its last snapshot.

        Return the seconds that all snapshots together took.
        """
        began = time.monotonic()
        async with self._at_work:
            for owned in list(self._ready().values()):
                if self._has_moved(owned) and not self._stopping:
                    await self._write(owned)
            await asyncio.to_thread(prune, self._directory)
        return time.monotonic() - began

    async def stop(self, partitions: Iterable[OwnedPartition]) -> None:
        """Write snapshots for up to `STOP_S` seconds. Call this when no chunk is being folded.

        `partitions` may have new owners that have written newer records. An older snapshot is still
        useful: a restore checks it and reads the later records.

        A partition without a new snapshot is restored from its former snapshot and the changelogs.
        """
        self._stopping = True
        until = time.monotonic() + STOP_S
        async with self._at_work:
            for owned in partitions:
                if self._has_moved(owned) and not owned.in_work and time.monotonic() < until:
                    with self._logged(owned):
                        save(owned, self._directory)

    def _has_moved(self, owned: OwnedPartition) -> bool:
        return self._written_offsets.get(owned.number) != owned.next_offset

    async def _write(self, owned: OwnedPartition) -> None:
        async with owned.lock:
            snapshot, blocks = snapshot_of(owned), freeze(owned)
        until = time.perf_counter() + SLICE_S
        for _keys in blocks:
            if time.perf_counter() >= until:
                await asyncio.sleep(SLICE_S * PAUSE_FACTOR)
                until = time.perf_counter() + SLICE_S
            if self._stopping:
                return  # states not yet at rest stay in use, and `stop` saves them
        with self._logged(owned, snapshot.progress.next_offset):
            await asyncio.to_thread(write, snapshot, self._directory)

    @contextmanager
    def _logged(self, owned: OwnedPartition, next_offset: int | None = None) -> Iterator[None]:
        began = time.monotonic()
        at = owned.next_offset if next_offset is None else next_offset
        try:
            yield
        except (OSError, SnapshotRefused) as error:
            self.counts.failed += 1
            log.warning("snapshot not written", partition=owned.number, reason=str(error))
            return
        self._written_offsets[owned.number] = at
        now_s = time.monotonic()
        seconds = round(now_s - began, 3)
        self.counts.add_written(owned.number, seconds, now_s)
        log.debug("snapshot written", partition=owned.number, next_offset=at, seconds=seconds)
