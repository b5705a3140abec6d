"""Generate an archive of any size from a seed, with the archiver's writers and without Kafka."""

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, count, islice
from pathlib import Path
from typing import Final

from analytics.archive.manifest import Manifest
from analytics.archive.writer import Arrival, PartitionWriter, open_writers
from bench.fold_log import Event
from bench.fold_retailer import Retailer
from cdc.contracts.partition import partition_of

GENERATION: Final = 1
PARTITIONS: Final = 12
_CHUNK: Final = 10_000  # records between two readings of the CPU clock


@dataclass(frozen=True, slots=True)
class Size:
    """Size of a generated archive: `records` change events of `keys` keys, drawn from `seed`."""

    records: int
    keys: int
    seed: int


@dataclass(frozen=True, slots=True)
class Generated:
    """A generated archive, and the CPU seconds that its writers took."""

    manifest: Manifest
    written_s: float

    @property
    def ends(self) -> dict[int, int]:
        """Return the end offset of each partition."""
        return {number: self.manifest.next_offset(number) for number in range(PARTITIONS)}


def generate(directory: Path, size: Size) -> Generated:
    """Write an archive into `directory`, and return it. Equal sizes give equal records."""
    writers = open_writers(directory, partitions=PARTITIONS, generation=GENERATION)
    made, written_s = events(size), 0.0
    while chunk := list(islice(made, _CHUNK)):
        began = time.process_time()
        _take(writers, chunk)
        written_s += time.process_time() - began
    began = time.process_time()
    for writer in writers:
        writer.roll()
    written_s += time.process_time() - began
    return Generated(Manifest(directory), written_s)


def generate_once(directory: Path, size: Size) -> float:
    """Write the archive unless `directory` exists; return the writers' CPU seconds (else 0.0).

    The files are written to `NAME.partial`, which is renamed when it is complete. An earlier
    `NAME.partial` is deleted, because writers would append their records to its files.
    """
    if directory.exists():
        return 0.0
    partial = directory.with_name(f"{directory.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    written_s = generate(partial, size).written_s
    partial.rename(directory)
    return written_s


def _take(writers: list[PartitionWriter], chunk: list[Event]) -> None:
    for event in chunk:
        writer = writers[_partition(event.key)]
        writer.take(Arrival(writer.next_offset, 0, event.key, event.value))


@lru_cache(maxsize=1_000_000)
def _partition(key: bytes) -> int:
    return partition_of(key, PARTITIONS)


def events(size: Size) -> Iterator[Event]:
    """Yield the first `size.records` change events of a generated retailer, in commit order."""
    retailer = Retailer(size.keys, size.seed)
    rounds = chain.from_iterable(retailer.trading(1) for _ in count())
    return islice(chain(retailer.opening(), rounds), size.records)
